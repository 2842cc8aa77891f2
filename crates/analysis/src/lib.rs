//! Pure functions of a bundle: statistics, validity and the summary.
//!
//! [`stats`] holds numeric functions that know nothing of plans and records; [`summary`] turns a bundle's records into
//! its [`Summary`](kneepoint_model::summary::Summary). Nothing here reads a file, a clock or the environment, so every
//! figure can be computed again from the bundle alone. What each figure means is written in `docs/metrics.md`.

pub mod stats;
pub mod summary;

pub use summary::{RunFacts, summarise};
