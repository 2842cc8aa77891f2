//! Fleet and deliveries together: requests in, things to put on the wire out, in order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use kneepoint_model::Nanos;

use super::delivery::{Delivery, FaultKind, Out};
use super::fleet::{Event, Fleet, FleetLoad, Refused, Request};
use super::route::Route;
use crate::engine::SequenceId;
use crate::profile::Profile;

/// Something that is due for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// The answer's head may go.
    Head,
    /// The request took part in a step that began at this instant (nothing to send).
    Admitted,
    /// Tokens `first..first + count`, counted from 1, in one event.
    Tokens {
        /// Index of the first.
        first: u64,
        /// How many.
        count: u64,
        /// `true` if no more come.
        last: bool,
        /// When the last of them left the engine.
        made: Nanos,
    },
    /// The answer goes wrong here; nothing follows.
    Fault(FaultKind),
}

/// A whole platform but for its clock.
#[derive(Debug)]
pub struct Pipeline {
    fleet: Fleet,
    route: Route,
    seed: u64,
    deliveries: HashMap<SequenceId, Delivery>,
    due: BinaryHeap<Reverse<(Nanos, u64, SequenceId, Item)>>,
    /// Keeps items of one instant in the order in which they arose.
    order: u64,
    events: Vec<Event>,
}

impl Pipeline {
    /// The platform of a profile at instant zero.
    pub fn new(profile: &Profile) -> Self {
        Self {
            fleet: profile.fleet(),
            route: profile.route,
            seed: profile.seed,
            deliveries: HashMap::new(),
            due: BinaryHeap::new(),
            order: 0,
            events: Vec::new(),
        }
    }

    /// Takes a request at `at`. What chance does to it is decided by the profile's seed and by its id, which should
    /// count up from zero.
    pub fn submit(&mut self, at: Nanos, request: Request) -> Result<(), Refused> {
        let mut delivery = Delivery::new(self.route, self.seed, request.id.0, request.output);
        if let Some(fault) = delivery.fault()
            && matches!(fault.kind, FaultKind::Http500 | FaultKind::Http503)
        {
            let at = delivery.head(at);
            self.push(at, request.id, Item::Fault(fault.kind));
            return Ok(());
        }
        self.fleet.submit(at, request)?;
        let head = delivery.head(at);
        self.push(head, request.id, Item::Head);
        self.deliveries.insert(request.id, delivery);
        Ok(())
    }

    /// Drops a request: its client is gone. Items of it that are due already may still come.
    pub fn cancel(&mut self, at: Nanos, id: SequenceId) {
        if self.deliveries.remove(&id).is_some() {
            self.fleet.cancel(at, id);
        }
    }

    /// When something happens or is due if no request arrives; `None`: never.
    pub fn next(&self) -> Option<Nanos> {
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        [self.fleet.next_event(), due].into_iter().flatten().min()
    }

    /// Lets everything happen until `to`, `to` included.
    pub fn advance(&mut self, to: Nanos) {
        self.fleet.advance(to);
        let mut events = std::mem::take(&mut self.events);
        self.fleet.take_events(&mut events);
        for event in events.drain(..) {
            match event {
                Event::Admitted { id, at } => self.push(at, id, Item::Admitted),
                Event::Token { token, at: made } => {
                    let Some(delivery) = self.deliveries.get_mut(&token.id) else { continue };
                    let out = delivery.push(made, token.index, token.last);
                    if token.last {
                        self.deliveries.remove(&token.id);
                    }
                    match out {
                        Some(Out::Tokens { at, first, count, last }) => {
                            self.push(at, token.id, Item::Tokens { first, count, last, made });
                        }
                        Some(Out::Fault { at, kind }) => {
                            self.push(at, token.id, Item::Fault(kind));
                            self.cancel(made, token.id);
                        }
                        None => {}
                    }
                }
            }
        }
        self.events = events;
    }

    /// The earliest item that is due at `now`, if there is one, with the instant it was due.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, SequenceId, Item)> {
        if self.due.peek().is_none_or(|Reverse((at, ..))| *at > now) {
            return None;
        }
        self.due.pop().map(|Reverse((at, _, id, item))| (at, id, item))
    }

    /// How full the fleet is.
    pub fn load(&self) -> FleetLoad {
        self.fleet.load()
    }

    fn push(&mut self, at: Nanos, id: SequenceId, item: Item) {
        self.due.push(Reverse((at, self.order, id, item)));
        self.order += 1;
    }
}
