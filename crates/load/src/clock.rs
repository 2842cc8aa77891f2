//! The one clock: nanoseconds since the start of the run, and the wall-clock label of that start.
//!
//! Everything that is a duration comes from the monotonic clock; wall-clock time only names a bundle.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kneepoint_model::Nanos;

/// The run's monotonic clock. Cheap to copy; every copy shows the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts the clock: now is 0.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Time since the start of the run.
    pub fn now(self) -> Nanos {
        self.origin.elapsed().into()
    }
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
    fn the_clock_never_runs_backwards() {
        let clock = Clock::start();
        let readings: Vec<Nanos> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }
}
