//! Bundles on a local disk: opened, read, and told what was lost.
//!
//! Reads what `load` wrote, whatever became of the run: a killed run's journals are read to their last whole line,
//! and what could not be read is counted. Adds what is made from the records (summary, reports) and seals the manifest
//! with the hashes of the files. Judges nothing.

mod frames;
mod integrity;
mod open;

pub use frames::{Lines, ReadJournalError};
pub use integrity::{Mismatch, SealError, mismatches, seal, sha256_hex, write};
pub use open::{Bundle, OpenError};
