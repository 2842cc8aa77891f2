//! Records to summary: every figure a report shows, by the definitions of `docs/metrics.md`.
//!
//! One pass over the records, in any order, each folded into its point; then the figures, then the judgement of their
//! validity. Knows no file and no clock.

mod accumulate;
mod distribution;
mod figures;
mod grid;
pub mod limits;
mod series;
mod slo;
mod throughput;
mod validity;

use std::collections::BTreeMap;

use kneepoint_model::bundle::{Environment, Loss, Manifest, PointEnded};
use kneepoint_model::plan::Point;
use kneepoint_model::summary::{FORMAT, METRICS_VERSION, RunSummary, Summary};
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
    /// What the journal lost.
    pub loss: Option<Loss>,
}

/// The summary of a run. Records may come in any order and are not kept; those of points that are not in
/// [`RunFacts::points`] or not in the plan are left out.
pub fn summarise(facts: &RunFacts<'_>, records: impl IntoIterator<Item = Record>) -> Summary {
    let plan = facts.plan;
    let points = plan.points();
    let planned = |ended: &PointEnded| usize::try_from(ended.point).ok().and_then(|index| points.get(index)).copied();
    let mut measured: BTreeMap<u32, (Point, Accumulator)> = facts
        .points
        .iter()
        .filter_map(|ended| {
            let point = planned(ended)?;
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
            figures::point(facts, point, accumulator, loss)
        })
        .collect();
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
            points_planned: plan.points().len(),
            lost: facts.loss,
            skipped: facts.manifest.skipped.clone(),
            limit: facts.manifest.limit,
            calibration: facts.manifest.calibration,
        },
        points,
        curves: Vec::new(),
    }
}
