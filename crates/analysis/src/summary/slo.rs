//! Goodput and attainment of each SLO.

use std::collections::BTreeMap;

use kneepoint_model::plan::Slo;
use kneepoint_model::summary::{Interval, SloSummary};

use super::accumulate::Accumulator;
use super::limits::SLO_UNJUDGED_SHARE;
use crate::stats::proportion::wilson95;
use crate::stats::slo::meets;

/// Judges every SLO of the plan on one point.
pub(super) fn summarise(slos: &[Slo], point: &Accumulator, window_s: f64) -> BTreeMap<String, SloSummary> {
    slos.iter().map(|slo| (slo.name.clone(), judge(slo, point, window_s))).collect()
}

fn judge(slo: &Slo, point: &Accumulator, window_s: f64) -> SloSummary {
    let failed: u64 = point.counts.failed.values().sum();
    let offered = point.counts.ok + failed;
    let (mut good, mut unjudged) = (0_u64, 0_u64);
    for sample in &point.samples {
        match meets(slo, &sample.line, point.streamed) {
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
