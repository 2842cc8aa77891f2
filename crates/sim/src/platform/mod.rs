//! What surrounds the engine on a platform: replicas, routing, a bounded queue, cold starts, scaling, and the way an
//! answer takes to the client.
//!
//! Like the engine a state machine without a clock: the caller says what time it is, and asks when to come back.
//! Driven by `virtual_time` or by the server, it decides the same things.

mod delivery;
mod fleet;
mod pipeline;
pub(crate) mod route;
mod scaling;

pub use delivery::{Delivery, Fault, FaultKind, Out};
pub use fleet::{Event, Fleet, FleetLoad, Refused, Request};
pub use pipeline::{Item, Pipeline};
pub use scaling::{Scaling, StartTime};
