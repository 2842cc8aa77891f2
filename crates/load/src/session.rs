//! The points of a run, one after another: sweeps that may stop at their plateau, then searches that choose as they go.

use std::collections::BTreeSet;
use std::sync::Arc;

use kneepoint_analysis::stats::search::{self, RateSearch, Verdict};
use kneepoint_model::bundle::{LimitReached, PointEnd, PointEnded, SearchPoint, SearchStep, SearchVerdict};
use kneepoint_model::plan::{ConnectionPolicy, Hold, LengthControl, Level, Point, Search};
use kneepoint_model::units::RatePerSec;
use kneepoint_model::{Nanos, Plan, RequestSource};

use crate::account::Account;
use crate::clock::Clock;
use crate::journal::{Journal, Judge};
use crate::point::{PointError, PointRun};
use crate::probe::{self, Probed};
use crate::progress::Progress;
use crate::run::RunError;
use crate::stop::{Stop, StopSignal};
use crate::task::Sending;
use crate::world::World;

/// Everything that the points of a run share.
pub(crate) struct Session<'a, F> {
    pub(crate) plan: &'a Plan,
    pub(crate) source: &'a Arc<dyn RequestSource>,
    pub(crate) journal: &'a Journal,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a Arc<StopSignal>,
    pub(crate) workers: usize,
    /// Opens the world that a worker works in.
    pub(crate) world: F,
    pub(crate) account: Arc<Account>,
    pub(crate) probed: &'a [Probed],
    pub(crate) ended: Vec<PointEnded>,
    /// Points of the plan that were left out because their sweep had reached its plateau.
    pub(crate) skipped: BTreeSet<u32>,
}

impl<W: World + Send, F: Fn() -> std::io::Result<W>> Session<'_, F> {
    /// Measures every point of the plan and then every search; ends early where the run is stopped or a limit is reached.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), RunError> {
        let points = self.plan.points();
        let mut last: Option<(Place, f64)> = None;
        let mut at_plateau: Option<Place> = None;
        for (number, point) in (0_u32..).zip(&points) {
            if self.is_over() {
                return Ok(());
            }
            let place = Place::of(point);
            if at_plateau == Some(place) {
                self.skipped.insert(number);
                continue;
            }
            let (ended, per_second) = self.measure(number, point, None, progress)?;
            let before = last.filter(|(other, _)| *other == place).map(|(_, throughput)| throughput);
            last = Some((place, per_second));
            let gain = self.plan.loads[point.load].stop_at_plateau;
            if ended.end != PointEnd::Stopped
                && let (Some(gain), Some(before)) = (gain, before)
                && per_second < before * (1.0 + gain.get())
            {
                at_plateau = Some(place);
            }
        }
        let mut number = u32::try_from(points.len()).unwrap_or(u32::MAX);
        for (place, search) in searches(self.plan) {
            self.search(place, &search, &mut number, progress)?;
        }
        Ok(())
    }

    /// The limit that ended the run, if one did.
    pub(crate) fn limit(&self) -> Option<LimitReached> {
        self.account.reached()
    }

    fn is_over(&self) -> bool {
        self.stop.asked() != Stop::No || self.account.reached().is_some()
    }

    fn search(
        &mut self,
        place: Place,
        search: &Search,
        number: &mut u32,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), RunError> {
        let share = self.plan.slos[search.slo].share.get();
        let mut states =
            RateSearch::new(search.from.get(), search.at_most.get(), search.tolerance.get(), search.confirm);
        for step in 1..=Search::MOST_STEPS {
            let (false, Some(rate)) = (self.is_over(), states.next_rate()) else { break };
            let Some(level) = RatePerSec::new(rate) else { break };
            let load = &self.plan.loads[place.load];
            let level = Level::Rate { rate: level, arrival: search.arrival };
            let mut point = load.point(place.platform, place.workload, place.load, level);
            point.hold = long_enough(point.hold, share, states.wants_longer());
            let searched = SearchPoint {
                platform: place.platform,
                workload: place.workload,
                load: place.load,
                rate_rps: rate,
                arrival: search.arrival,
                held: point.hold.at_least,
            };
            progress(Progress::Searching { point: *number, at: &point, step });
            let (ended, _) = self.measure(*number, &point, Some(searched), progress)?;
            *number += 1;
            let Some(seen) = ended.search else { break };
            states.report(
                rate,
                match seen.verdict {
                    SearchVerdict::Meets => Verdict::Meets,
                    SearchVerdict::Misses => Verdict::Misses,
                    SearchVerdict::Undecided => Verdict::Undecided,
                },
            );
        }
        Ok(())
    }

    /// Measures one point; gives how it ended and the successful answers that ended in its window, per second.
    fn measure(
        &mut self,
        index: u32,
        point: &Point,
        searched: Option<SearchPoint>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(PointEnded, f64), RunError> {
        let failed = |source: PointError| RunError::Point { point: index, source };
        let sending = self.sending(point)?;
        let run = PointRun {
            index,
            point,
            source: self.source,
            journal: self.journal,
            clock: self.clock,
            stop: self.stop,
            workers: self.workers,
            search: searched,
        };
        let slo = searched
            .and_then(|searched| self.plan.loads[searched.load].search)
            .map(|search| &self.plan.slos[search.slo]);
        if let Some(slo) = slo {
            let streamed = self.plan.workloads[point.workload].stream;
            let judge = Judge { slo: slo.clone(), streamed };
            self.journal.sender().judge(judge).map_err(|error| failed(error.into()))?;
        }
        let ran = run.run(&self.world, sending, &mut |state| progress(Progress::Point(state))).map_err(failed)?;
        let mut ended = ran.ended;
        if let Some(slo) = slo {
            let (good, offered) = self.journal.sender().judged().map_err(|error| failed(error.into()))?;
            ended.search = step(good, offered, slo.share.get(), ended.end);
        }
        run.close(ended).map_err(failed)?;
        progress(Progress::PointDone { ended: &ended });
        self.ended.push(ended);
        Ok((ended, ran.completed_per_second))
    }

    fn sending(&self, point: &Point) -> Result<Sending, RunError> {
        let (platform, probed) = (&self.plan.platforms[point.platform], &self.probed[point.platform]);
        let workload = &self.plan.workloads[point.workload];
        let model = platform.model.as_deref().unwrap_or(&self.plan.model.id);
        let length = match probed.environment.observed.length_control {
            LengthControl::Auto => LengthControl::Natural,
            settled => settled,
        };
        let template = probe::template(platform, workload, model, length)?;
        let mut time_limits = platform.time_limits;
        if !workload.stream {
            // There is but one piece, the whole answer.
            (time_limits.first_token, time_limits.between_chunks) = (None, None);
        }
        Ok(Sending {
            endpoint: probed.endpoint.clone(),
            template: Arc::new(template),
            keep_alive: platform.connection == ConnectionPolicy::KeepAlive,
            keep_text: self.plan.model.tokenizer.is_some(),
            time_limits,
            rtt_probe: platform.rtt_probe,
            account: Arc::clone(&self.account),
        })
    }
}

/// What one sweep or search is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    platform: usize,
    workload: usize,
    load: usize,
}

impl Place {
    fn of(point: &Point) -> Self {
        Self { platform: point.platform, workload: point.workload, load: point.load }
    }
}

/// The searches of a plan, in the order in which they are made.
fn searches(plan: &Plan) -> Vec<(Place, Search)> {
    let mut found = Vec::new();
    for platform in 0..plan.platforms.len() {
        for workload in 0..plan.workloads.len() {
            let of = |(load, entry): (usize, &kneepoint_model::plan::Load)| {
                entry.search.map(|search| (Place { platform, workload, load }, search))
            };
            found.extend(plan.loads.iter().enumerate().filter_map(of));
        }
    }
    found
}

/// The points of the plan, and the first step of each search: every platform has one among them to be looked at with.
pub fn first_points(plan: &Plan) -> Vec<Point> {
    let mut points = plan.points();
    for (place, search) in searches(plan) {
        let level = Level::Rate { rate: search.from, arrival: search.arrival };
        points.push(plan.loads[place.load].point(place.platform, place.workload, place.load, level));
    }
    points
}

/// The hold of a search's step: long enough for as many requests as it takes to tell that the share is met when every one
/// is good, and twice as long after a step that could not tell.
fn long_enough(hold: Hold, share: f64, longer: bool) -> Hold {
    let times = if longer { 2 } else { 1 };
    let min_samples = hold.min_samples.max(search::fewest_to_meet(share)) * times;
    let at_least = Nanos(hold.at_least.0.saturating_mul(times));
    let at_most = Nanos(hold.at_most.0.saturating_mul(times)).max(at_least);
    Hold { min_samples, at_least, at_most, ..hold }
}

/// What a step showed; `None` where it was broken off before it could show anything.
fn step(good: u64, offered: u64, share: f64, end: PointEnd) -> Option<SearchStep> {
    let verdict = match (end, search::verdict(good, offered, share)) {
        (PointEnd::Stopped | PointEnd::Limit, _) => return None,
        // A backlog that only grows misses every SLO in the end, however the first requests fared.
        (PointEnd::OverSaturated, _) | (PointEnd::Planned, Verdict::Misses) => SearchVerdict::Misses,
        (PointEnd::Planned, Verdict::Meets) => SearchVerdict::Meets,
        (PointEnd::Planned, Verdict::Undecided) => SearchVerdict::Undecided,
    };
    Some(SearchStep { good, offered, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_held_until_it_can_tell() {
        let second = Nanos::from_secs(1);
        let hold = Hold {
            warm_up: second,
            at_least: Nanos::from_secs(20),
            min_samples: 130,
            at_most: Nanos::from_secs(30),
            drain: second,
            at_end: kneepoint_model::plan::EndPolicy::Drain,
        };
        let once = long_enough(hold, 0.99, false);
        assert_eq!((once.min_samples, once.at_least), (381, Nanos::from_secs(20)));
        let twice = long_enough(hold, 0.99, true);
        assert_eq!(
            (twice.min_samples, twice.at_least, twice.at_most),
            (762, Nanos::from_secs(40), Nanos::from_secs(60))
        );
    }

    #[test]
    fn a_growing_backlog_misses_and_a_broken_step_tells_nothing() {
        assert_eq!(step(400, 400, 0.99, PointEnd::Planned).map(|s| s.verdict), Some(SearchVerdict::Meets));
        assert_eq!(step(400, 400, 0.99, PointEnd::OverSaturated).map(|s| s.verdict), Some(SearchVerdict::Misses));
        assert_eq!(step(400, 400, 0.99, PointEnd::Limit), None);
    }
}
