//! Integration tests of the simulated platform.

mod closed_form;
mod engine_laws;
mod queueing;
mod steps;
