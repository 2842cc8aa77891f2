//! The watch over a point's workers: telemetry, progress, limits that come with time, and over-saturation.

use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;

use kneepoint_analysis::stats::oversaturation::OverSaturation;
use kneepoint_model::Nanos;
use kneepoint_model::bundle::{PointEnd, TelemetrySample};
use kneepoint_model::plan::{Arrival, Level, Point};

use crate::clock::Clock;
use crate::host;
use crate::journal::{Journal, JournalSender};
use crate::point::PointError;
use crate::progress::{Phase, PointProgress};
use crate::task::PointTask;
use crate::worker::WorkerReport;

/// How often the coordinator looks at the workers.
const TICK: Nanos = Nanos::from_millis(20);
/// How often progress is told.
const PROGRESS_EVERY: Nanos = Nanos::from_millis(250);
const SECOND: Nanos = Nanos::from_secs(1);
/// A point that is ended early has measured at least this long.
const LEAST_MEASURED: Nanos = Nanos::from_secs(10);

/// The watch over one point.
pub(crate) struct Watch<'a> {
    pub(crate) task: &'a PointTask,
    pub(crate) point: &'a Point,
    pub(crate) clock: Clock,
    pub(crate) journal: &'a Journal,
}

/// What the watch brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) unsent: u64,
    pub(crate) worker_cpu_share: Option<f64>,
    pub(crate) worker_wait_share: Option<f64>,
    pub(crate) process_cpu_share: Option<f64>,
    pub(crate) clock_mapping_error: Option<Nanos>,
}

impl Watch<'_> {
    /// Watches until all workers have returned.
    pub(crate) fn over(
        &self,
        handles: Vec<ScopedJoinHandle<'_, std::io::Result<WorkerReport>>>,
        progress: &mut dyn FnMut(PointProgress),
    ) -> Result<Watched, PointError> {
        let task = self.task;
        let mut telemetry = Telemetry::new(self.clock.now());
        let mut saturation = Saturation::of(self.point, self.clock.now());
        let mut window_cpu = [None, None];
        let mut told: Option<Nanos> = None;
        while handles.iter().any(|handle| !handle.is_finished()) {
            self.clock.sleep(TICK);
            let now = self.clock.now();
            for (edge, cpu) in [task.window_start, task.window_end()].into_iter().zip(&mut window_cpu) {
                if now >= edge && cpu.is_none() {
                    *cpu = Some((now, host::process_cpu()));
                }
            }
            if now < task.window_end() {
                // A closed loop's window may still be growing.
                window_cpu[1] = None;
            }
            telemetry.sample(task, now, &self.journal.sender());
            if saturation.as_mut().is_some_and(|watch| watch.tells(task, now)) {
                task.end_early(PointEnd::OverSaturated, now);
            }
            if task.account.look(now).is_some() {
                task.end_early(PointEnd::Limit, now);
            }
            if told.is_none_or(|told| now.saturating_sub(told) >= PROGRESS_EVERY) {
                told = Some(now);
                progress(point_progress(task, now));
            }
            if self.journal.has_failed() {
                // Nothing more can be kept: measuring on would only cost the platform and the user.
                task.stop.request();
                task.stop.request();
            }
        }
        progress(point_progress(task, self.clock.now()));
        let mut watched = Watched { process_cpu_share: process_share(window_cpu), ..Watched::default() };
        for handle in handles {
            let report = handle.join().map_err(|_| PointError::Thread)?.map_err(PointError::Poll)?;
            watched.unsent += report.unsent;
            watched.worker_cpu_share = larger(watched.worker_cpu_share, report.cpu_share);
            watched.worker_wait_share = larger(watched.worker_wait_share, report.wait_share);
            watched.clock_mapping_error = watched.clock_mapping_error.max(report.clock_mapping_error);
        }
        Ok(watched)
    }
}

/// Whether an open loop is over-saturated, looked at second by second.
struct Saturation {
    watch: OverSaturation,
    due: Nanos,
}

impl Saturation {
    /// `None` where the plan wants the point held whatever comes, and in a closed loop, which cannot be over-saturated.
    fn of(point: &Point, now: Nanos) -> Option<Self> {
        let Level::Rate { rate, arrival } = point.level else { return None };
        // The standard deviation of a count of arrivals, in square roots of the count.
        let deviations = match arrival {
            Arrival::Constant => 1.0,
            Arrival::Poisson => 2.0,
        };
        point.end_when_saturated.then(|| Self { watch: OverSaturation::new(rate.get(), deviations), due: now + SECOND })
    }

    fn tells(&mut self, task: &PointTask, now: Nanos) -> bool {
        if now < self.due || now >= task.window_end() {
            return false;
        }
        self.due = self.due + SECOND;
        let growth = self.watch.push(task.counters.in_flight(), task.counters.take_mean_ttft_ms());
        growth.is_some() && now >= task.window_start + LEAST_MEASURED
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn process_share(edges: [Option<(Nanos, Nanos)>; 2]) -> Option<f64> {
    let [Some((from, cpu_from)), Some((to, cpu_to))] = edges else { return None };
    let wall = to.since(from).filter(|wall| *wall > Nanos::ZERO)?;
    Some(cpu_to.saturating_sub(cpu_from).as_secs_f64() / wall.as_secs_f64() / host::cores() as f64)
}

fn point_progress(task: &PointTask, now: Nanos) -> PointProgress {
    let window_end = task.window_end();
    let phase = if now < task.window_start {
        Phase::WarmUp
    } else if now < window_end {
        Phase::Measuring
    } else {
        Phase::Draining
    };
    PointProgress {
        point: task.point,
        phase,
        elapsed: now.saturating_sub(task.started),
        expected: window_end.saturating_sub(task.started),
        dispatched: task.counters.dispatched.load(Ordering::Relaxed),
        ended: task.counters.ended.load(Ordering::Relaxed),
        failed: task.counters.failed.load(Ordering::Relaxed),
        in_flight: task.counters.in_flight(),
    }
}

/// Takes a sample of the client once a second.
struct Telemetry {
    due: Nanos,
    last: (Nanos, Nanos),
}

impl Telemetry {
    fn new(now: Nanos) -> Self {
        Self { due: now + SECOND, last: (now, host::process_cpu()) }
    }

    fn sample(&mut self, task: &PointTask, now: Nanos, journal: &JournalSender) {
        if now < self.due {
            return;
        }
        let cpu = host::process_cpu();
        let wall = now.saturating_sub(self.last.0).as_secs_f64();
        journal.telemetry(TelemetrySample {
            at: now,
            point: task.point,
            in_flight: task.counters.in_flight(),
            dispatched: task.counters.dispatched.load(Ordering::Relaxed),
            ended: task.counters.ended.load(Ordering::Relaxed),
            failed: task.counters.failed.load(Ordering::Relaxed),
            lag_max: Nanos(task.counters.lag_max.swap(0, Ordering::Relaxed)),
            rtt: task.rtt.take(),
            cpu_cores: (wall > 0.0).then(|| cpu.saturating_sub(self.last.1).as_secs_f64() / wall),
        });
        self.last = (now, cpu);
        self.due = now + SECOND;
    }
}
