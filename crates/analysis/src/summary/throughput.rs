//! Throughput: what happened in the window ÷ its length.

use kneepoint_model::summary::Throughput;

use super::accumulate::Accumulator;
use crate::stats::moments;

/// A coefficient below this is the rounding of equal seconds, not a spread.
const ROUNDING: f64 = 1e-12;

/// The throughput of one point. A window of no length has none.
pub(super) fn summarise(from: &Accumulator, window_s: f64, open: bool) -> Throughput {
    let window = &from.window;
    let rate = |amount: f64| (window_s > 0.0).then(|| amount / window_s);
    let counted = |tokens: u64, answers: u64| {
        // No answer at all is no token; answers of which none was counted are an unknown number.
        rate(tokens as f64).filter(|_| answers > 0 || window.ok == 0)
    };
    let output_tok_s = counted(window.output_tokens, window.output_counted);
    // Answers much longer than the window bring in tokens that came before it: no second of the window then holds as
    // many as the mean, and the two cannot be set side by side.
    let most = from.grid.busiest_second().filter(|most| output_tok_s.is_some_and(|mean| *most >= mean));
    Throughput {
        req_s: rate(window.ok as f64),
        scheduled_req_s: rate(from.counts.scheduled as f64).filter(|_| open),
        sent_req_s: rate(window.sent as f64),
        output_tok_s,
        total_tok_s: counted(window.total_tokens, window.total_counted),
        max_req_s: from.grid.most_completions(),
        max_output_tok_s: most,
        stability: output_tok_s.and_then(|_| stability(&from.grid.seconds())),
        in_flight_mean: rate(window.overlap as f64 / 1e9),
        sent_bytes_s: rate(window.sent_bytes as f64),
        received_bytes_s: rate(window.received_bytes as f64),
    }
}

/// Standard deviation ÷ mean; `None` under two seconds or without a token.
fn stability(seconds: &[f64]) -> Option<f64> {
    let mean = moments::mean(seconds).filter(|mean| *mean > 0.0)?;
    let coefficient = moments::standard_deviation(seconds)? / mean;
    Some(if coefficient < ROUNDING { 0.0 } else { coefficient })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_differ_by_rounding_are_equal() {
        let seconds = [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2];
        assert_eq!(stability(&seconds), Some(0.0));
        assert!(stability(&[1.0, 1.000_001]).is_some_and(|coefficient| coefficient > 0.0));
    }
}
