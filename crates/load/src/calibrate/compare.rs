//! What the client saw against what the server did, event by event.
//!
//! Pure arithmetic over records and the server's instants, which are on one clock.

use kneepoint_model::bundle::{AddedDelay, Calibration};
use kneepoint_model::record::{Outcome, Phase};
use kneepoint_model::{Nanos, Record};

use super::server::Truth;

/// The measured window: from, up to and without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
}

/// The differences found so far.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Client's instant of the first event − server's, ns. May be slightly negative: the kernel's clock is mapped.
    ttft: Vec<i64>,
    /// |client's gap − server's gap|, ns.
    itl: Vec<i64>,
    /// How late the server was with each event, ns.
    late: Vec<i64>,
    /// Token events the client saw within the window.
    seen: u64,
    /// Answers compared.
    samples: u64,
    /// Requests that failed.
    pub(super) failed: u64,
    /// What the first of them said.
    pub(super) first_failure: Option<String>,
    /// Complete answers whose events are not the server's, in number.
    pub(super) mismatched: u64,
}

impl Comparison {
    /// Takes one request in.
    pub(super) fn add(&mut self, record: &Record, truth: &Truth, window: Window) {
        if let Outcome::Failed(failure) = &record.outcome {
            self.failed += 1;
            self.first_failure.get_or_insert_with(|| format!("{}: {}", failure.kind.code(), failure.detail));
            return;
        }
        let in_window = |at: &Nanos| (window.start..window.end).contains(at);
        self.seen += record.events.instants().filter(in_window).count() as u64;
        if record.phase != Phase::Measured || !record.outcome.is_ok() {
            return;
        }
        let Some(written) = truth.get(&record.index).filter(|written| written.len() == record.events.len()) else {
            self.mismatched += 1;
            return;
        };
        self.samples += 1;
        let mut before: Option<i64> = None;
        for (seen, written) in record.events.instants().zip(written) {
            let added = difference(seen, written.at);
            match before {
                None => self.ttft.push(added),
                // The difference of two differences is that of the gaps.
                Some(before) => self.itl.push((added - before).abs()),
            }
            before = Some(added);
            self.late.push(difference(written.late, Nanos::ZERO));
        }
    }

    /// Requests looked at that say something, one way or the other.
    pub(super) fn requests(&self) -> u64 {
        self.samples + self.failed + self.mismatched
    }

    /// The figures; `None` if not one answer could be compared.
    pub(super) fn result(mut self, streams: u32, window: Window) -> Option<Calibration> {
        let seconds = window.end.since(window.start).filter(|length| *length > Nanos::ZERO)?.as_secs_f64();
        Some(Calibration {
            streams,
            token_events_s: self.seen as f64 / seconds,
            samples: self.samples,
            ttft_added_ms: added(&mut self.ttft)?,
            itl_added_ms: added(&mut self.itl)?,
            server_late_p99_ms: added(&mut self.late)?.p99,
        })
    }
}

fn difference(one: Nanos, other: Nanos) -> i64 {
    let (one, other) = (i64::try_from(one.0).unwrap_or(i64::MAX), i64::try_from(other.0).unwrap_or(i64::MAX));
    one - other
}

/// Median and 99th percentile, nearest rank; `None` of nothing.
fn added(values: &mut [i64]) -> Option<AddedDelay> {
    Some(AddedDelay { p50: nearest_rank(values, 50)?, p99: nearest_rank(values, 99)? })
}

/// The value at rank ⌈n·p⌉ of `n` values, in milliseconds.
fn nearest_rank(values: &mut [i64], percent: usize) -> Option<f64> {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    let position = rank.checked_sub(1).filter(|position| *position < values.len())?;
    let (_, value, _) = values.select_nth_unstable(position);
    Some(*value as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::server::Written;
    use super::*;

    const WINDOW: Window = Window { start: Nanos::from_secs(1), end: Nanos::from_secs(3) };

    /// A request of the measured window whose events came at these microseconds after the window's start.
    fn record(index: u64, micros: &[u64]) -> Record {
        let at: Vec<u64> = micros.iter().map(|micros| WINDOW.start.0 + micros * 1000).collect();
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        serde_json::from_value(serde_json::json!({
            "point": 0, "index": index, "phase": "measured", "intended_ns": WINDOW.start.0,
            "dispatched_ns": WINDOW.start.0, "connection": {"reused": true}, "outcome": "ok",
            "events": {"first_ns": at.first(), "gaps_ns": gaps},
            "input_tokens": {"target": 1}, "output_tokens": {"target": 1}, "bytes": {"sent": 1, "received": 1},
        }))
        .unwrap()
    }

    fn written(micros: &[(u64, u64)]) -> Vec<Written> {
        let event =
            |(at, late): &(u64, u64)| Written { at: Nanos(WINDOW.start.0 + at * 1000), late: Nanos(late * 1000) };
        micros.iter().map(event).collect()
    }

    fn close_to(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn differences_are_taken_event_by_event() {
        let truth = Truth::from([(7, written(&[(1000, 10), (2000, 20), (3000, 900)]))]);
        let mut comparison = Comparison::default();
        // 50 µs late, then 80, then 20: the gaps are off by 30 and 60, one too long and one too short.
        comparison.add(&record(7, &[1050, 2080, 3020]), &truth, WINDOW);
        let found = comparison.result(4, WINDOW).unwrap();
        assert_eq!((found.streams, found.samples), (4, 1));
        close_to(found.token_events_s, 1.5);
        close_to(found.ttft_added_ms.p50, 0.05);
        close_to(found.itl_added_ms.p50, 0.03);
        close_to(found.itl_added_ms.p99, 0.06);
        close_to(found.server_late_p99_ms, 0.9);
    }

    #[test]
    fn an_answer_with_other_events_than_the_servers_is_not_compared() {
        let truth = Truth::from([(7, written(&[(1000, 0), (2000, 0)]))]);
        let mut comparison = Comparison::default();
        comparison.add(&record(7, &[1050]), &truth, WINDOW);
        comparison.add(&record(8, &[1050, 2050]), &truth, WINDOW);
        assert_eq!((comparison.mismatched, comparison.requests()), (2, 2));
        assert_eq!(comparison.result(1, WINDOW), None);
    }

    #[test]
    fn warm_up_counts_as_load_and_is_not_compared() {
        let truth = Truth::from([(7, written(&[(1000, 0), (2000, 0)]))]);
        let mut early = record(7, &[1050, 2050]);
        early.phase = Phase::WarmUp;
        let mut comparison = Comparison::default();
        comparison.add(&early, &truth, WINDOW);
        assert_eq!((comparison.seen, comparison.requests()), (2, 0));
    }

    #[test]
    fn ranks_are_the_nearest() {
        let mut values: Vec<i64> = (1..=200).rev().map(|n| n * 1_000_000).collect();
        let found = added(&mut values).unwrap();
        close_to(found.p50, 100.0);
        close_to(found.p99, 198.0);
        assert_eq!(added(&mut []), None);
        close_to(added(&mut [3_000_000]).unwrap().p99, 3.0);
    }
}
