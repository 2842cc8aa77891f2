//! The server's one clock. Everything else gets instants from here.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kneepoint_model::Nanos;

/// Nanoseconds since the server started, on the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock module of the simulator")]
    pub(super) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock module of the simulator")]
    pub(super) fn now(&self) -> Nanos {
        Instant::now().duration_since(self.origin).into()
    }
}

/// Seconds since the Unix epoch, for the `created` field of answers only.
#[expect(clippy::disallowed_methods, reason = "this is the clock module of the simulator; the value is a label")]
pub(super) fn unix_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
