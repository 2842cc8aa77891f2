//! The instrument: one clock, one scheduler, the workers, and the journal that writes a bundle.
//!
//! Knows no dialect and no prompt: requests come ready-made through `RequestSource` and wire's template, answers come
//! back as wire's facts. It leaves records and judges nothing; percentiles and validity are `analysis`'s.

mod alarm;
pub mod clock;
mod flight;
pub mod host;
mod journal;
mod once;
mod point;
pub mod preflight;
pub mod probe;
pub mod progress;
mod run;
mod stop;
mod task;
mod worker;

pub use journal::JournalError;
pub use once::OnceError;
pub use point::PointError;
pub use progress::{PointProgress, Progress};
pub use run::{Measured, RunError, RunOptions, run};
pub use stop::{Stop, StopSignal};
