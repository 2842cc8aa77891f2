//! Numeric methods: percentiles and their intervals, sample-size floors, dependence, trends, consistency checks.
//!
//! Every function is pure and says what it does with too little data: it returns `None`, never a zero or a NaN.
//! The known answers the tests hold them against are in `tests/fixtures/`.

pub mod beta;
pub mod bootstrap;
pub mod dependence;
pub mod distribution;
pub mod early_stopping;
pub mod knee;
pub mod littles_law;
pub mod moments;
pub mod network;
pub mod omission;
pub mod oversaturation;
pub mod percentile;
pub mod pool;
pub mod proportion;
pub mod quantile_interval;
pub mod scalability;
pub mod search;
pub mod slo;
pub mod slope;
pub mod steady_state;
pub mod timeline;
