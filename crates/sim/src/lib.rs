//! The simulated platform: a continuous-batching engine, in virtual time or behind a real HTTP server.
//!
//! [`engine`] is the model of one engine, [`platform`] what surrounds it, [`profile`] the files that configure both.
//! They are pure state machines; [`virtual_time`] runs them at once, [`server`] runs them in real time behind sockets.
//! Nothing here knows the client: what the server speaks is written from the protocols' documentation, so that client
//! and simulator cannot share a misunderstanding.

pub mod engine;
pub mod platform;
pub mod profile;
pub mod server;
pub mod virtual_time;

pub use profile::{Profile, ProfileFile};
pub use server::{Running, SimError, start};
