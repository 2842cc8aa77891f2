//! The one clock: nanoseconds since the start of the run, and the wall-clock label of that start.
//!
//! Everything that is a duration comes from the monotonic clock; wall-clock time only names a bundle.

use std::cell::Cell;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kneepoint_model::Nanos;
use kneepoint_wire::transport::ArrivalClock;
use rustix::time::{ClockId, clock_gettime};

/// The run's monotonic clock. Cheap to copy; every copy shows the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    Since(Instant),
    Virtual(&'static dyn Time),
}

/// Time that somebody else moves on: virtual time, in which hours pass in seconds.
pub trait Time: std::fmt::Debug + Sync {
    /// Since the start of the run.
    fn now(&self) -> Nanos;

    /// Returns once `span` has passed.
    fn sleep(&self, span: Nanos);
}

impl Clock {
    /// Starts the clock: now is 0.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    pub fn start() -> Self {
        Self(Source::Since(Instant::now()))
    }

    /// A clock that shows a time of its own.
    pub fn of(time: &'static dyn Time) -> Self {
        Self(Source::Virtual(time))
    }

    /// Time since the start of the run.
    pub fn now(self) -> Nanos {
        match self.0 {
            Source::Since(origin) => origin.elapsed().into(),
            Source::Virtual(time) => time.now(),
        }
    }

    /// Sleeps for at least `span`.
    pub(crate) fn sleep(self, span: Nanos) {
        match self.0 {
            Source::Since(_) => std::thread::sleep(span.into()),
            Source::Virtual(time) => time.sleep(span),
        }
    }
}

/// How long a reading of the offset between the two clocks is used before it is taken anew: while nobody sets the real-time
/// clock, they run apart by a two-thousandth at most, which is 25 µs in this time.
const OFFSET_LIFE: Nanos = Nanos::from_millis(50);
/// The clocks are this much further apart than they were only where one was set.
const STEP: Nanos = Nanos(100_000);
/// A kernel stamp further back than this is no packet's of this connection.
const OLDEST_ARRIVAL: Nanos = Nanos::from_secs(10);
/// Readings tried for one offset; the tightest is used.
const OFFSET_TRIES: usize = 3;

/// Brings the kernel's stamps, which are on the real-time clock, onto the run's monotonic clock. One a thread.
///
/// Whoever sets the real-time clock during a run (NTP does) moves no latency: the step is seen at the next stamp, and what
/// was stamped before it was seen has no mapping and is stamped by its reader.
#[derive(Debug)]
pub(crate) struct KernelClock {
    clock: Clock,
    real_time: fn() -> u64,
    offset: Cell<Offset>,
    /// Nothing stamped before this instant can be mapped.
    set_at: Cell<Nanos>,
    largest_error: Cell<Option<Nanos>>,
}

/// Real time − monotonic time, as read at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Offset {
    nanos: u64,
    read: Nanos,
    /// Half of what the reading took: the two clocks may be so far off.
    error: Nanos,
}

impl KernelClock {
    pub(crate) fn new(clock: Clock) -> Self {
        Self::with(clock, real_time)
    }

    fn with(clock: Clock, real_time: fn() -> u64) -> Self {
        let offset = Cell::new(read_offset(clock, real_time, OFFSET_TRIES));
        Self { clock, real_time, offset, set_at: Cell::new(Nanos::ZERO), largest_error: Cell::new(None) }
    }

    /// Largest error of an offset that was used; `None` if none was.
    pub(crate) fn largest_error(&self) -> Option<Nanos> {
        self.largest_error.get()
    }

    /// The offset that holds now.
    fn offset(&self) -> Offset {
        let known = self.offset.get();
        let glance = read_offset(self.clock, self.real_time, 1);
        // A thread that lost its core between the two readings sees a difference as well; it is as large as its error.
        if glance.differs(known) {
            let fresh = read_offset(self.clock, self.real_time, OFFSET_TRIES);
            if fresh.differs(known) {
                self.set_at.set(fresh.read);
            }
            self.offset.set(fresh);
        } else if glance.read.saturating_sub(known.read) >= OFFSET_LIFE {
            self.offset.set(read_offset(self.clock, self.real_time, OFFSET_TRIES));
        }
        self.offset.get()
    }
}

impl Offset {
    /// `true` if the clocks are further apart, or less, than running explains.
    fn differs(self, known: Self) -> bool {
        // Over a long silence they run apart by more than in a reading's life.
        let drift = self.read.saturating_sub(known.read).0 / 2000;
        self.nanos.abs_diff(known.nanos) > STEP.0 + drift + self.error.0 + known.error.0
    }
}

impl ArrivalClock for KernelClock {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn arrival(&self, kernel: Nanos) -> Option<Nanos> {
        let offset = self.offset();
        let now = self.clock.now();
        let arrival = Nanos(kernel.0.checked_sub(offset.nanos)?);
        // A packet cannot arrive after it was read; within the reading's error the two are the same moment.
        let is_plausible = arrival <= now + offset.error
            && now.saturating_sub(arrival) < OLDEST_ARRIVAL
            && arrival >= self.set_at.get();
        if !is_plausible {
            return None;
        }
        self.largest_error.set(self.largest_error.get().max(Some(offset.error)));
        Some(arrival.min(now))
    }
}

/// Nanoseconds since the Unix epoch.
fn real_time() -> u64 {
    let real = clock_gettime(ClockId::Realtime);
    u64::try_from(real.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(real.tv_nsec).unwrap_or(0)
}

fn read_offset(clock: Clock, real_time: fn() -> u64, tries: usize) -> Offset {
    let readings = (0..tries).map(|_| {
        let before = clock.now();
        let real = real_time();
        let after = clock.now();
        let middle = before.0.midpoint(after.0);
        Offset { nanos: real.saturating_sub(middle), read: after, error: Nanos((after.0 - before.0).div_ceil(2)) }
    });
    readings.min_by_key(|offset| offset.error).unwrap_or_default()
}

/// The wall-clock time, as a label: seconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "a label for people, read once a run")]
pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// A wall-clock label as UTC, RFC 3339, whole seconds: `2026-11-30T08:15:00Z`.
pub fn rfc3339(unix_seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; a label past the range is refused below")]
    let whole = unix_seconds as i64;
    jiff::Timestamp::from_second(whole).map_or_else(|_| String::from("unknown"), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_utc() {
        assert_eq!(rfc3339(1_795_939_200.9), "2026-11-29T08:00:00Z");
    }

    #[test]
    fn a_kernel_stamp_lands_where_it_was_taken() {
        let clock = KernelClock::new(Clock::start());
        for _ in 0..100 {
            let before = clock.now();
            let real = Nanos(real_time());
            let after = clock.now();
            let mapped = clock.arrival(real).expect("plausible");
            let slack = Nanos(100_000);
            assert!(mapped + slack >= before && mapped <= after + slack, "{before} {mapped} {after}");
        }
    }

    #[test]
    fn a_stamp_from_another_time_is_not_used() {
        let clock = KernelClock::new(Clock::start());
        let now = real_time();
        assert_eq!(clock.arrival(Nanos(now + 3_600_000_000_000)), None);
        assert_eq!(clock.arrival(Nanos(now - 3_600_000_000_000)), None);
        assert_eq!(clock.arrival(Nanos(1)), None);
    }

    thread_local! {
        /// How far the real-time clock has been set, ns.
        static SET: Cell<i64> = const { Cell::new(0) };
    }

    fn set_time() -> u64 {
        real_time().saturating_add_signed(SET.get())
    }

    /// Steps of milliseconds to hours, either way: a stamp from before a step has no instant, one from after it the right one.
    #[test]
    fn setting_the_clock_moves_no_arrival() {
        for step in [-3_600_000_000_000, -2_000_000_000, -5_000_000, 5_000_000, 2_000_000_000, 3_600_000_000_000] {
            SET.set(0);
            let clock = KernelClock::with(Clock::start(), set_time);
            // So that no stamp lies before the start of the run.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let stamped_before = Nanos(set_time());
            assert!(clock.arrival(stamped_before).is_some());
            SET.set(step);
            assert_eq!(clock.arrival(stamped_before), None, "step {step}");
            for _ in 0..3 {
                let before = clock.now();
                let stamp = Nanos(set_time());
                let mapped = clock.arrival(stamp).expect("from after the step");
                assert!(mapped + Nanos(1_000_000) >= before && mapped <= clock.now(), "step {step}: {before} {mapped}");
            }
        }
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let clock = Clock::start();
        let readings: Vec<Nanos> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }
}
