//! Goodput and attainment of each SLO.

use std::collections::BTreeMap;

use kneepoint_model::plan::Slo;
use kneepoint_model::summary::{Interval, SloSummary};

use super::accumulate::{Accumulator, Sample};
use super::limits::SLO_UNJUDGED_SHARE;
use crate::stats::proportion::wilson95;
use crate::stats::timeline::Tpot;

/// Judges every SLO of the plan on one point.
pub(super) fn summarise(slos: &[Slo], point: &Accumulator, window_s: f64) -> BTreeMap<String, SloSummary> {
    slos.iter().map(|slo| (slo.name.clone(), judge(slo, point, window_s))).collect()
}

fn judge(slo: &Slo, point: &Accumulator, window_s: f64) -> SloSummary {
    let failed: u64 = point.counts.failed.values().sum();
    let offered = point.counts.ok + failed;
    let (mut good, mut unjudged) = (0_u64, 0_u64);
    for sample in &point.samples {
        match verdict(slo, sample, point.streamed) {
            Some(true) => good += 1,
            Some(false) => {}
            None => unjudged += 1,
        }
    }
    let judgeable = unjudged as f64 <= SLO_UNJUDGED_SHARE * point.counts.ok as f64;
    let interval = wilson95(good, offered).filter(|_| judgeable);
    let attainment = interval.map(|_| good as f64 / offered as f64);
    SloSummary {
        good,
        offered,
        goodput_rps: (judgeable && window_s > 0.0).then(|| good as f64 / window_s),
        attainment,
        ci95: interval.map(|(lower, upper)| Interval(Some(lower), Some(upper))),
        share: slo.share.get(),
        met: attainment.map(|attainment| attainment >= slo.share.get()),
        ttft_limit_ms: slo.ttft.map(kneepoint_model::Nanos::as_millis_f64),
        tpot_limit_ms: slo.tpot.map(kneepoint_model::Nanos::as_millis_f64),
        e2e_limit_ms: slo.e2e.map(kneepoint_model::Nanos::as_millis_f64),
    }
}

/// Whether a successful request met every limit; `None` where that cannot be known.
///
/// An answer whose tokens nobody saw has met no limit on them. A TPOT that does not exist, because there was one token
/// or all events came at one instant, is met. Without a stream there is neither TTFT nor TPOT to judge.
fn verdict(slo: &Slo, sample: &Sample, streamed: bool) -> Option<bool> {
    let within = |span: Option<u64>, limit: Option<kneepoint_model::Nanos>| {
        limit.is_none_or(|limit| span.is_some_and(|span| span <= limit.0))
    };
    let line = &sample.line;
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
