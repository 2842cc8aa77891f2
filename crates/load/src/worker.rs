//! The driver: one thread, one poll, and every request of its share of a point, open or closed loop alike.
//!
//! The thread waits for sockets and for the schedule in one call. It dispatches what is due, stamps what arrives,
//! and hands finished requests to the journal; it never waits for anything else, so a slow server, a slow disk or a
//! slow prompt cannot move a time stamp.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use kneepoint_model::record::{Outcome, Phase};
use kneepoint_model::{FailureKind, FailurePoint, Nanos};
use kneepoint_wire::exchange::Step;
use kneepoint_wire::transport::{ArrivalClock, Condition, Milestones, ReadBuffer, Transport, TransportFailure};
use mio::{Events, Interest, Poll, Token};

use crate::alarm::Alarm;
use crate::clock::{Clock, KernelClock};
use crate::flight::{Dispatch, End, Flight, Passage};
use crate::host::{raise_thread_priority, thread_cpu, thread_waited};
use crate::journal::JournalSender;
use crate::stop::Stop;
use crate::task::{PointTask, Prepared, Share};

/// One read takes at most this much.
const READ_BUFFER: usize = 64 * 1024;
/// Longest sleep: how late a stop request may be noticed.
const HEARTBEAT: Nanos = Nanos::from_millis(50);
/// How soon to look again for a prompt that is due but not ready.
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

const ALARM: Token = Token(usize::MAX);

/// What a worker says at the end of a point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerReport {
    /// CPU time ÷ wall time over the window.
    pub(crate) cpu_share: Option<f64>,
    /// Time spent waiting for a processor ÷ wall time over the window.
    pub(crate) wait_share: Option<f64>,
    /// Arrivals in the window that were never dispatched.
    pub(crate) unsent: u64,
    /// `true` if the run was stopped before the window ended.
    pub(crate) interrupted: bool,
}

/// A closed-loop slot waiting for its next request.
#[derive(Clone, Copy, Debug)]
struct FreeSlot {
    at: Nanos,
    failures: u32,
}

#[derive(Debug)]
struct Link {
    transport: Transport,
    flight: Option<Flight>,
    /// Failures in a row on the closed-loop slot the flight belongs to.
    slot_failures: u32,
    generation: u64,
    idle_since: Nanos,
}

pub(crate) struct Worker<'a> {
    task: &'a PointTask,
    clock: KernelClock,
    journal: JournalSender,
    prepared: Receiver<Prepared>,
    next: Option<Prepared>,
    share: Share,
    free_slots: VecDeque<FreeSlot>,
    poll: Poll,
    alarm: Alarm,
    buffer: ReadBuffer,
    links: Vec<Option<Link>>,
    vacant: Vec<usize>,
    idle: Vec<usize>,
    /// Deadlines in the order of dispatch; all requests of a point have the same limit, so this is the order of time.
    deadlines: VecDeque<(Nanos, usize, u64)>,
    lingering: VecDeque<(Nanos, usize, u64)>,
    open: usize,
    generation: u64,
    interrupted: bool,
    cpu_window: CpuWindow,
}

/// What the thread had used and waited for at the edges of the measured window.
#[derive(Clone, Copy, Debug, Default)]
struct CpuWindow {
    start: Option<CpuSample>,
    end: Option<CpuSample>,
}

#[derive(Clone, Copy, Debug)]
struct CpuSample {
    at: Nanos,
    used: Nanos,
    waited: Option<Nanos>,
}

impl CpuSample {
    fn take(at: Nanos) -> Self {
        Self { at, used: thread_cpu(), waited: thread_waited() }
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        task: &'a PointTask,
        clock: Clock,
        journal: JournalSender,
        prepared: Receiver<Prepared>,
        share: Share,
    ) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        let alarm = Alarm::register(poll.registry(), ALARM)?;
        let free_slots = match &share {
            Share::Arrivals(_) => VecDeque::new(),
            Share::Slots(n) => (0..*n).map(|_| FreeSlot { at: task.started, failures: 0 }).collect(),
        };
        Ok(Self {
            task,
            clock: KernelClock::new(clock),
            journal,
            prepared,
            next: None,
            share,
            free_slots,
            poll,
            alarm,
            buffer: ReadBuffer::new(READ_BUFFER),
            links: Vec::new(),
            vacant: Vec::new(),
            idle: Vec::new(),
            deadlines: VecDeque::new(),
            lingering: VecDeque::new(),
            open: 0,
            generation: 0,
            interrupted: false,
            cpu_window: CpuWindow::default(),
        })
    }

    /// Sends this worker's share of the point and returns when its last request has ended or was cut.
    pub(crate) fn run(mut self) -> std::io::Result<WorkerReport> {
        raise_thread_priority();
        let mut events = Events::with_capacity(1024);
        loop {
            let now = self.clock.now();
            self.heed_stop(now);
            let wake = self.dispatch_due(now);
            let now = self.clock.now();
            self.expire(now);
            self.sample_cpu(now);
            let window_end = self.task.window_end();
            let sending =
                now < window_end || (!self.interrupted && self.task.min_samples.is_some() && self.task.may_start(now));
            if !sending {
                let deadline = window_end + self.task.drain;
                if self.open == 0 {
                    break;
                }
                if now >= deadline || self.task.stop.asked() == Stop::Now {
                    self.cut_all();
                    break;
                }
            }
            self.wait(&mut events, wake, now)?;
            self.handle(&events);
        }
        let (cpu_share, wait_share) = self.cpu_shares();
        Ok(WorkerReport { cpu_share, wait_share, unsent: self.unsent(), interrupted: self.interrupted })
    }

    fn heed_stop(&mut self, now: Nanos) {
        if !self.interrupted && self.task.stop.asked() != Stop::No && now < self.task.window_end() {
            self.interrupted = true;
            self.task.end_window_at(now);
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
                Share::Slots(_) => !self.interrupted && self.task.may_start(now),
            };
            if !allowed {
                return None;
            }
            let Some(prepared) = self.take_prepared() else { return Some(now + STARVED_RETRY) };
            match &mut self.share {
                Share::Arrivals(arrivals) => {
                    let due = arrivals.next();
                    debug_assert_eq!(due.map(|(index, _)| index), Some(prepared.index));
                }
                Share::Slots(_) => {
                    self.free_slots.pop_front();
                }
            }
            now = self.clock.now();
            self.dispatch(&prepared, intended, now, failures);
        }
    }

    fn take_prepared(&mut self) -> Option<Prepared> {
        if self.next.is_none() {
            match self.prepared.try_recv() {
                Ok(prepared) => self.next = Some(prepared),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
            }
        }
        self.next.take()
    }

    fn dispatch(&mut self, prepared: &Prepared, intended: Nanos, dispatched: Nanos, failures: u32) {
        let counters = &self.task.counters;
        counters.dispatched.fetch_add(1, Ordering::AcqRel);
        counters.lag_max.fetch_max(dispatched.saturating_sub(intended).0, Ordering::Relaxed);
        let phase = if self.task.is_measured(intended) { Phase::Measured } else { Phase::WarmUp };
        if phase == Phase::Measured {
            counters.measured.fetch_add(1, Ordering::AcqRel);
        }
        let exchange = self.task.template.exchange(self.task.keep_text);
        let times = Dispatch { intended, dispatched, phase };
        let mut flight = Flight::new(prepared.index, &prepared.prompt, prepared.bytes.len(), exchange, times);
        self.open += 1;

        let place = match self.take_idle(dispatched) {
            Some(place) => {
                flight.reused = true;
                place
            }
            None => match self.connect() {
                Ok(place) => place,
                Err(failure) => {
                    let end = End::Broken(failure, self.clock.now());
                    let milestones = Milestones { started: Some(dispatched), ..Milestones::default() };
                    self.settle(flight, end, failures, &Passage { milestones, ..Passage::default() });
                    return;
                }
            },
        };
        self.generation += 1;
        let generation = self.generation;
        let link = self.links[place].as_mut().expect("invariant: the place was just filled");
        link.flight = Some(flight);
        link.slot_failures = failures;
        link.generation = generation;
        self.deadlines.push_back((dispatched + self.task.request_timeout, place, generation));
        if let Err(failure) = link.transport.send(&prepared.bytes, &self.clock) {
            self.end_flight(place, End::Broken(failure, self.clock.now()), false);
        }
    }

    /// The kept connection used last, if it has not been idle for too long.
    fn take_idle(&mut self, now: Nanos) -> Option<usize> {
        while let Some(place) = self.idle.pop() {
            let Some(link) = self.links[place].as_ref() else { continue };
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
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.links.push(None);
            self.links.len() - 1
        });
        let transport = match self.open_transport(place) {
            Ok(transport) => transport,
            Err(failure) => {
                self.vacant.push(place);
                return Err(failure);
            }
        };
        let idle_since = self.clock.now();
        self.links[place] = Some(Link { transport, flight: None, slot_failures: 0, generation: 0, idle_since });
        Ok(place)
    }

    /// Begins a connection whose events carry `place`.
    fn open_transport(&self, place: usize) -> Result<Transport, TransportFailure> {
        let mut transport = Transport::connect(&self.task.endpoint, &self.clock)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self.poll.registry().register(transport.socket(), Token(place), interest) {
            Ok(()) => Ok(transport),
            Err(error) => Err(kneepoint_wire::transport::connect_failure(&error)),
        }
    }

    /// Ends what has run out of time: requests, and answers whose framing never completed.
    fn expire(&mut self, now: Nanos) {
        while let Some(&(at, place, generation)) = self.deadlines.front() {
            if at > now {
                break;
            }
            self.deadlines.pop_front();
            if self.is_current(place, generation) {
                let lingering = self.flight(place).is_some_and(|flight| flight.lingers_until.is_some());
                let end = if lingering { End::Answered } else { End::TimedOut(now) };
                self.end_flight(place, end, false);
            }
        }
        while let Some(&(at, place, generation)) = self.lingering.front() {
            if at > now {
                break;
            }
            self.lingering.pop_front();
            if self.is_current(place, generation) {
                self.end_flight(place, End::Answered, false);
            }
        }
        // Ended requests leave their deadlines behind; without this a long timeout would hold one entry a request.
        while let Some(&(_, place, generation)) = self.deadlines.front() {
            if self.is_current(place, generation) {
                break;
            }
            self.deadlines.pop_front();
        }
    }

    fn is_current(&self, place: usize, generation: u64) -> bool {
        self.links[place].as_ref().is_some_and(|link| link.generation == generation && link.flight.is_some())
    }

    fn flight(&self, place: usize) -> Option<&Flight> {
        self.links[place].as_ref()?.flight.as_ref()
    }

    fn wait(&mut self, events: &mut Events, dispatch: Option<Nanos>, now: Nanos) -> std::io::Result<()> {
        let coarse = [
            self.deadlines.front().map(|entry| entry.0),
            self.lingering.front().map(|entry| entry.0),
            Some(now + HEARTBEAT),
        ];
        let window_edge = [self.task.window_start, self.task.window_end()].into_iter().find(|edge| *edge > now);
        let coarse = coarse.into_iter().flatten().chain(window_edge).min().unwrap_or(now);
        let mut timeout = coarse.saturating_sub(now);
        if let Some(dispatch) = dispatch {
            if Alarm::IS_FINE && dispatch.saturating_sub(now) <= HEARTBEAT {
                self.alarm.set(dispatch, now)?;
            } else {
                timeout = timeout.min(dispatch.saturating_sub(now));
            }
        }
        match self.poll.poll(events, Some(Duration::from(timeout))) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => Err(error),
            Err(_) => {
                events.clear();
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn handle(&mut self, events: &Events) {
        for event in events {
            if event.token() == ALARM {
                self.alarm.rang();
            } else {
                self.move_bytes(event.token().0, event.is_read_closed() || event.is_error());
            }
        }
    }

    /// Lets one connection move what it can, and acts on what that brought.
    fn move_bytes(&mut self, place: usize, read_closed: bool) {
        let Some(link) = self.links.get_mut(place).and_then(Option::as_mut) else { return };
        let Link { transport, flight, .. } = link;
        let mut step = Step::More;
        let mut unasked = false;
        let result = transport.ready(read_closed, &mut self.buffer, &self.clock, |at, bytes| match flight {
            Some(flight) => step = flight.exchange.received(at, bytes),
            None => unasked = true,
        });
        if link.flight.is_none() {
            if unasked || !matches!(result, Ok(Condition::Alive)) {
                self.idle.retain(|kept| *kept != place);
                self.close(place);
            }
            return;
        }
        if !matches!(result, Ok(Condition::Alive)) && is_stale(link) {
            return self.send_afresh(place);
        }
        match result {
            Ok(Condition::Alive) => self.after_bytes(place, step),
            Ok(Condition::Closed(at)) => {
                if let Some(flight) = &mut link.flight {
                    flight.exchange.closed(at);
                }
                self.end_flight(place, End::Answered, false);
            }
            Err(failure) => {
                let at = self.clock.now();
                let Some(flight) = &mut link.flight else { return };
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
        let Some(link) = self.links[place].as_mut() else { return };
        let request = link.transport.take_request();
        let _ = self.poll.registry().deregister(link.transport.socket());
        let opened = self.open_transport(place).and_then(|mut transport| {
            transport.send(&request, &self.clock)?;
            Ok(transport)
        });
        let Some(link) = self.links[place].as_mut() else { return };
        if let Some(flight) = &mut link.flight {
            flight.reused = false;
            flight.stale = true;
        }
        match opened {
            Ok(transport) => link.transport = transport,
            Err(failure) => self.end_flight(place, End::Broken(failure, self.clock.now()), false),
        }
    }

    fn after_bytes(&mut self, place: usize, step: Step) {
        if step != Step::Done {
            return;
        }
        let Some(link) = self.links[place].as_mut() else { return };
        let generation = link.generation;
        let Some(flight) = &mut link.flight else { return };
        if flight.exchange.is_framed() || !self.task.keep_alive {
            // A server may answer before it has read the whole request; the rest of that one would come next.
            let reusable =
                self.task.keep_alive && flight.exchange.connection_reusable() && link.transport.request_written();
            self.end_flight(place, End::Answered, reusable);
        } else if flight.lingers_until.is_none() {
            let until = self.clock.now() + LINGER;
            flight.lingers_until = Some(until);
            self.lingering.push_back((until, place, generation));
        }
    }

    /// Ends the request on a connection, keeps or closes the connection, and frees the closed-loop slot.
    fn end_flight(&mut self, place: usize, end: End, keep: bool) {
        let Some(link) = self.links[place].as_mut() else { return };
        let Some(flight) = link.flight.take() else { return };
        let transport = &link.transport;
        let passage = Passage {
            milestones: transport.milestones(),
            sent: transport.sent(),
            written: transport.written(),
            delay: transport.read_delay(),
        };
        let failures = link.slot_failures;
        link.idle_since = self.clock.now();
        if keep {
            self.idle.push(place);
        } else {
            self.close(place);
        }
        self.settle(flight, end, failures, &passage);
    }

    fn settle(&mut self, flight: Flight, end: End, failures: u32, passage: &Passage) {
        let now = self.clock.now();
        let measured = flight.phase == Phase::Measured;
        let finished = flight.finish(self.task.point, end, passage, self.task.template.secrets());
        let failed = match &finished.record.outcome {
            Outcome::Failed(failure) => Some(failure.kind),
            Outcome::Ok | Outcome::Cut => None,
        };
        self.open -= 1;
        let counters = &self.task.counters;
        if measured && finished.record.outcome != Outcome::Cut {
            counters.samples.fetch_add(1, Ordering::AcqRel);
        }
        if measured && failed == Some(FailureKind::Client) {
            counters.dropped.fetch_add(1, Ordering::AcqRel);
        }
        if failed.is_some() {
            counters.failed.fetch_add(1, Ordering::AcqRel);
        }
        counters.ended.fetch_add(1, Ordering::AcqRel);
        self.journal.record(finished);
        if matches!(self.share, Share::Slots(_)) {
            let slot = next_slot(now, failed.is_some(), failures);
            let after = self.free_slots.partition_point(|other| other.at <= slot.at);
            self.free_slots.insert(after, slot);
        }
    }

    fn close(&mut self, place: usize) {
        if let Some(mut link) = self.links[place].take() {
            // Closing the descriptor would deregister it as well; an error here changes nothing.
            let _ = self.poll.registry().deregister(link.transport.socket());
            self.vacant.push(place);
        }
    }

    fn cut_all(&mut self) {
        for place in 0..self.links.len() {
            let lingering = self.flight(place).is_some_and(|flight| flight.lingers_until.is_some());
            self.end_flight(place, if lingering { End::Answered } else { End::Cut }, false);
        }
    }

    fn sample_cpu(&mut self, now: Nanos) {
        if self.cpu_window.start.is_none() && now >= self.task.window_start {
            self.cpu_window.start = Some(CpuSample::take(now));
        }
        if self.cpu_window.end.is_none() && now >= self.task.window_end() && self.cpu_window.start.is_some() {
            self.cpu_window.end = Some(CpuSample::take(now));
        }
    }

    /// CPU time and time spent waiting for a processor, each ÷ wall time.
    fn cpu_shares(&self) -> (Option<f64>, Option<f64>) {
        let Some(from) = self.cpu_window.start else { return (None, None) };
        let to = self.cpu_window.end.unwrap_or_else(|| CpuSample::take(self.clock.now()));
        let Some(wall) = to.at.since(from.at).filter(|wall| *wall > Nanos::ZERO) else { return (None, None) };
        let share = |span: Nanos| span.as_secs_f64() / wall.as_secs_f64();
        let waited = from.waited.zip(to.waited).map(|(from, to)| share(to.saturating_sub(from)));
        (Some(share(to.used.saturating_sub(from.used))), waited)
    }

    fn unsent(&mut self) -> u64 {
        let Share::Arrivals(arrivals) = &mut self.share else { return 0 };
        let window_end = self.task.window_end();
        let left = arrivals.take_while(|(_, at)| *at < window_end);
        left.filter(|(_, at)| self.task.is_measured(*at)).count() as u64
    }
}

/// `true` if a kept connection broke before a byte of its answer: the server had closed it, perhaps while the request was
/// under way. HTTP lets a client send such a request again (RFC 9112, section 9.3.1), and a healthy server would
/// otherwise look faulty; on a new connection the same end is a failure.
fn is_stale(link: &Link) -> bool {
    link.flight.as_ref().is_some_and(|flight| flight.reused && flight.exchange.point() == FailurePoint::Wait)
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
