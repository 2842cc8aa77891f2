//! The report as its readers get it.
#![expect(clippy::unwrap_used, reason = "a test that finds nothing must stop")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sample data is small and positive")]

mod capacity;
mod curves;
mod html;
mod markdown;
mod sample;
mod table;
mod vendored;
mod verdict;
