//! What is sent, before any dialect has put it into words: the seam between `workload` and `load`.

use std::sync::Arc;

use crate::units::Tokens;

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

/// Where requests come from. Same plan and seed: same prompts, on any machine, in any order of asking.
pub trait RequestSource: Send + Sync {
    /// The prompt of the `index`-th request of a point (warm-up included, counted from 0).
    ///
    /// `point` is the index in [`crate::plan::Plan::points`]. Must be a pure function of its arguments.
    fn prompt(&self, point: usize, index: u64) -> Prompt;

    /// How many tokens `text` has by the reference tokenizer, without special tokens; `None` without one.
    fn count(&self, text: &str) -> Option<Tokens>;
}
