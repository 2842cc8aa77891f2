//! Whether one answer met an SLO.

use kneepoint_model::Nanos;
use kneepoint_model::plan::Slo;

use super::timeline::{Timeline, Tpot};

/// Whether a successful request met every limit; `None` where that cannot be known.
///
/// An answer whose tokens nobody saw has met no limit on them. A TPOT that does not exist, because there was one token
/// or all events came at one instant, is met. Without a stream there is neither TTFT nor TPOT to judge.
pub fn meets(slo: &Slo, line: &Timeline, streamed: bool) -> Option<bool> {
    let within =
        |span: Option<u64>, limit: Option<Nanos>| limit.is_none_or(|limit| span.is_some_and(|span| span <= limit.0));
    if !within(line.e2e, slo.e2e) || (streamed && !within(line.ttft, slo.ttft)) {
        return Some(false);
    }
    if !streamed {
        return (slo.ttft.is_none() && slo.tpot.is_none()).then_some(true);
    }
    match (slo.tpot, line.tpot) {
        (Some(_), Tpot::Unknown) => None,
        (Some(limit), Tpot::Is(ns)) => Some(ns <= limit.0 as f64),
        (Some(_), Tpot::None) => Some(line.ttft.is_some()),
        (None, _) => Some(true),
    }
}
