//! How a run is told to stop: once to drain, twice to stop at once.

use std::sync::atomic::{AtomicU8, Ordering};

/// Shared between whoever listens for signals and everything that must heed them.
#[derive(Debug, Default)]
pub struct StopSignal(AtomicU8);

/// What has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Nothing.
    No,
    /// Send nothing more; let open requests finish within the drain.
    Drain,
    /// Cut open requests and return.
    Now,
}

impl StopSignal {
    /// One request to stop; the second one is final.
    pub fn request(&self) {
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| Some(n.saturating_add(1)));
    }

    /// What has been asked so far.
    pub fn asked(&self) -> Stop {
        match self.0.load(Ordering::Acquire) {
            0 => Stop::No,
            1 => Stop::Drain,
            _ => Stop::Now,
        }
    }
}
