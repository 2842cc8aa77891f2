//! The continuous-batching engine: a pure state machine without a clock.
//!
//! It decides, step by step, which sequences compute how many tokens, how long that takes, and which tokens come
//! out. It knows no time of day, no thread and no socket: whoever drives it (virtual time or the real server) adds
//! the step's duration to the instant the step began. Equal calls give equal results.
//!
//! One *step* is one forward pass over a mixed batch, as in vLLM's iteration-level scheduler:
//!
//! 1. running sequences in order of arrival: an unfinished prompt takes what the token budget leaves, a decoding
//!    sequence takes one token;
//! 2. then waiting sequences, first come first served, while budget, seats and KV blocks last (the head of the queue
//!    blocks those behind it).
//!
//! The step lasts `a + b·(decoding sequences) + c·(prompt tokens) + d·(KV tokens read)`. A sequence's first token
//! comes out at the end of the step that completes its prompt.

mod config;
mod kv;
mod scheduler;

pub use config::{EngineConfig, KvConfig, Refusal, Reservation, StepCost};
pub use scheduler::{Engine, Load, SequenceId, Step, TokenOut};
