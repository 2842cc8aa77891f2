//! Tests of the analysis crate through its public interface.

mod curves;
mod figures;
mod golden;
mod golden_capacity;
mod golden_ranks;
mod golden_series;
mod golden_tokens;
mod laws;
mod reasons;
mod run;
