//! The instrument: one clock, one scheduler, the workers, and the journal that writes a bundle.
//!
//! Knows no dialect and no prompt: requests come ready-made through `RequestSource` and wire's template, answers come
//! back as wire's facts. It leaves records and judges nothing; percentiles and validity are `analysis`'s.

mod account;
mod alarm;
pub mod calibrate;
pub mod clock;
mod deadlines;
mod flight;
pub mod host;
mod journal;
mod links;
mod once;
mod point;
pub mod preflight;
pub mod probe;
mod processor;
pub mod progress;
mod rtt;
mod run;
mod session;
mod stop;
mod task;
mod watch;
mod worker;
mod world;

#[cfg(test)]
mod in_virtual_time;

pub use journal::JournalError;
pub use once::OnceError;
pub use point::PointError;
pub use progress::{PointProgress, Progress};
pub use run::{Measured, RunError, RunOptions, default_workers, run};
pub use session::first_points;
pub use stop::{Stop, StopSignal};
