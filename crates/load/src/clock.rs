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

/// How long a reading of the offset between the two clocks is used before it is taken anew. The clocks run at one speed;
/// only a step of the real-time clock moves them apart.
const OFFSET_LIFE: Nanos = Nanos::from_millis(50);
/// A kernel stamp further back than this comes from before a step of the real-time clock.
const OLDEST_ARRIVAL: Nanos = Nanos::from_secs(10);
/// Readings tried for one offset; the tightest is used.
const OFFSET_TRIES: usize = 3;

/// Brings the kernel's stamps, which are on the real-time clock, onto the run's monotonic clock. One a thread.
#[derive(Debug)]
pub(crate) struct KernelClock {
    clock: Clock,
    offset: Cell<Offset>,
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
        Self { clock, offset: Cell::new(read_offset(clock)), largest_error: Cell::new(None) }
    }

    /// Largest error of an offset that was used; `None` if none was.
    pub(crate) fn largest_error(&self) -> Option<Nanos> {
        self.largest_error.get()
    }

    fn offset(&self, now: Nanos) -> Offset {
        let known = self.offset.get();
        if now.saturating_sub(known.read) < OFFSET_LIFE {
            return known;
        }
        let fresh = read_offset(self.clock);
        self.offset.set(fresh);
        fresh
    }
}

impl ArrivalClock for KernelClock {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn arrival(&self, kernel: Nanos) -> Option<Nanos> {
        let now = self.clock.now();
        let offset = self.offset(now);
        let arrival = Nanos(kernel.0.checked_sub(offset.nanos)?);
        // A packet cannot arrive after it was read; within the reading's error the two are the same moment.
        let is_plausible = arrival <= now + offset.error && now.saturating_sub(arrival) < OLDEST_ARRIVAL;
        if !is_plausible {
            return None;
        }
        self.largest_error.set(self.largest_error.get().max(Some(offset.error)));
        Some(arrival.min(now))
    }
}

fn read_offset(clock: Clock) -> Offset {
    let readings = (0..OFFSET_TRIES).map(|_| {
        let before = clock.now();
        let real = clock_gettime(ClockId::Realtime);
        let after = clock.now();
        let real = u64::try_from(real.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(real.tv_nsec).unwrap_or(0);
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
            let real = clock_gettime(ClockId::Realtime);
            let after = clock.now();
            let real =
                Nanos(u64::try_from(real.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(real.tv_nsec).unwrap());
            let mapped = clock.arrival(real).expect("plausible");
            let slack = Nanos(100_000);
            assert!(mapped + slack >= before && mapped <= after + slack, "{before} {mapped} {after}");
        }
    }

    #[test]
    fn a_stamp_from_another_time_is_not_used() {
        let clock = KernelClock::new(Clock::start());
        let now = clock_gettime(ClockId::Realtime);
        let now = u64::try_from(now.tv_sec).unwrap() * 1_000_000_000;
        assert_eq!(clock.arrival(Nanos(now + 3_600_000_000_000)), None);
        assert_eq!(clock.arrival(Nanos(now - 3_600_000_000_000)), None);
        assert_eq!(clock.arrival(Nanos(1)), None);
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let clock = Clock::start();
        let readings: Vec<Nanos> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }
}
