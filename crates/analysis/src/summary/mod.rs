//! Records to summary: every figure a report shows, by the definitions of `docs/metrics.md`.
//!
//! One pass over the records, in any order, each folded into its point; then the figures, then the judgement of their
//! validity. Knows no file and no clock.

mod accumulate;
mod curve;
mod distribution;
mod figures;
mod grid;
mod knees;
pub mod limits;
mod network;
mod phases;
mod series;
mod slo;
mod stable;
mod steady;
mod throughput;
mod validity;

use std::collections::BTreeMap;

use kneepoint_model::bundle::{Environment, Loss, Manifest, PointEnded, SearchPoint, TelemetrySample};
use kneepoint_model::plan::{Level, Point};
use kneepoint_model::summary::{FORMAT, METRICS_VERSION, RunSummary, Summary};
use kneepoint_model::units::RatePerSec;
use kneepoint_model::{Plan, Record};

use accumulate::Accumulator;

/// What is known of a run beside its records.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The plan as resolved.
    pub plan: &'a Plan,
    /// The bundle's manifest.
    pub manifest: &'a Manifest,
    /// What was seen of the platforms.
    pub environment: &'a Environment,
    /// The points that were measured, in any order; of two with one index the later counts.
    pub points: &'a [PointEnded],
    /// What each point past those of the plan measures, by its index.
    pub searches: &'a BTreeMap<u32, SearchPoint>,
    /// The client once a second, in any order.
    pub telemetry: &'a [TelemetrySample],
    /// What the journal lost.
    pub loss: Option<Loss>,
}

/// The summary of a run. Records may come in any order and are not kept; those of points that are not in
/// [`RunFacts::points`], or neither in the plan nor in [`RunFacts::searches`], are left out.
pub fn summarise(facts: &RunFacts<'_>, records: impl IntoIterator<Item = Record>) -> Summary {
    let plan = facts.plan;
    let planned = plan.points();
    let mut measured: BTreeMap<u32, (Point, Accumulator)> = facts
        .points
        .iter()
        .filter_map(|ended| {
            let point = resolve(facts, &planned, ended.point)?;
            Some((ended.point, (point, Accumulator::new(*ended, plan.workloads[point.workload].stream))))
        })
        .collect();
    for record in records {
        if let Some((_, accumulator)) = measured.get_mut(&record.point) {
            accumulator.add(&record);
        }
    }
    let last = measured.keys().next_back().copied();
    let points: Vec<_> = measured
        .into_iter()
        .map(|(index, (point, accumulator))| {
            let loss = facts.loss.filter(|_| Some(index) == last);
            (point, figures::point(facts, point, accumulator, loss))
        })
        .collect();
    let curves = curve::curves(facts, &planned, &points);
    let platforms = &facts.environment.platforms;
    Summary {
        format: FORMAT.to_owned(),
        metrics: METRICS_VERSION,
        simulated: plan.platforms.iter().any(|p| platforms.get(&p.name).is_some_and(|seen| seen.observed.simulated)),
        run: RunSummary {
            name: plan.name.clone(),
            started: facts.manifest.started.clone(),
            seed: plan.seed,
            status: facts.manifest.status,
            points_planned: planned.len(),
            lost: facts.loss,
            skipped: facts.manifest.skipped.clone(),
            limit: facts.manifest.limit,
            calibration: facts.manifest.calibration,
        },
        points: points.into_iter().map(|(_, point)| point).collect(),
        curves,
    }
}

/// What a point measures: one of the plan's, or past those what a search chose.
fn resolve(facts: &RunFacts<'_>, planned: &[Point], index: u32) -> Option<Point> {
    if let Some(point) = usize::try_from(index).ok().and_then(|index| planned.get(index)) {
        return Some(*point);
    }
    let (plan, search) = (facts.plan, facts.searches.get(&index)?);
    let known = search.platform < plan.platforms.len() && search.workload < plan.workloads.len();
    let level = Level::Rate { rate: RatePerSec::new(search.rate_rps)?, arrival: search.arrival };
    let load = plan.loads.get(search.load).filter(|_| known)?;
    let mut point = load.point(search.platform, search.workload, search.load, level);
    point.hold.at_least = search.held;
    Some(point)
}
