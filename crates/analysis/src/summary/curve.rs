//! What the levels of one load show together.

use std::collections::BTreeMap;

use kneepoint_model::bundle::SearchVerdict;
use kneepoint_model::plan::Point;
use kneepoint_model::summary::{
    AtEnd, Curve, CurveLevel, LoadAxis, MaxThroughput, Plateau, PointSummary, ScalingStep, SearchResult,
    SearchResultStep, StableLevel,
};

use super::knees::{self, Merged};
use super::{RunFacts, limits, stable};
use crate::stats::moments::mean;
use crate::stats::search::{RateSearch, Verdict};

type Measured = (Point, PointSummary);

/// One curve for each load of the plan on each platform with each workload, as far as a point of it was measured, in
/// the plan's order.
pub(super) fn curves(facts: &RunFacts<'_>, planned: &[Point], points: &[Measured]) -> Vec<Curve> {
    let mut groups: BTreeMap<(usize, usize, usize), Vec<&Measured>> = BTreeMap::new();
    for measured in points {
        let point = measured.0;
        groups.entry((point.platform, point.workload, point.load)).or_default().push(measured);
    }
    groups.into_iter().map(|(place, points)| curve(facts, planned, place, &points)).collect()
}

fn curve(facts: &RunFacts<'_>, planned: &[Point], place: (usize, usize, usize), points: &[&Measured]) -> Curve {
    let (platform, workload, load) = place;
    let plan = facts.plan;
    let summaries: Vec<&PointSummary> = points.iter().map(|(_, summary)| summary).collect();
    let mut levels: Vec<CurveLevel> = summaries.iter().map(|point| level(point)).collect();
    levels.sort_by(|a, b| a.load.total_cmp(&b.load));
    let merged = knees::merged(&levels);
    let search = search(facts, load, &summaries);
    let capacity = capacity(&summaries, search.as_ref());
    let (in_flight, req_s) = unsaturated(&summaries);
    let here = |index: &u32| {
        let at = usize::try_from(*index).ok().and_then(|index| planned.get(index));
        at.is_some_and(|point| (point.platform, point.workload, point.load) == place)
    };
    let plateau = plateau(&merged, plan.loads[load].stop_at_plateau.map(kneepoint_model::units::Share::get))
        .map(|plateau| Plateau { ended_sweep: facts.manifest.skipped.iter().any(here), ..plateau });
    let axis = if summaries.iter().any(|point| point.load.concurrency.is_some()) {
        LoadAxis::Concurrency
    } else {
        LoadAxis::RateRps
    };
    let hold = plan.loads[load].hold;
    Curve {
        platform: plan.platforms[platform].name.clone(),
        workload: plan.workloads[workload].name.clone(),
        load,
        axis,
        max_throughput: max_throughput(&summaries),
        plateau,
        stable_throughput: stable_throughput(&summaries, &levels),
        knee: knees::knees(&merged, &capacity),
        scalability: knees::scalability(&in_flight, &req_s),
        scaling: merged.windows(2).filter_map(|pair| scaling(&pair[0], &pair[1])).collect(),
        levels,
        search,
        at_end: Some(AtEnd { policy: hold.at_end, drain_s: hold.drain.as_secs_f64() }),
    }
}

fn load_of(point: &PointSummary) -> f64 {
    point.load.rate_rps.or(point.load.concurrency.map(f64::from)).unwrap_or(0.0)
}

fn level(point: &PointSummary) -> CurveLevel {
    CurveLevel {
        point: point.point,
        load: load_of(point),
        counts: stable::counts(&point.reasons),
        in_flight_mean: point.throughput.in_flight_mean,
        req_s: point.throughput.req_s,
        output_tok_s: point.throughput.output_tok_s,
        ttft_p50_ms: point.ttft_ms.p50,
        e2e_p50_ms: point.e2e_ms.p50.or(point.response_ms.p50),
        e2e_p95_ms: point.e2e_ms.p95.or(point.response_ms.p95),
    }
}

/// The best second of the points whose throughput is the platform's.
fn max_throughput(points: &[&PointSummary]) -> MaxThroughput {
    let best = |of: fn(&PointSummary) -> Option<f64>| {
        let counted = points.iter().filter(|point| stable::counts(&point.reasons));
        counted.filter_map(|point| Some((of(point)?, point.point))).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let requests = best(|point| point.throughput.max_req_s);
    let tokens = best(|point| point.throughput.max_output_tok_s);
    MaxThroughput {
        req_s: requests.map(|(most, _)| most),
        req_point: requests.map(|(_, point)| point),
        output_tok_s: tokens.map(|(most, _)| most),
        output_tok_point: tokens.map(|(_, point)| point),
    }
}

/// By rule, the level of most load that is stable; of two at that load the one measured later, which a search confirms by.
fn stable_throughput(points: &[&PointSummary], levels: &[CurveLevel]) -> BTreeMap<String, StableLevel> {
    let highest = levels.iter().filter(|level| level.counts).map(|level| level.load).fold(0.0, f64::max);
    let mut best: BTreeMap<String, StableLevel> = BTreeMap::new();
    for point in points {
        for (rule, stable) in point.stable.iter().filter(|(_, stable)| stable.stable == Some(true)) {
            let load = load_of(point);
            let found = StableLevel {
                point: point.point,
                load,
                req_s: stable.req_s,
                output_tok_s: stable.output_tok_s,
                beyond_chance: stable.beyond_chance,
                highest_level: load >= highest,
            };
            let best = best.entry(rule.clone()).or_insert(found);
            if load >= best.load {
                *best = found;
            }
        }
    }
    best
}

/// The highest load that meets each SLO: what the search says, else the highest level that is stable by it.
fn capacity(points: &[&PointSummary], search: Option<&SearchResult>) -> BTreeMap<String, f64> {
    let mut capacity: BTreeMap<String, f64> = BTreeMap::new();
    for point in points {
        for name in point.slo.keys() {
            if point.stable.get(name).is_some_and(|stable| stable.stable == Some(true)) {
                let most = capacity.entry(name.clone()).or_default();
                *most = most.max(load_of(point));
            }
        }
    }
    if let Some((slo, meets)) = search.and_then(|search| Some((&search.slo, search.meets_rps?))) {
        capacity.insert(slo.clone(), meets);
    }
    capacity
}

/// Requests in flight and per second of the levels that the platform kept up with: those of an overloaded one depend on
/// how long it was held.
fn unsaturated(points: &[&PointSummary]) -> (Vec<f64>, Vec<f64>) {
    let of = |point: &&PointSummary| {
        let in_flight = point.load.concurrency.map(f64::from).or(point.throughput.in_flight_mean)?;
        Some((in_flight, point.throughput.req_s?))
    };
    points.iter().filter(|point| point.valid).filter_map(of).filter(|(n, x)| *n > 0.0 && *x > 0.0).unzip()
}

/// The first level that no later one beats by `gain`, if the load grew by clearly more than that behind it.
fn plateau(levels: &[Merged], gain: Option<f64>) -> Option<Plateau> {
    let gain = gain.unwrap_or(limits::PLATEAU_GAIN);
    let highest = levels.last()?.load;
    let is_last_rise = |at: &usize| levels[at + 1..].iter().all(|later| later.req_s < levels[*at].req_s * (1.0 + gain));
    let first = (0..levels.len().saturating_sub(1)).find(is_last_rise)?;
    let level = &levels[first];
    if highest < level.load * (1.0 + 2.0 * gain) {
        return None;
    }
    let tokens: Vec<f64> = levels[first..].iter().filter_map(|level| level.output_tok_s).collect();
    let requests: Vec<f64> = levels[first..].iter().map(|level| level.req_s).collect();
    Some(Plateau {
        point: level.point,
        load: level.load,
        gain,
        req_s: mean(&requests)?,
        output_tok_s: mean(&tokens).filter(|_| tokens.len() == requests.len()),
        ended_sweep: false,
    })
}

fn scaling(from: &Merged, to: &Merged) -> Option<ScalingStep> {
    let (more, load) = (to.req_s / from.req_s, to.load / from.load);
    (from.req_s > 0.0 && from.load > 0.0).then(|| ScalingStep {
        from: from.load,
        to: to.load,
        growth: more - 1.0,
        efficiency: more / load,
    })
}

/// What the search of a load found, by taking it through its steps again; `None` for a sweep.
fn search(facts: &RunFacts<'_>, load: usize, points: &[&PointSummary]) -> Option<SearchResult> {
    let search = facts.plan.loads[load].search?;
    let mut states = RateSearch::new(search.from.get(), search.at_most.get(), search.tolerance.get(), search.confirm);
    let mut in_order = points.to_vec();
    in_order.sort_by_key(|point| point.point);
    let steps = in_order.iter().map(|point| {
        let seen = point.search.as_ref().and_then(|search| search.step);
        SearchResultStep {
            point: point.point,
            rate_rps: load_of(point),
            window_s: point.window_s,
            good: seen.map_or(0, |seen| seen.good),
            offered: seen.map_or(0, |seen| seen.offered),
            verdict: seen.map(|seen| seen.verdict),
        }
    });
    let steps: Vec<SearchResultStep> = steps.collect();
    for step in &steps {
        let verdict = match step.verdict {
            None => break,
            Some(SearchVerdict::Meets) => Verdict::Meets,
            Some(SearchVerdict::Misses) => Verdict::Misses,
            Some(SearchVerdict::Undecided) => Verdict::Undecided,
        };
        states.report(step.rate_rps, verdict);
    }
    let found = states.result();
    Some(SearchResult {
        slo: facts.plan.slos.get(search.slo)?.name.clone(),
        meets_rps: found.meets_rps,
        misses_rps: found.misses_rps,
        at_most_met: found.at_most_met,
        confirmed: found.confirmed,
        complete: found.complete,
        steps,
    })
}
