//! What one worker sends of a point: its arrivals, one at a time, or its slots.

use kneepoint_model::Nanos;

/// What one worker sends.
#[derive(Debug)]
pub(crate) enum Share {
    /// Open loop.
    Arrivals(Upcoming),
    /// Closed loop: so many slots.
    Slots(u32),
}

/// The arrivals of one worker, index and intended instant, ascending; made one at a time, so that their number costs no
/// memory.
pub(crate) struct Upcoming {
    next: Option<(u64, Nanos)>,
    rest: Box<dyn Iterator<Item = (u64, Nanos)> + Send>,
}

impl Upcoming {
    pub(crate) fn new(mut arrivals: impl Iterator<Item = (u64, Nanos)> + Send + 'static) -> Self {
        Self { next: arrivals.next(), rest: Box::new(arrivals) }
    }

    /// The next one, still to come.
    pub(crate) fn peek(&self) -> Option<(u64, Nanos)> {
        self.next
    }

    /// Takes the next one.
    pub(crate) fn take(&mut self) -> Option<(u64, Nanos)> {
        std::mem::replace(&mut self.next, self.rest.next())
    }
}

impl std::fmt::Debug for Upcoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upcoming").field("next", &self.next).finish_non_exhaustive()
    }
}
