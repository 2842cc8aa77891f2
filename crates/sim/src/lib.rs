//! The simulated platform: a continuous-batching engine, in virtual time or behind a real HTTP server
