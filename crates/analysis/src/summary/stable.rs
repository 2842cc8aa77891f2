//! Stable throughput: the rate at which nearly all requests are in time.

use std::collections::BTreeMap;

use kneepoint_model::summary::{
    Interval, Reason, ReasonCode, STABLE_BY_DEFAULT, Severity, SloSummary, Stable, Throughput,
};

use super::accumulate::Accumulator;
use super::limits;
use crate::stats::proportion::wilson95;

/// By each SLO of the plan; in a plan without one, by the rule of 99% within two seconds.
pub(super) fn summarise(
    from: &Accumulator,
    slos: &BTreeMap<String, SloSummary>,
    reasons: &[Reason],
    throughput: &Throughput,
) -> BTreeMap<String, Stable> {
    let kept = kept(reasons);
    let judge = |share: f64, attainment: Option<f64>, ci95: Option<Interval>| {
        let stable = attainment.zip(kept).map(|(attainment, kept)| kept && attainment >= share);
        let holds = stable == Some(true);
        Stable {
            share,
            attainment,
            ci95,
            stable,
            beyond_chance: holds && ci95.is_some_and(|ci| ci.0.is_some_and(|lower| lower >= share)),
            req_s: throughput.req_s.filter(|_| holds),
            output_tok_s: throughput.output_tok_s.filter(|_| holds),
        }
    };
    if !slos.is_empty() {
        return slos.iter().map(|(name, slo)| (name.clone(), judge(slo.share, slo.attainment, slo.ci95))).collect();
    }
    let failed: u64 = from.counts.failed.values().sum();
    let offered = from.counts.ok + failed;
    let in_time = |end: Option<u64>| end.is_some_and(|end| end <= limits::STABLE_E2E.0);
    let good = from
        .samples
        .iter()
        .filter(|sample| in_time(if from.streamed { sample.line.e2e } else { sample.line.response }))
        .count() as u64;
    let ci95 = wilson95(good, offered);
    let attainment = ci95.map(|_| good as f64 / offered as f64);
    let ci95 = ci95.map(|(lower, upper)| Interval(Some(lower), Some(upper)));
    BTreeMap::from([(STABLE_BY_DEFAULT.to_owned(), judge(limits::STABLE_SHARE, attainment, ci95))])
}

/// `false` if the platform fell behind; `None` if the point is not valid for another reason, and tells nothing of it.
fn kept(reasons: &[Reason]) -> Option<bool> {
    let behind = |reason: &Reason| reason.severity == Severity::Invalid && is_load(reason.code);
    if reasons.iter().any(|reason| behind(reason) || reason.code == ReasonCode::RateNotKept) {
        return Some(false);
    }
    reasons.iter().all(|reason| reason.severity != Severity::Invalid).then_some(true)
}

/// `true` for what a platform does under more load than it can serve.
fn is_load(code: ReasonCode) -> bool {
    matches!(
        code,
        ReasonCode::OverSaturated | ReasonCode::BacklogGrowing | ReasonCode::NotSteady | ReasonCode::ErrorRate
    )
}

/// `true` if a point's throughput is the platform's: it is valid, or invalid only for what overload does or leaves open.
pub(super) fn counts(reasons: &[Reason]) -> bool {
    // What was cut after the window is missing from latencies, and from no rate.
    let harmless = |code| is_load(code) || code == ReasonCode::Cut;
    reasons.iter().all(|reason| reason.severity != Severity::Invalid || harmless(reason.code))
}
