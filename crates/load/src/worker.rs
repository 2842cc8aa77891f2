//! The driver: one thread, one poll, and every request of its share of a point, open or closed loop alike.
//!
//! The thread waits for sockets and for the schedule in one call. It dispatches what is due, stamps what arrives,
//! and hands finished requests to the journal; it never waits for anything else, so a slow server, a slow disk or a
//! slow prompt cannot move a time stamp.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use kneepoint_model::bundle::PointEnd;
use kneepoint_model::record::{Outcome, Phase};
use kneepoint_model::{FailureKind, FailurePoint, Nanos};
use kneepoint_wire::exchange::Step;
use kneepoint_wire::transport::{Condition, Milestones, TransportFailure};

use crate::deadlines::Deadlines;
use crate::flight::{Dispatch, End, Flight, Passage};
use crate::host::raise_thread_priority;
use crate::journal::JournalSender;
use crate::links::{Link, Links};
use crate::processor::ProcessorWindow;
use crate::stop::Stop;
use crate::task::{PointTask, Prepared, Share};
use crate::world::{Connection, Stirred, World};

/// How soon to look again for a prompt that is due but not ready, or for room under `max_in_flight`.
const STARVED_RETRY: Nanos = Nanos(200_000);
/// How long a complete answer may hold its connection until its framing is complete too.
const LINGER: Nanos = Nanos::from_millis(20);
/// A kept connection idle for longer is not used again: common servers close theirs after five seconds, and a request
/// sent into that close would fail through no fault of the server's.
const IDLE_LIMIT: Nanos = Nanos::from_secs(4);
/// A closed-loop slot whose request failed waits this long times the failures in a row, so that a dead server is not
/// hammered; at most [`FAILURE_PAUSE_MAX`].
const FAILURE_PAUSE: Nanos = Nanos::from_millis(100);
const FAILURE_PAUSE_MAX: Nanos = Nanos::from_secs(1);

/// What a worker says at the end of a point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerReport {
    /// CPU time ÷ wall time over the window.
    pub(crate) cpu_share: Option<f64>,
    /// Time spent waiting for a processor ÷ wall time over the window.
    pub(crate) wait_share: Option<f64>,
    /// Arrivals in the window that were never dispatched.
    pub(crate) unsent: u64,
    /// Largest error of the mapping from the kernel's clock.
    pub(crate) clock_mapping_error: Option<Nanos>,
}

/// A closed-loop slot waiting for its next request.
#[derive(Clone, Copy, Debug)]
struct FreeSlot {
    at: Nanos,
    failures: u32,
}

pub(crate) struct Worker<'a, W: World> {
    task: &'a PointTask,
    world: W,
    journal: JournalSender,
    prepared: Receiver<Prepared>,
    next: Option<Prepared>,
    share: Share,
    free_slots: VecDeque<FreeSlot>,
    links: Links<W::Connection>,
    deadlines: Deadlines,
    open: usize,
    /// The arrival at the head of the schedule has had to wait for room.
    held_back: bool,
    processor: ProcessorWindow,
}

impl<'a, W: World> Worker<'a, W> {
    pub(crate) fn new(
        task: &'a PointTask,
        world: W,
        journal: JournalSender,
        prepared: Receiver<Prepared>,
        share: Share,
    ) -> Self {
        let free_slots = match &share {
            Share::Arrivals(_) => VecDeque::new(),
            Share::Slots(n) => (0..*n).map(|_| FreeSlot { at: task.started, failures: 0 }).collect(),
        };
        Self {
            task,
            world,
            journal,
            prepared,
            next: None,
            share,
            free_slots,
            links: Links::new(),
            deadlines: Deadlines::default(),
            open: 0,
            held_back: false,
            processor: ProcessorWindow::default(),
        }
    }

    /// Sends this worker's share of the point and returns when its last request has ended or was cut.
    pub(crate) fn run(mut self) -> std::io::Result<WorkerReport> {
        raise_thread_priority();
        let mut stirred: Vec<Stirred> = Vec::with_capacity(1024);
        loop {
            let now = self.world.now();
            self.heed_stop(now);
            let dispatch = self.dispatch_due(now);
            let now = self.world.now();
            self.expire(now);
            let window_end = self.task.window_end();
            self.processor.tell(now, self.task.window_start, window_end);
            let sending = now < window_end || (self.task.min_samples.is_some() && self.task.may_start(now));
            if !sending {
                if self.open == 0 {
                    break;
                }
                if now >= window_end + self.task.drain || self.task.stop.asked() == Stop::Now {
                    self.cut_all();
                    break;
                }
            }
            let edges = [self.task.window_start, window_end, window_end + self.task.drain];
            let edge = edges.into_iter().find(|edge| *edge > now);
            let other = self.deadlines.next().into_iter().chain(edge).min();
            self.world.wait(now, dispatch, other, &mut stirred)?;
            for (place, read_closed) in stirred.drain(..) {
                self.move_bytes(place, read_closed);
            }
        }
        let (cpu_share, wait_share) = self.processor.shares(self.world.now());
        let clock_mapping_error = self.world.clock_mapping_error();
        Ok(WorkerReport { cpu_share, wait_share, unsent: self.unsent(), clock_mapping_error })
    }

    fn heed_stop(&mut self, now: Nanos) {
        if self.task.stop.asked() != Stop::No && now < self.task.window_end() {
            self.task.end_early(PointEnd::Stopped, now);
        }
    }

    /// Dispatches everything due at `now`; returns when the next dispatch is due.
    fn dispatch_due(&mut self, mut now: Nanos) -> Option<Nanos> {
        loop {
            let (intended, failures) = match &mut self.share {
                Share::Arrivals(arrivals) => (arrivals.peek()?.1, 0),
                Share::Slots(_) => {
                    let slot = self.free_slots.front()?;
                    (slot.at, slot.failures)
                }
            };
            if intended > now {
                return Some(intended);
            }
            let allowed = match &self.share {
                Share::Arrivals(_) => intended < self.task.window_end(),
                Share::Slots(_) => self.task.may_start(now),
            };
            if !allowed {
                return None;
            }
            if self.task.max_in_flight.is_some() && now >= self.task.window_end() {
                // What a cap has held back to the end of the window is dropped, and counted as such.
                return None;
            }
            if !self.has_room() {
                self.held_back = true;
                return Some(now + STARVED_RETRY);
            }
            let Some(prepared) = self.take_prepared() else { return Some(now + STARVED_RETRY) };
            now = self.world.now();
            let (input, output) = (prepared.prompt.target_input, prepared.prompt.output);
            let Some(reserved) = self.task.account.admit(self.task.platform, input, output, now) else {
                self.task.end_early(PointEnd::Limit, now);
                return None;
            };
            match &mut self.share {
                Share::Arrivals(arrivals) => {
                    let due = arrivals.next();
                    debug_assert_eq!(due.map(|(index, _)| index), Some(prepared.index));
                }
                Share::Slots(_) => {
                    self.free_slots.pop_front();
                }
            }
            let phase = if self.task.is_measured(intended) { Phase::Measured } else { Phase::WarmUp };
            if std::mem::take(&mut self.held_back) && phase == Phase::Measured {
                self.task.counters.held_back.fetch_add(1, Ordering::AcqRel);
            }
            self.dispatch(&prepared, Dispatch { intended, dispatched: now, phase, reserved }, failures);
        }
    }

    /// `false` if the plan's cap on requests in flight is reached. Workers look without a lock, so that two of them may pass
    /// together; the cap is then exceeded by fewer requests than there are workers.
    fn has_room(&self) -> bool {
        self.task.max_in_flight.is_none_or(|most| self.task.counters.in_flight() < u64::from(most))
    }

    fn take_prepared(&mut self) -> Option<Prepared> {
        if self.next.is_none() {
            self.next = if W::WAITS_FOR_REQUESTS { self.prepared.recv().ok() } else { self.prepared.try_recv().ok() };
        }
        self.next.take()
    }

    fn dispatch(&mut self, prepared: &Prepared, times: Dispatch, failures: u32) {
        let counters = &self.task.counters;
        counters.dispatched.fetch_add(1, Ordering::AcqRel);
        counters.lag_max.fetch_max(times.dispatched.saturating_sub(times.intended).0, Ordering::Relaxed);
        if times.phase == Phase::Measured {
            counters.measured.fetch_add(1, Ordering::AcqRel);
        }
        let exchange = self.task.template.exchange(self.task.keep_text);
        let mut flight = Flight::new(prepared.index, &prepared.prompt, prepared.bytes.len(), exchange, times);
        self.open += 1;

        let place = match self.take_idle(times.dispatched) {
            Some(place) => {
                flight.reused = true;
                place
            }
            None => match self.connect() {
                Ok(place) => place,
                Err(failure) => {
                    let end = End::Broken(failure, self.world.now());
                    let milestones = Milestones { started: Some(times.dispatched), ..Milestones::default() };
                    self.settle(flight, end, failures, &Passage { milestones, ..Passage::default() });
                    return;
                }
            },
        };
        let link = self.links.get_mut(place).expect("invariant: the place was just filled");
        let sent = self.world.send(&mut link.connection, &prepared.bytes);
        let (look, _) = flight.deadline(link.connection.sent().is_some(), &self.task.time_limits);
        self.deadlines.plan(place, look);
        link.flight = Some(flight);
        link.slot_failures = failures;
        if let Err(failure) = sent {
            self.end_flight(place, End::Broken(failure, self.world.now()), false);
        }
    }

    /// The kept connection used last, if it has not been idle for too long.
    fn take_idle(&mut self, now: Nanos) -> Option<usize> {
        while let Some(place) = self.links.take_kept() {
            let Some(link) = self.links.get_mut(place) else { continue };
            if link.flight.is_some() {
                continue;
            }
            if now.saturating_sub(link.idle_since) <= IDLE_LIMIT {
                return Some(place);
            }
            self.close(place);
        }
        None
    }

    fn connect(&mut self) -> Result<usize, TransportFailure> {
        let place = self.links.reserve();
        match self.world.connect(&self.task.endpoint, place) {
            Ok(connection) => {
                let idle_since = self.world.now();
                self.links.fill(place, Link { connection, flight: None, slot_failures: 0, idle_since });
                Ok(place)
            }
            Err(failure) => {
                self.links.empty(place);
                Err(failure)
            }
        }
    }

    /// Looks at every connection whose time has come, and ends what has run out of it.
    fn expire(&mut self, now: Nanos) {
        while let Some(place) = self.deadlines.pop(now) {
            if self.overdue(place, now).is_none() {
                continue;
            }
            // This thread may be what is late: what has arrived by now counts.
            self.move_bytes(place, false);
            if let Some(end) = self.overdue(place, now) {
                self.end_flight(place, end, false);
            }
        }
    }

    /// How the request at a place is to be ended now, if it is; plans the next look if not.
    fn overdue(&mut self, place: usize, now: Nanos) -> Option<End> {
        let link = self.links.get_mut(place)?;
        let flight = link.flight.as_ref()?;
        let (at, overdue) = flight.deadline(link.connection.sent().is_some(), &self.task.time_limits);
        if at <= now {
            return Some(overdue.map_or(End::Answered, |limit| End::Overdue(limit, now)));
        }
        self.deadlines.plan(place, at);
        None
    }

    /// Lets one connection move what it can, and acts on what that brought.
    fn move_bytes(&mut self, place: usize, read_closed: bool) {
        let Some(link) = self.links.get_mut(place) else { return };
        let Link { connection, flight, .. } = link;
        let mut step = Step::More;
        let mut unasked = false;
        let result = self.world.advance(connection, read_closed, |at, bytes| match flight {
            Some(flight) => {
                step = flight.exchange.received(at, bytes);
                flight.last_piece = Some(at);
            }
            None => unasked = true,
        });
        let Some(flight) = flight else {
            if unasked || !matches!(result, Ok(Condition::Alive)) {
                self.links.forget(place);
                self.close(place);
            }
            return;
        };
        // A peer that says why it refuses has answered; it had not closed the connection before.
        let refused = matches!(&result, Err(failure) if failure.refused);
        if !refused && !matches!(result, Ok(Condition::Alive)) && is_stale(flight) {
            return self.send_afresh(place);
        }
        if !flight.first_token_told {
            if flight.exchange.point() == FailurePoint::Stream {
                flight.first_token_told = true;
                let waited = flight.last_piece.unwrap_or_default().saturating_sub(flight.intended);
                self.task.counters.tell_first_token(waited);
            }
            // Another limit counts now: connected, or streaming. Later pieces only put it off, which the look itself sees.
            let (look, _) = flight.deadline(connection.sent().is_some(), &self.task.time_limits);
            self.deadlines.plan(place, look);
        }
        match result {
            Ok(Condition::Alive) => self.after_bytes(place, step),
            Ok(Condition::Closed(at)) => {
                flight.exchange.closed(at);
                self.end_flight(place, End::Answered, false);
            }
            Err(failure) => {
                let at = self.world.now();
                // A server may answer in full and reset instead of closing: nothing of the answer is missing then.
                let is_whole = step == Step::Done || flight.exchange.has_terminal_sign();
                if is_whole {
                    flight.exchange.closed(at);
                }
                self.end_flight(place, if is_whole { End::Answered } else { End::Broken(failure, at) }, false);
            }
        }
    }

    /// Sends the request of a stale connection once more, on a new one in the same place.
    fn send_afresh(&mut self, place: usize) {
        let Some(link) = self.links.get_mut(place) else { return };
        let request = link.connection.take_request();
        self.world.release(&mut link.connection);
        if let Some(flight) = &mut link.flight {
            flight.reused = false;
            flight.stale = true;
            let (look, _) = flight.deadline(false, &self.task.time_limits);
            self.deadlines.plan(place, look);
        }
        let opened = self.world.connect(&self.task.endpoint, place).and_then(|mut connection| {
            self.world.send(&mut connection, &request)?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => link.connection = connection,
            Err(failure) => self.end_flight(place, End::Broken(failure, self.world.now()), false),
        }
    }

    fn after_bytes(&mut self, place: usize, step: Step) {
        if step != Step::Done {
            return;
        }
        let Some(link) = self.links.get_mut(place) else { return };
        let Some(flight) = &mut link.flight else { return };
        if flight.exchange.is_framed() || !self.task.keep_alive {
            // A server may answer before it has read the whole request; the rest of that one would come next.
            let reusable =
                self.task.keep_alive && flight.exchange.connection_reusable() && link.connection.request_written();
            self.end_flight(place, End::Answered, reusable);
        } else if flight.lingers_until.is_none() {
            let until = self.world.now() + LINGER;
            flight.lingers_until = Some(until);
            self.deadlines.plan(place, until);
        }
    }

    /// Ends the request on a connection, keeps or closes the connection, and frees the closed-loop slot.
    fn end_flight(&mut self, place: usize, end: End, keep: bool) {
        let Some(link) = self.links.get_mut(place) else { return };
        let Some(flight) = link.flight.take() else { return };
        let connection = &link.connection;
        let passage = Passage {
            milestones: connection.milestones(),
            sent: connection.sent(),
            written: connection.written(),
            delay: connection.read_delay(),
        };
        let failures = link.slot_failures;
        link.idle_since = self.world.now();
        if keep {
            self.links.keep(place);
        } else {
            self.close(place);
        }
        self.settle(flight, end, failures, &passage);
    }

    fn settle(&mut self, flight: Flight, end: End, failures: u32, passage: &Passage) {
        let now = self.world.now();
        let task = self.task;
        let (measured, reserved) = (flight.phase == Phase::Measured, flight.reserved);
        let (untold, intended) = (!flight.first_token_told, flight.intended);
        let finished = flight.finish(task.point, end, passage, task.template.secrets());
        let record = &finished.record;
        let failed = match &record.outcome {
            Outcome::Failed(failure) => Some(failure.kind),
            Outcome::Ok | Outcome::Cut => None,
        };
        self.open -= 1;
        let counters = &task.counters;
        if measured && record.outcome != Outcome::Cut {
            counters.samples.fetch_add(1, Ordering::AcqRel);
        }
        if measured && failed == Some(FailureKind::Client) {
            counters.dropped.fetch_add(1, Ordering::AcqRel);
        }
        if failed.is_some() {
            counters.failed.fetch_add(1, Ordering::AcqRel);
        }
        if record.outcome.is_ok() {
            let ended = record.closed.unwrap_or(now);
            if ended >= task.window_start && ended < task.window_end() {
                counters.completed.fetch_add(1, Ordering::AcqRel);
            }
            if untold {
                // Without a stream the answer is its own first token.
                counters.tell_first_token(ended.saturating_sub(intended));
            }
        }
        task.account.settle(task.platform, reserved, record);
        counters.ended.fetch_add(1, Ordering::AcqRel);
        self.journal.record(finished);
        if matches!(self.share, Share::Slots(_)) {
            let slot = next_slot(now, failed.is_some(), failures);
            let after = self.free_slots.partition_point(|other| other.at <= slot.at);
            self.free_slots.insert(after, slot);
        }
    }

    fn close(&mut self, place: usize) {
        if let Some(mut link) = self.links.empty(place) {
            self.world.release(&mut link.connection);
        }
    }

    fn cut_all(&mut self) {
        for place in 0..self.links.len() {
            let Some(link) = self.links.get_mut(place) else { continue };
            let lingering = link.flight.as_ref().is_some_and(|flight| flight.lingers_until.is_some());
            self.end_flight(place, if lingering { End::Answered } else { End::Cut }, false);
        }
    }

    fn unsent(&mut self) -> u64 {
        let Share::Arrivals(arrivals) = &mut self.share else { return 0 };
        let window_end = self.task.window_end();
        let left = arrivals.take_while(|(_, at)| *at < window_end);
        left.filter(|(_, at)| self.task.is_measured(*at)).count() as u64
    }
}

/// `true` if a kept connection that breaks now had been closed by the server before a byte of its answer, perhaps while the
/// request was under way. HTTP lets a client send such a request again (RFC 9112, section 9.3.1), and a healthy server would
/// otherwise look faulty; on a new connection the same end is a failure.
fn is_stale(flight: &Flight) -> bool {
    flight.reused && flight.exchange.point() == FailurePoint::Wait
}

/// When a closed-loop slot may send again: at once after an answer, after a pause after a failure.
fn next_slot(now: Nanos, failed: bool, failures: u32) -> FreeSlot {
    if !failed {
        return FreeSlot { at: now, failures: 0 };
    }
    let failures = failures.saturating_add(1);
    let pause = Nanos(FAILURE_PAUSE.0.saturating_mul(u64::from(failures))).min(FAILURE_PAUSE_MAX);
    FreeSlot { at: now + pause, failures }
}
