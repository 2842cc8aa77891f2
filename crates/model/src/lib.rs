//! The vocabulary every other crate speaks: units, plan, record, failure, summary and the bundle's formats.
//!
//! Owns the types that cross crate borders and the one resolution step `PlanFile → Plan`.
//! Does no I/O, starts no thread, reads no clock and no environment: what it needs of them is handed in.

pub mod bundle;
pub mod failure;
pub mod plan;
pub mod random;
pub mod record;
pub mod request;
pub mod secret;
pub mod summary;
pub mod units;
pub mod yaml;

pub use failure::{Failure, FailureKind, FailurePoint, Side};
pub use plan::Plan;
pub use record::Record;
pub use request::{Arrivals, PointSchedule, Prompt, RequestSource};
pub use secret::Secret;
pub use units::{Nanos, RatePerSec, Share, Tokens};
