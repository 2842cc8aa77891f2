//! The simulated platform: a continuous-batching engine, in virtual time or behind a real HTTP server.
//!
//! Owns the engine model ([`engine`]), its run in virtual time ([`virtual_time`]). It knows nothing of the client:
//! what it speaks is written from the protocols' documentation, so that client and simulator cannot share a
//! misunderstanding.

pub mod engine;
pub mod platform;
pub mod profile;
pub mod virtual_time;
