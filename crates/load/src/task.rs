//! One point as the workers see it: what to send, when to stop, and the counters everybody reads.

use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use kneepoint_model::bundle::PointEnd;
use kneepoint_model::plan::{Point, TimeLimits};
use kneepoint_model::{Nanos, Prompt};
use kneepoint_wire::request::RequestTemplate;
use kneepoint_wire::transport::Endpoint;

use crate::account::Account;
use crate::rtt::LastRtt;
use crate::stop::StopSignal;

/// What all workers of one point share. Instants are on the run's clock.
#[derive(Debug)]
pub(crate) struct PointTask {
    pub(crate) point: u32,
    /// Index of the platform in the plan.
    pub(crate) platform: usize,
    pub(crate) endpoint: Endpoint,
    pub(crate) template: Arc<RequestTemplate>,
    pub(crate) keep_alive: bool,
    pub(crate) keep_text: bool,
    pub(crate) started: Nanos,
    pub(crate) window_start: Nanos,
    /// Closed loop: the window ends once this many requests ended in it, not before `window_end` and not after
    /// `latest_end`. Open loop: the schedule alone decides.
    pub(crate) min_samples: Option<u64>,
    pub(crate) latest_end: Nanos,
    pub(crate) drain: Nanos,
    pub(crate) time_limits: TimeLimits,
    pub(crate) max_in_flight: Option<u32>,
    /// Whether the round trip is measured beside the load.
    pub(crate) rtt_probe: bool,
    pub(crate) rtt: LastRtt,
    pub(crate) account: Arc<Account>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) counters: Counters,
    window_end: AtomicU64,
    /// Closed loop: `window_end` is final.
    settled: AtomicBool,
    ended_early: OnceLock<PointEnd>,
}

/// Figures for progress and telemetry; statistics come from records, never from here.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) dispatched: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Requests dispatched that were intended in the window.
    pub(crate) measured: AtomicU64,
    /// Of those, ended (cut ones excepted).
    pub(crate) samples: AtomicU64,
    /// Requests intended in the window that this machine could not send.
    pub(crate) dropped: AtomicU64,
    /// Requests intended in the window that `max_in_flight` held back.
    pub(crate) held_back: AtomicU64,
    /// Successful answers that ended in the window.
    pub(crate) completed: AtomicU64,
    /// First tokens since the last look of the watch, and their TTFTs together, ns.
    first_tokens: AtomicU64,
    first_tokens_waited: AtomicU64,
    /// Largest lag since the last telemetry sample, ns.
    pub(crate) lag_max: AtomicU64,
}

impl Counters {
    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        // Read in this order, so that a request ending in between never makes the difference negative.
        let ended = self.ended.load(Ordering::Acquire);
        self.dispatched.load(Ordering::Acquire).saturating_sub(ended)
    }

    /// A first token came, so long after it was wanted.
    pub(crate) fn tell_first_token(&self, waited: Nanos) {
        self.first_tokens.fetch_add(1, Ordering::AcqRel);
        self.first_tokens_waited.fetch_add(waited.0, Ordering::AcqRel);
    }

    /// Mean TTFT of the first tokens since the last call, ms; `None` where none came.
    pub(crate) fn take_mean_ttft_ms(&self) -> Option<f64> {
        // A first token told in between is in the one and not in the other: of no weight to a mean over a second.
        let (count, sum) =
            (self.first_tokens.swap(0, Ordering::AcqRel), self.first_tokens_waited.swap(0, Ordering::AcqRel));
        (count > 0).then(|| Nanos(sum).as_millis_f64() / count as f64)
    }
}

/// The fixed part of a [`PointTask`].
#[derive(Debug)]
pub(crate) struct Timetable {
    pub(crate) started: Nanos,
    pub(crate) window_start: Nanos,
    pub(crate) window_end: Nanos,
    pub(crate) latest_end: Nanos,
}

/// How to send the requests of one point.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) endpoint: Endpoint,
    pub(crate) template: Arc<RequestTemplate>,
    pub(crate) keep_alive: bool,
    pub(crate) keep_text: bool,
    pub(crate) time_limits: TimeLimits,
    pub(crate) rtt_probe: bool,
    pub(crate) account: Arc<Account>,
}

impl PointTask {
    pub(crate) fn new(
        number: u32,
        point: &Point,
        sending: Sending,
        timetable: &Timetable,
        min_samples: Option<u64>,
        stop: Arc<StopSignal>,
    ) -> Self {
        Self {
            point: number,
            platform: point.platform,
            max_in_flight: point.max_in_flight,
            account: sending.account,
            rtt_probe: sending.rtt_probe,
            rtt: LastRtt::default(),
            endpoint: sending.endpoint,
            template: sending.template,
            keep_alive: sending.keep_alive,
            keep_text: sending.keep_text,
            time_limits: sending.time_limits,
            started: timetable.started,
            window_start: timetable.window_start,
            min_samples,
            latest_end: timetable.latest_end,
            drain: point.hold.drain,
            stop,
            counters: Counters::default(),
            window_end: AtomicU64::new(timetable.window_end.0),
            settled: AtomicBool::new(false),
            ended_early: OnceLock::new(),
        }
    }

    /// End of the measured window, as known now.
    pub(crate) fn window_end(&self) -> Nanos {
        Nanos(self.window_end.load(Ordering::Acquire))
    }

    /// Why the window ended.
    pub(crate) fn end(&self) -> PointEnd {
        self.ended_early.get().copied().unwrap_or_default()
    }

    /// Ends the window at `at` for good, unless it has ended already.
    pub(crate) fn end_early(&self, end: PointEnd, at: Nanos) {
        if at >= self.window_end() {
            return;
        }
        let _ = self.ended_early.set(end);
        self.settled.store(true, Ordering::Release);
        self.window_end.fetch_min(at.0, Ordering::AcqRel);
    }

    /// `true` while new requests may start at `now`. In a closed loop this is where the window grows until it holds
    /// enough samples, and where its end is settled.
    pub(crate) fn may_start(&self, now: Nanos) -> bool {
        let Some(min_samples) = self.min_samples else { return now < self.window_end() };
        if now < self.window_end() {
            return true;
        }
        if self.settled.load(Ordering::Acquire) {
            return false;
        }
        if self.counters.samples.load(Ordering::Acquire) >= min_samples || now >= self.latest_end {
            self.settled.store(true, Ordering::Release);
            return false;
        }
        self.window_end.fetch_max(now.0 + 1, Ordering::AcqRel);
        true
    }

    /// `true` if a request intended at `intended` belongs to the measured window.
    pub(crate) fn is_measured(&self, intended: Nanos) -> bool {
        intended >= self.window_start
    }
}

/// What one worker sends of a point.
pub(crate) enum Share {
    /// Open loop: index and intended instant, ascending; made one at a time, so that their number costs no memory.
    Arrivals(Peekable<Box<dyn Iterator<Item = (u64, Nanos)> + Send>>),
    /// Closed loop: so many slots.
    Slots(u32),
}

/// A request made ready before it is due, so that making it never delays sending it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) index: u64,
    pub(crate) prompt: Prompt,
    pub(crate) bytes: Vec<u8>,
}
