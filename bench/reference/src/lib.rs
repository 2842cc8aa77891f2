//! What the reference server and the floor client are made of.
//!
//! Shares no code with Kneepoint, so that the two cannot share a misunderstanding.

pub mod answer;
pub mod args;
pub mod engine;
pub mod http;
pub mod schedule;
pub mod sys;
pub mod truth;
