//! What the levels of a load show together, against a platform whose capacity is known.

use std::collections::BTreeMap;
use std::path::Path;

use kneepoint_analysis::{RunFacts, summarise};
use kneepoint_model::bundle::{PointEnded, SearchPoint, SearchStep, SearchVerdict};
use kneepoint_model::plan::{Arrival, EndPolicy, ResolveContext, resolve};
use kneepoint_model::record::Phase;
use kneepoint_model::summary::{Curve, FitDoubt, LoadAxis, NoKnee, STABLE_BY_DEFAULT, Summary};
use kneepoint_model::{Nanos, Plan, Record};

use crate::run::{MS, Run, SECOND, answer};

/// Requests a second that the platform answers, each in half a second.
const CAPACITY: f64 = 10.0;
const RATES: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0];

fn plan(load: &str, slo: &str) -> Plan {
    let text = format!(
        "kneepoint: 1
name: curves
model: {{id: m}}
platforms:
  p: {{dialect: openai-chat, url: 'http://127.0.0.1:9', request_timeout: 10s}}
workloads:
  w: {{input: 100, output: 11}}
load:
  - {load}
{slo}"
    );
    let context = ResolveContext { base_dir: Path::new("/"), env: &|_| None };
    resolve("plan.yaml", &text, &context).unwrap_or_else(|problems| panic!("{problems}"))
}

const SLO: &str = "slo:\n  whole: {e2e: 2s, share: 99%}\n";

/// A minute at each rate, every five minutes; arrivals equally spaced, served in order.
fn level(point: u32, rate: f64) -> (PointEnded, Vec<Record>) {
    let start = u64::from(point) * 300 * SECOND;
    let (gap, service) = (Nanos::from_secs_f64(1.0 / rate).0, Nanos::from_secs_f64(1.0 / CAPACITY).0);
    let count = 60 * SECOND / gap;
    let mut free = 0;
    let records = (0..count).map(|i| {
        let intended = start + i * gap;
        let mut record = answer(i, intended);
        // The n-th answer ends half a second after its request, or a service time after the one before it.
        let ended = (intended + 500 * MS).max(free + service);
        free = ended;
        let shift = ended - record.closed.expect("an answer").0;
        for instant in [&mut record.events.first, &mut record.closed, &mut record.first_byte].into_iter().flatten() {
            instant.0 = instant.0.wrapping_add(shift);
        }
        (record.point, record.phase) = (point, Phase::Measured);
        record
    });
    let records: Vec<Record> = records.collect();
    let window_end = start + 60 * SECOND;
    let ended = PointEnded {
        point,
        started: Nanos(start),
        window_start: Nanos(start),
        window_end: Nanos(window_end),
        ended: Nanos(free.max(window_end)),
        scheduled: count,
        ..Run::clean().ended
    };
    (ended, records)
}

fn summary(
    plan: &Plan,
    levels: Vec<(PointEnded, Vec<Record>)>,
    searches: &BTreeMap<u32, SearchPoint>,
    skipped: Vec<u32>,
) -> Summary {
    let (points, records): (Vec<PointEnded>, Vec<Vec<Record>>) = levels.into_iter().unzip();
    let mut manifest = Run::clean().manifest();
    manifest.skipped = skipped;
    let environment = Run::clean().environment;
    let facts = RunFacts {
        plan,
        manifest: &manifest,
        environment: &environment,
        points: &points,
        searches,
        telemetry: &[],
        loss: None,
    };
    summarise(&facts, records.into_iter().flatten())
}

fn sweep(rates: &[f64], slo: &str) -> Curve {
    let plan = plan(&format!("rate: {{sweep: {rates:?}, for: 60s, warm_up: 0s, min_samples: 1}}"), slo);
    let levels = (0_u32..).zip(rates).map(|(point, rate)| level(point, *rate)).collect();
    let mut curves = summary(&plan, levels, &BTreeMap::new(), Vec::new()).curves;
    assert_eq!(curves.len(), 1);
    curves.remove(0)
}

#[track_caller]
fn near(got: f64, want: f64, by: f64) {
    assert!((got - want).abs() <= by, "{got} is not {want}");
}

#[test]
fn a_sweep_past_the_capacity() {
    let curve = sweep(&RATES, SLO);
    assert_eq!((curve.axis, curve.levels.len(), curve.load), (LoadAxis::RateRps, 8, 0));
    assert_eq!((&*curve.platform, &*curve.workload, &curve.search), ("p", "w", &None));
    assert_eq!(curve.at_end.map(|end| end.policy), Some(EndPolicy::Drain));
    // Overload makes points invalid, and their throughput the platform's all the same.
    assert!(curve.levels.iter().all(|level| level.counts), "{:?}", curve.levels);

    let plateau = curve.plateau.expect("more load brings no more");
    assert_eq!((plateau.load, plateau.point, plateau.ended_sweep), (10.0, 5, false));
    near(plateau.req_s, CAPACITY, 0.2);
    near(plateau.output_tok_s.expect("counted"), 11.0 * CAPACITY, 3.0);

    let stable = curve.stable_throughput["whole"];
    assert_eq!((stable.load, stable.point, stable.highest_level), (10.0, 5, false));
    assert!(stable.beyond_chance, "600 requests of 600");
    near(stable.req_s.expect("stable"), CAPACITY, 0.2);

    let knee = &curve.knee;
    for (method, at) in [("throughput", &knee.throughput), ("two_lines", &knee.two_lines)] {
        let at = at.as_ref().unwrap_or_else(|| panic!("no knee by {method}: {:?}", knee.none_because));
        near(at.load, 10.0, 0.5);
        near(at.of_slo_capacity["whole"], 1.0, 0.05);
    }
    let latency = knee.latency.as_ref().expect("latency climbs");
    assert!((10.0..=12.0).contains(&latency.load), "{latency:?}");

    let most = curve.max_throughput;
    near(most.req_s.expect("a second"), 11.0, 1.0);
    assert!(most.output_tok_s.is_some_and(|most| most >= 11.0 * CAPACITY) && most.req_point.is_some());

    let first = curve.scaling[0];
    assert_eq!((first.from, first.to, curve.scaling.len()), (1.0, 2.0, 7));
    near(first.growth, 1.0, 0.02);
    near(first.efficiency, 1.0, 0.02);
    near(curve.scaling[6].efficiency, 0.75, 0.02);

    // What the platform kept up with is a straight line: the law has not seen the bend, and says so.
    let law = curve.scalability.expect("six levels that did not overload");
    assert_eq!(law.levels, 6);
    assert!(law.doubts.contains(&FitDoubt::BendNotReached), "{law:?}");
    near(law.gamma, 2.0, 0.1);
}

#[test]
fn a_sweep_below_the_capacity_shows_no_end() {
    let curve = sweep(&RATES[..5], SLO);
    assert_eq!(curve.plateau, None);
    let stable = curve.stable_throughput["whole"];
    assert_eq!((stable.load, stable.highest_level), (8.0, true));
    for method in ["throughput", "latency", "two_lines"] {
        assert_eq!(curve.knee.none_because.get(method), Some(&NoKnee::NoBend), "{method}: {:?}", curve.knee);
    }
    let short = sweep(&RATES[..3], SLO).knee;
    assert!(short.none_because.values().all(|why| *why == NoKnee::TooFewLevels) && short.none_because.len() == 3);
}

/// The rule of two seconds stands in where the plan names no SLO, and only there.
#[test]
fn stable_without_an_slo() {
    let curve = sweep(&RATES, "");
    assert_eq!(curve.stable_throughput.keys().collect::<Vec<_>>(), [STABLE_BY_DEFAULT]);
    near(curve.stable_throughput[STABLE_BY_DEFAULT].load, 10.0, 1e-9);
    assert!(!sweep(&RATES[..3], SLO).stable_throughput.contains_key(STABLE_BY_DEFAULT));
}

#[test]
fn a_sweep_that_its_plateau_ended() {
    let plan = plan("rate: {sweep: [5, 10, 20, 40], for: 60s, warm_up: 0s, min_samples: 1, stop_at_plateau: 10%}", SLO);
    let levels = (0_u32..).zip([5.0, 10.0, 20.0]).map(|(point, rate)| level(point, rate)).collect();
    let summary = summary(&plan, levels, &BTreeMap::new(), vec![3]);
    let plateau = summary.curves[0].plateau.expect("reached");
    assert_eq!((plateau.load, plateau.gain, plateau.ended_sweep), (10.0, 0.1, true));
    assert_eq!((summary.run.skipped, summary.run.points_planned, summary.points.len()), (vec![3], 4, 3));
}

/// Points past the plan's own are known by what their search says of them.
#[test]
fn a_search() {
    let load =
        "search: {slo: whole, from: 4, up_to: 64, tolerance: 25%, confirm: 1, for: 60s, warm_up: 0s, min_samples: 100}";
    let plan = plan(load, "slo:\n  whole: {e2e: 2s, share: 90%}\n");
    assert_eq!(plan.points().len(), 0);
    let tried = [4.0, 8.0, 16.0, 12.0, 10.0, 10.0];
    let (mut searches, mut levels) = (BTreeMap::new(), Vec::new());
    for (point, rate_rps) in (0_u32..).zip(tried) {
        let held = Nanos::from_secs(60);
        let at = SearchPoint { platform: 0, workload: 0, load: 0, rate_rps, arrival: Arrival::Constant, held };
        searches.insert(point, at);
        let (mut ended, records) = level(point, rate_rps);
        let verdict = if rate_rps > CAPACITY { SearchVerdict::Misses } else { SearchVerdict::Meets };
        ended.search = Some(SearchStep { good: 1, offered: 2, verdict });
        levels.push((ended, records));
    }
    // A point that no plan and no search knows is not guessed at.
    levels.push(level(99, 5.0));
    let summary = summary(&plan, levels, &searches, Vec::new());
    assert_eq!((summary.points.len(), summary.curves.len(), summary.run.points_planned), (6, 1, 0));
    let point = &summary.points[2];
    assert_eq!((point.load.rate_rps, point.window_s), (Some(16.0), 60.0));
    let step = point.search.as_ref().expect("a step of a search");
    assert_eq!((&*step.slo, step.load, step.held_s), ("whole", 0, 60.0));

    let curve = &summary.curves[0];
    let found = curve.search.as_ref().expect("a search");
    assert_eq!((found.meets_rps, found.misses_rps), (Some(10.0), Some(12.0)));
    assert_eq!((found.confirmed, found.complete, found.at_most_met), (1, true, false));
    assert_eq!(found.steps.iter().map(|step| step.rate_rps).collect::<Vec<_>>(), tried);
    assert_eq!((found.steps[2].point, found.steps[2].verdict), (2, Some(SearchVerdict::Misses)));
    // Both measurements of ten a second are one level of the curve.
    assert_eq!((curve.levels.len(), curve.scaling.len()), (6, 4));
    near(curve.stable_throughput["whole"].load, 10.0, 1e-9);
}
