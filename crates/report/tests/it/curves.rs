//! What points show together, and searches, as real runs make them.

use std::collections::BTreeMap;

use kneepoint_model::bundle::{SearchStep, SearchVerdict};
use kneepoint_model::plan::EndPolicy;
use kneepoint_model::summary::{
    AtEnd, Curve, CurveLevel, FitDoubt, Knee, KneeAt, LoadAxis, MaxThroughput, NoKnee, Plateau, PointSearch,
    PointSummary, Scalability, ScalingStep, SearchResult, SearchResultStep, StableLevel,
};

use crate::sample::{Sample, Shape, point, sample, slo, stable};

/// The level of a point, as a number.
fn level(p: &PointSummary) -> f64 {
    p.load.rate_rps.or(p.load.concurrency.map(f64::from)).unwrap()
}

fn curve_level(p: &PointSummary) -> CurveLevel {
    CurveLevel {
        point: p.point,
        load: level(p),
        counts: p.valid,
        in_flight_mean: p.throughput.in_flight_mean,
        req_s: p.throughput.req_s,
        output_tok_s: p.throughput.output_tok_s,
        ttft_p50_ms: p.ttft_ms.p50,
        e2e_p50_ms: p.e2e_ms.p50,
        e2e_p95_ms: p.e2e_ms.p95,
    }
}

/// What the points of one platform show together; none without points.
pub(crate) fn curves(platform: &str, points: &[PointSummary]) -> Vec<Curve> {
    let mut own: Vec<&PointSummary> = points.iter().filter(|p| p.platform == platform).collect();
    own.sort_by(|a, b| level(a).total_cmp(&level(b)));
    if own.is_empty() {
        return Vec::new();
    }
    let best = own.iter().max_by(|a, b| a.throughput.max_req_s.partial_cmp(&b.throughput.max_req_s).unwrap()).unwrap();
    let stable = own.iter().rev().find(|p| p.stable.values().any(|s| s.stable == Some(true)));
    let stable_at = |p: &&&PointSummary| {
        let rule = &p.stable["realtime"];
        let highest = p.point == own[own.len() - 1].point;
        (
            "realtime".to_owned(),
            StableLevel {
                point: p.point,
                load: level(p),
                req_s: rule.req_s,
                output_tok_s: rule.output_tok_s,
                beyond_chance: rule.beyond_chance,
                highest_level: highest,
            },
        )
    };
    vec![Curve {
        platform: platform.into(),
        workload: own[0].workload.clone(),
        load: 0,
        axis: LoadAxis::RateRps,
        levels: own.iter().map(|p| curve_level(p)).collect(),
        max_throughput: MaxThroughput {
            req_s: best.throughput.max_req_s,
            req_point: Some(best.point),
            output_tok_s: best.throughput.max_output_tok_s,
            output_tok_point: Some(best.point),
        },
        plateau: plateau(&own),
        stable_throughput: stable.iter().map(stable_at).collect(),
        knee: knee(&own, stable.map(|p| level(p))),
        scalability: (own.len() > 3).then(|| Scalability {
            gamma: 1.0,
            sigma: 0.021,
            kappa: 0.000_4,
            r2: Some(0.987),
            levels: own.len(),
            peak_in_flight: Some(49.5),
            peak_req_s: Some(31.2),
            doubts: if own.len() < 6 { vec![FitDoubt::FewLevels, FitDoubt::PeakNotReached] } else { Vec::new() },
        }),
        scaling: own.windows(2).map(|pair| scaling(pair[0], pair[1])).collect(),
        search: None,
        at_end: Some(AtEnd { policy: EndPolicy::Drain, drain_s: 30.0 }),
    }]
}

/// The last two levels, if the higher load brought little more.
fn plateau(own: &[&PointSummary]) -> Option<Plateau> {
    let [.., a, b] = own else { return None };
    let (first, last) = (a.throughput.req_s?, b.throughput.req_s?);
    (last < first * 1.05).then(|| Plateau {
        point: a.point,
        load: level(a),
        gain: 0.05,
        req_s: f64::midpoint(first, last),
        output_tok_s: None,
        ended_sweep: false,
    })
}

/// The last level but one is where both bend, if there are enough.
fn knee(own: &[&PointSummary], capacity: Option<f64>) -> Knee {
    let methods = ["latency", "throughput", "two_lines"];
    if own.len() < 5 {
        let none_because = methods.map(|name| (name.to_owned(), NoKnee::TooFewLevels)).into();
        return Knee { none_because, ..Knee::default() };
    }
    let at = |index: usize| {
        let load = level(own[index]);
        let of_slo_capacity = capacity.map(|c| ("realtime".to_owned(), load / c)).into_iter().collect();
        Some(KneeAt { load, point: Some(own[index].point), of_slo_capacity })
    };
    let between = KneeAt { point: None, load: 21.4, of_slo_capacity: BTreeMap::new() };
    match own[0].point {
        0 => Knee { latency: at(3), throughput: at(4), two_lines: Some(between), none_because: BTreeMap::new() },
        _ => Knee {
            latency: at(4),
            throughput: at(4),
            two_lines: None,
            none_because: BTreeMap::from([("two_lines".into(), NoKnee::NoBend)]),
        },
    }
}

fn scaling(a: &PointSummary, b: &PointSummary) -> ScalingStep {
    let times = b.throughput.req_s.unwrap() / a.throughput.req_s.unwrap();
    ScalingStep { from: level(a), to: level(b), growth: times - 1.0, efficiency: times / (level(b) / level(a)) }
}

/// A search of each of these platforms beside a sweep: rate and whether it met the SLO, in the order measured.
pub(crate) fn searched(shapes: &[(Shape, &[(f64, SearchVerdict)])]) -> Sample {
    let only: Vec<Shape> = shapes.iter().map(|(shape, _)| *shape).collect();
    let mut run = sample("searched", &only, &[2.0, 4.0]);
    for (shape, steps) in shapes {
        let mut result = SearchResult { slo: "realtime".into(), complete: true, ..SearchResult::default() };
        for (rate, verdict) in *steps {
            let mut step = point(u32::try_from(run.summary.points.len()).unwrap(), *shape, *rate);
            // The share follows the verdict: surely above 95%, surely below, or neither.
            let share = match verdict {
                SearchVerdict::Meets => 0.995,
                SearchVerdict::Misses => 0.62,
                SearchVerdict::Undecided => 0.95,
            };
            let offered = step.slo["realtime"].offered;
            let judged = slo((offered as f64 * share) as u64, offered, step.window_s);
            let is_stable = *verdict == SearchVerdict::Meets;
            step.stable.insert("realtime".into(), stable(&judged, is_stable, *rate));
            step.slo.insert("realtime".into(), judged);
            let slo = &step.slo["realtime"];
            let shown = SearchStep { good: slo.good, offered: slo.offered, verdict: *verdict };
            result.steps.push(SearchResultStep {
                point: step.point,
                rate_rps: *rate,
                window_s: step.window_s,
                good: slo.good,
                offered: slo.offered,
                verdict: Some(*verdict),
            });
            match verdict {
                SearchVerdict::Meets if result.meets_rps == Some(*rate) => result.confirmed += 1,
                SearchVerdict::Meets => result.meets_rps = Some(result.meets_rps.map_or(*rate, |m| m.max(*rate))),
                SearchVerdict::Misses => {
                    result.misses_rps = Some(result.misses_rps.map_or(*rate, |m| m.min(*rate)));
                }
                SearchVerdict::Undecided => {}
            }
            step.search = Some(PointSearch { load: 1, slo: "realtime".into(), held_s: 60.0, step: Some(shown) });
            run.summary.points.push(step);
        }
        let steps: Vec<PointSummary> = run.summary.points.iter().filter(|p| p.search.is_some()).cloned().collect();
        let own = curves(shape.name, &steps).into_iter();
        run.summary.curves.extend(own.map(|curve| Curve {
            load: 1,
            search: Some(result.clone()),
            knee: Knee::default(),
            scalability: None,
            scaling: Vec::new(),
            plateau: None,
            ..curve
        }));
    }
    run
}
