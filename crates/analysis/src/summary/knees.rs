//! Where the curve of one sweep bends, and the law that its throughput follows.

use std::collections::BTreeMap;

use kneepoint_model::summary::{CurveLevel, FitDoubt, Knee, KneeAt, NoKnee, Scalability};

use super::limits;
use crate::stats::knee::{SENSITIVITY, Shape, TwoLines, kneedle, running_median, two_lines};
use crate::stats::scalability;

/// The levels of one load as one: what was measured there more than once is averaged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Merged {
    pub(super) load: f64,
    /// The first of its points.
    pub(super) point: u32,
    pub(super) req_s: f64,
    pub(super) output_tok_s: Option<f64>,
    /// Median TTFT, without a stream end-to-end latency, ms.
    pub(super) latency_ms: Option<f64>,
}

/// The levels that count, by load.
pub(super) fn merged(levels: &[CurveLevel]) -> Vec<Merged> {
    let mut merged: Vec<Merged> = Vec::new();
    let same = |a: f64, b: f64| a.total_cmp(&b).is_eq();
    let counted: Vec<(&CurveLevel, f64)> =
        levels.iter().filter(|level| level.counts).filter_map(|level| Some((level, level.req_s?))).collect();
    for group in counted.chunk_by(|(a, _), (b, _)| same(a.load, b.load)) {
        let mean = |values: Vec<f64>| crate::stats::moments::mean(&values);
        let each = |of: fn(&CurveLevel) -> Option<f64>| mean(group.iter().filter_map(|(level, _)| of(level)).collect());
        let Some(req_s) = mean(group.iter().map(|(_, req_s)| *req_s).collect()) else { continue };
        merged.push(Merged {
            load: group[0].0.load,
            point: group[0].0.point,
            req_s,
            output_tok_s: each(|level| level.output_tok_s),
            latency_ms: each(|level| level.ttft_p50_ms.or(level.e2e_p50_ms)),
        });
    }
    merged
}

/// The knees of a sweep; `capacity` is the highest load that meets each SLO.
pub(super) fn knees(levels: &[Merged], capacity: &BTreeMap<String, f64>) -> Knee {
    let mut knee = Knee::default();
    let at = |load: f64, point: Option<u32>| KneeAt {
        load,
        point,
        of_slo_capacity: capacity.iter().map(|(slo, most)| (slo.clone(), load / most)).collect(),
    };
    let mut because = |method: &str, why| {
        knee.none_because.insert(method.to_owned(), why);
    };
    let with_latency: Vec<(&Merged, f64)> =
        levels.iter().filter_map(|level| Some((level, level.latency_ms?))).collect();
    let bend = |levels: &[&Merged], y: &[f64], shape| -> Result<KneeAt, NoKnee> {
        if levels.len() < limits::KNEE_FEWEST_LEVELS {
            return Err(NoKnee::TooFewLevels);
        }
        let x: Vec<f64> = levels.iter().map(|level| level.load).collect();
        let found = kneedle(&x, &running_median(y), shape, SENSITIVITY).ok_or(NoKnee::NoBend)?;
        Ok(at(levels[found.index].load, Some(levels[found.index].point)))
    };
    let all: Vec<&Merged> = levels.iter().collect();
    let throughput: Vec<f64> = levels.iter().map(|level| level.req_s).collect();
    let latency: Vec<f64> = with_latency.iter().map(|(_, latency)| *latency).collect();
    let late: Vec<&Merged> = with_latency.iter().map(|(level, _)| *level).collect();
    let of_throughput = bend(&all, &throughput, Shape::Concave);
    let of_latency = bend(&late, &latency, Shape::Convex);
    let loads: Vec<f64> = levels.iter().map(|level| level.load).collect();
    let of_lines = match two_lines(&loads, &throughput) {
        TwoLines::TooFewPoints => Err(NoKnee::TooFewLevels),
        TwoLines::NoKnee { .. } => Err(NoKnee::NoBend),
        TwoLines::Knee { at: load, .. } => {
            Ok(at(load, levels.iter().find(|level| level.load.total_cmp(&load).is_eq()).map(|level| level.point)))
        }
    };
    let mut found = |method: &str, result: Result<KneeAt, NoKnee>| result.map_err(|why| because(method, why)).ok();
    let (throughput, latency) = (found("throughput", of_throughput), found("latency", of_latency));
    let two_lines = found("two_lines", of_lines);
    (knee.throughput, knee.latency, knee.two_lines) = (throughput, latency, two_lines);
    knee
}

/// The Universal Scalability Law through requests in flight and throughput of the levels that did not overload.
pub(super) fn scalability(in_flight: &[f64], req_s: &[f64]) -> Option<Scalability> {
    let fit = scalability::fit(in_flight, req_s)?;
    let most = in_flight.iter().copied().fold(0.0, f64::max);
    let peak = fit.peak();
    let doubts = [
        (in_flight.len() < limits::FIT_FEWEST_LEVELS, FitDoubt::FewLevels),
        (fit.r2.is_none_or(|r2| r2 < limits::FIT_R2), FitDoubt::PoorFit),
        (fit.throughput(most) > limits::FIT_STILL_STRAIGHT * fit.gamma * most, FitDoubt::BendNotReached),
        (peak.is_some_and(|peak| peak > most), FitDoubt::PeakNotReached),
    ];
    Some(Scalability {
        gamma: fit.gamma,
        sigma: fit.sigma,
        kappa: fit.kappa,
        r2: fit.r2,
        levels: in_flight.len(),
        peak_in_flight: peak,
        peak_req_s: peak.map(|peak| fit.throughput(peak)),
        doubts: doubts.into_iter().filter(|(holds, _)| *holds).map(|(_, doubt)| doubt).collect(),
    })
}
