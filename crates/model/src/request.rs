//! What is sent, before any dialect has put it into words: the seam between `workload` and `load`.

use std::sync::Arc;

use crate::units::{Nanos, Tokens};

/// One prompt and the lengths asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text of the user's message. Never empty; unique within a run.
    pub text: Arc<str>,
    /// How many input tokens the plan wanted.
    pub target_input: Tokens,
    /// How many tokens `text` has by the reference tokenizer; `None` without one (the length is then an estimate).
    pub local_input: Option<Tokens>,
    /// How many output tokens to ask for.
    pub output: Tokens,
}

/// When the requests of one open-loop point are to be sent, materialised before the point begins.
///
/// All offsets count from the start of the point, which is the start of its warm-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointSchedule {
    /// One offset a request, ascending (equal offsets may occur), all below `window_end`. Warm-up included: the
    /// position in this list is the request's index.
    pub arrivals: Vec<Nanos>,
    /// Where the measured window begins: arrivals before it are warm-up.
    pub window_start: Nanos,
    /// Where it ends; the window is `window_start ≤ t < window_end`.
    pub window_end: Nanos,
}

/// Where requests come from. Same plan and seed: same prompts, on any machine, in any order of asking.
pub trait RequestSource: Send + Sync {
    /// The prompt of the `index`-th request of a point (warm-up included, counted from 0).
    ///
    /// `point` is the index in [`crate::plan::Plan::points`]. Must be a pure function of its arguments.
    fn prompt(&self, point: usize, index: u64) -> Prompt;

    /// How many tokens `text` has by the reference tokenizer, without special tokens; `None` without one.
    fn count(&self, text: &str) -> Option<Tokens>;

    /// The arrivals of an open-loop point; `None` for a closed-loop one, whose requests follow each other.
    ///
    /// `point` is the index in [`crate::plan::Plan::points`]. Must be a pure function of its argument; it is called
    /// once, before the point begins.
    fn schedule(&self, point: usize) -> Option<PointSchedule>;
}
