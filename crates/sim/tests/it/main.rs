//! Integration tests of the simulated platform.

mod client;
mod closed_form;
mod engine_laws;
mod platforms;
mod queueing;
mod schema;
mod server;
mod steps;
