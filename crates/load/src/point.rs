//! One point from start to drain: prompts made ready, workers started, telemetry taken, the end noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::time::Duration;

use kneepoint_model::bundle::{PointEnd, PointEnded, PointEvent, PointStarted, SearchPoint};
use kneepoint_model::plan::{Level, Point};
use kneepoint_model::{Nanos, PointSchedule, RequestSource};

use crate::clock::Clock;
use crate::journal::{Journal, JournalError};
use crate::progress::PointProgress;
use crate::stop::{Stop, StopSignal};
use crate::task::{PointTask, Prepared, Sending, Share, Timetable};
use crate::watch::{Watch, Watched};
use crate::worker::Worker;
use crate::world::World;

/// How often progress is told while prompts are made.
const PROGRESS_EVERY: Nanos = Nanos::from_millis(250);
/// Workers start this long after the point's facts are set, so that none of them starts late.
const RUN_UP: Nanos = Nanos::from_millis(30);
/// Requests made ready ahead of time take at most this much memory.
const READY_BYTES: u64 = 64 << 20;
/// Prompts are made ready for at most this long before the point starts; the rest follows during the run.
const READY_TIME: Nanos = Nanos::from_secs(20);

/// Why a point could not be measured. Failed requests are data and never end up here.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// A worker's poll failed.
    #[error("could not wait for sockets")]
    Poll(#[source] std::io::Error),
    /// A thread could not be started, or panicked.
    #[error("a worker thread could not be started or ended by a panic")]
    Thread,
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What became of a point.
pub(crate) struct Ran {
    pub(crate) ended: PointEnded,
    /// Successful answers that ended in the window ÷ its length.
    pub(crate) completed_per_second: f64,
}

/// What a point is run with.
pub(crate) struct PointRun<'a> {
    pub(crate) index: u32,
    pub(crate) point: &'a Point,
    pub(crate) source: &'a Arc<dyn RequestSource>,
    pub(crate) journal: &'a Journal,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a Arc<StopSignal>,
    pub(crate) workers: usize,
    /// What a search measures here.
    pub(crate) search: Option<SearchPoint>,
}

impl PointRun<'_> {
    /// Runs the point in worlds opened by `world`, one a worker; [`PointRun::close`] writes down what became of it.
    pub(crate) fn run<W: World + Send>(
        &self,
        world: &impl Fn() -> std::io::Result<W>,
        sending: Sending,
        progress: &mut dyn FnMut(PointProgress),
    ) -> Result<Ran, PointError> {
        let schedule = self.source.schedule(self.number(), self.point);
        let workers = self.workers_for(schedule.as_ref());
        let ready = Ready::default();
        let capacity = capacity(sending.template.approximate_request_bytes(), workers);
        std::thread::scope(|scope| {
            let mut receivers = Vec::with_capacity(workers);
            for worker in 0..workers {
                let (sender, receiver) = sync_channel(capacity);
                receivers.push(receiver);
                let maker = Maker {
                    number: self.number(),
                    point: *self.point,
                    first: worker as u64,
                    stride: workers as u64,
                    end: schedule.as_ref().map(|schedule| schedule.arrivals),
                    template: Arc::clone(&sending.template),
                    source: Arc::clone(self.source),
                };
                let ready = &ready;
                scope.spawn(move || maker.run(&sender, ready));
            }
            self.wait_until_ready(&ready, schedule.as_ref(), capacity * workers, progress);

            let task = self.task(sending, schedule.as_ref());
            self.journal.sender().point(PointEvent::Started(PointStarted {
                point: self.index,
                started: task.started,
                window_start: task.window_start,
                window_end: task.window_end(),
                search: self.search,
            }))?;
            task.account.begin(task.platform, task.started);
            let watched = std::thread::scope(|scope| {
                let (hang_up, end) = channel();
                if task.rtt_probe {
                    let (task, clock) = (&task, self.clock);
                    scope.spawn(move || task.rtt.keep(task.endpoint.addresses()[0], clock, &end));
                }
                let mut handles = Vec::with_capacity(workers);
                for (worker, receiver) in receivers.into_iter().enumerate() {
                    let share = self.share(schedule.as_ref(), task.started, worker, workers);
                    let world = world().map_err(PointError::Poll)?;
                    let worker = Worker::new(&task, world, self.journal.sender(), receiver, share);
                    handles.push(scope.spawn(move || worker.run()));
                }
                let watch = Watch { task: &task, point: self.point, clock: self.clock, journal: self.journal };
                let watched = watch.over(handles, progress);
                drop(hang_up);
                watched
            });
            task.account.end(task.platform, self.clock.now());
            let ended = self.ended(&task, schedule.as_ref(), watched?);
            let window = ended.window_end.saturating_sub(ended.window_start);
            let completed = task.counters.completed.load(Ordering::Acquire) as f64;
            let completed_per_second = if window == Nanos::ZERO { 0.0 } else { completed / window.as_secs_f64() };
            Ok(Ran { ended, completed_per_second })
        })
    }

    /// Writes down how the point ended, after all its records.
    pub(crate) fn close(&self, ended: PointEnded) -> Result<(), PointError> {
        Ok(self.journal.sender().point(PointEvent::Ended(ended))?)
    }

    fn number(&self) -> usize {
        self.index as usize
    }

    fn workers_for(&self, schedule: Option<&PointSchedule>) -> usize {
        let useful = match (self.point.level, schedule) {
            (Level::Concurrency(n), _) => n as usize,
            (Level::Rate { .. }, Some(schedule)) => usize::try_from(schedule.arrivals).unwrap_or(usize::MAX),
            (Level::Rate { .. }, None) => 1,
        };
        self.workers.min(useful).max(1)
    }

    fn wait_until_ready(
        &self,
        ready: &Ready,
        schedule: Option<&PointSchedule>,
        capacity: usize,
        progress: &mut dyn FnMut(PointProgress),
    ) {
        let wanted = match (self.point.level, schedule) {
            (Level::Concurrency(n), _) => u64::from(n) * 2,
            (Level::Rate { .. }, Some(schedule)) => schedule.arrivals,
            (Level::Rate { .. }, None) => 0,
        };
        let wanted = wanted.min(capacity as u64);
        let began = self.clock.now();
        let mut told: Option<Nanos> = None;
        while ready.made.load(Ordering::Acquire) < wanted && self.stop.asked() == Stop::No {
            let now = self.clock.now();
            if now.saturating_sub(began) >= READY_TIME {
                break;
            }
            if told.is_none_or(|told| now.saturating_sub(told) >= PROGRESS_EVERY) {
                told = Some(now);
                progress(PointProgress::preparing(self.index, ready.made.load(Ordering::Acquire), wanted));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn task(&self, sending: Sending, schedule: Option<&PointSchedule>) -> PointTask {
        let hold = &self.point.hold;
        let started = self.clock.now() + RUN_UP;
        let (window_start, window_end) = match schedule {
            Some(schedule) => (started + schedule.window_start, started + schedule.window_end),
            None => (started + hold.warm_up, started + hold.warm_up + hold.at_least),
        };
        let latest_end = window_start + hold.at_most.max(hold.at_least);
        let timetable = Timetable { started, window_start, window_end, latest_end };
        let min_samples = schedule.is_none().then_some(hold.min_samples);
        PointTask::new(self.index, self.point, sending, &timetable, min_samples, Arc::clone(self.stop))
    }

    /// One worker's share: every n-th arrival, or an equal number of slots.
    fn share(&self, schedule: Option<&PointSchedule>, started: Nanos, worker: usize, workers: usize) -> Share {
        match (self.point.level, schedule) {
            (Level::Concurrency(n), None) => {
                let n = n as usize;
                let slots = n / workers + usize::from(worker < n % workers);
                Share::Slots(u32::try_from(slots).unwrap_or(u32::MAX))
            }
            (_, schedule) => {
                let count = usize::try_from(schedule.map_or(0, |schedule| schedule.arrivals)).unwrap_or(usize::MAX);
                let arrivals = self.source.arrivals(self.number(), self.point).take(count);
                let arrivals = (0_u64..).zip(arrivals.map(move |at| started + at));
                let own: Box<dyn Iterator<Item = _> + Send> = Box::new(arrivals.skip(worker).step_by(workers));
                Share::Arrivals(own.peekable())
            }
        }
    }

    fn ended(&self, task: &PointTask, schedule: Option<&PointSchedule>, watched: Watched) -> PointEnded {
        // A run stopped during the warm-up has an empty window, not one that ends before it starts.
        let window_end = task.window_end().max(task.window_start);
        let scheduled = schedule.map(|schedule| {
            if window_end == task.started + schedule.window_end {
                return schedule.measured;
            }
            // Stopped early: what was wanted until then.
            let arrivals = self.source.arrivals(self.number(), self.point).map(|at| task.started + at);
            arrivals.take_while(|at| *at < window_end).filter(|at| *at >= task.window_start).count() as u64
        });
        // A closed loop schedules a request by sending it.
        let scheduled = scheduled.unwrap_or_else(|| task.counters.measured.load(Ordering::Acquire));
        let end = task.end();
        // What the run was not stopped for and still was not sent, a cap or this machine kept from being sent.
        let (unsent, kept_back) = if end == PointEnd::Planned { (0, watched.unsent) } else { (watched.unsent, 0) };
        PointEnded {
            point: self.index,
            started: task.started,
            window_start: task.window_start,
            window_end,
            ended: self.clock.now(),
            scheduled,
            unsent,
            interrupted: end == PointEnd::Stopped,
            end,
            dropped: task.counters.dropped.load(Ordering::Acquire) + kept_back,
            held_back: task.counters.held_back.load(Ordering::Acquire),
            clock_mapping_error: watched.clock_mapping_error,
            search: None,
            worker_cpu_share: watched.worker_cpu_share,
            worker_wait_share: watched.worker_wait_share,
            process_cpu_share: watched.process_cpu_share,
        }
    }
}

#[derive(Debug, Default)]
struct Ready {
    made: AtomicU64,
}

/// Makes the requests of one worker, in order, ahead of their time.
struct Maker {
    number: usize,
    point: Point,
    first: u64,
    stride: u64,
    end: Option<u64>,
    template: Arc<kneepoint_wire::request::RequestTemplate>,
    source: Arc<dyn RequestSource>,
}

impl Maker {
    /// Ends when the last request is made or nobody takes them any more.
    fn run(self, sender: &SyncSender<Prepared>, ready: &Ready) {
        let mut index = self.first;
        while self.end.is_none_or(|end| index < end) {
            let prompt = self.source.prompt(self.number, &self.point, index);
            let mut bytes = Vec::new();
            self.template.render(&prompt, &mut bytes);
            ready.made.fetch_add(1, Ordering::AcqRel);
            if sender.send(Prepared { index, prompt, bytes }).is_err() {
                return;
            }
            index += self.stride;
        }
    }
}

/// How many requests each worker may have ready.
fn capacity(request_bytes: usize, workers: usize) -> usize {
    let fits = READY_BYTES / (request_bytes as u64 + 256) / workers as u64;
    usize::try_from(fits).unwrap_or(usize::MAX).clamp(16, 16_384)
}
