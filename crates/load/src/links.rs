//! The connections of one driver, by place, and which of them are idle.

use kneepoint_model::Nanos;

use crate::flight::Flight;

/// A connection and the request on it.
#[derive(Debug)]
pub(crate) struct Link<C> {
    pub(crate) connection: C,
    pub(crate) flight: Option<Flight>,
    /// Failures in a row on the closed-loop slot the flight belongs to.
    pub(crate) slot_failures: u32,
    pub(crate) idle_since: Nanos,
}

/// All connections of a driver.
#[derive(Debug)]
pub(crate) struct Links<C> {
    places: Vec<Option<Link<C>>>,
    vacant: Vec<usize>,
    idle: Vec<usize>,
}

impl<C> Links<C> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), vacant: Vec::new(), idle: Vec::new() }
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Link<C>> {
        self.places.get_mut(place)?.as_mut()
    }

    /// A free place, to be filled by [`Links::fill`] or given back by [`Links::empty`].
    pub(crate) fn reserve(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        })
    }

    pub(crate) fn fill(&mut self, place: usize, link: Link<C>) {
        self.places[place] = Some(link);
    }

    /// Makes a place free; gives what was there.
    pub(crate) fn empty(&mut self, place: usize) -> Option<Link<C>> {
        self.vacant.push(place);
        self.places[place].take()
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(&mut self, place: usize) {
        self.idle.push(place);
    }

    /// The connection kept last.
    pub(crate) fn take_kept(&mut self) -> Option<usize> {
        self.idle.pop()
    }

    /// Forgets that a connection was kept.
    pub(crate) fn forget(&mut self, place: usize) {
        self.idle.retain(|kept| *kept != place);
    }
}
