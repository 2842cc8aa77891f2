//! How answers travel, as a profile configures it.

use kneepoint_model::Nanos;

/// How answers travel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Route {
    /// Added to everything on the way to the client: both directions of the network.
    pub(crate) rtt: Nanos,
    /// Added on top, evenly distributed from zero to this.
    pub(crate) jitter: Nanos,
    /// Share of answers that pause once, before a token drawn evenly among theirs.
    pub(crate) pause_share: f64,
    /// Mean of the pause, exponentially distributed.
    pub(crate) pause_mean: Nanos,
    /// Tokens an event carries; at least 1.
    pub(crate) tokens_per_event: u64,
    /// Tokens are held back until the first of them is this old: pseudo-streaming.
    pub(crate) hold: Nanos,
    /// Faults and their shares of all requests.
    pub(crate) faults: Faults,
}

/// Share of requests that meet each fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Faults {
    pub(crate) http_500: f64,
    pub(crate) http_503: f64,
    pub(crate) reset: f64,
    pub(crate) close: f64,
    pub(crate) truncate: f64,
    pub(crate) stall: f64,
    pub(crate) error_event: f64,
}

impl Faults {
    /// Share of requests that meet any.
    pub(crate) fn total(&self) -> f64 {
        self.http_500 + self.http_503 + self.reset + self.close + self.truncate + self.stall + self.error_event
    }
}
