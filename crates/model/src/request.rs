//! What is sent, before any dialect has put it into words: the seam between `workload` and `load`.

use std::sync::Arc;

use crate::plan::Point;
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

/// How far the schedule of one open-loop point reaches.
///
/// All offsets count from the start of the point, which is the start of its warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointSchedule {
    /// Arrivals before `window_end`, warm-up included.
    pub arrivals: u64,
    /// Of those, in the measured window.
    pub measured: u64,
    /// Where the measured window begins: arrivals before it are warm-up.
    pub window_start: Nanos,
    /// Where it ends; the window is `window_start ≤ t < window_end`.
    pub window_end: Nanos,
}

/// The arrivals of one open-loop point, one after another, so that a run of days takes no more memory than one of
/// minutes.
pub type Arrivals = Box<dyn Iterator<Item = Nanos> + Send>;

/// Where requests come from. Same plan and seed: same prompts, on any machine, in any order of asking.
///
/// A point is given by its number, which is its index in [`crate::plan::Plan::points`], and by what it is.
pub trait RequestSource: Send + Sync {
    /// The prompt of the `index`-th request of a point (warm-up included, counted from 0).
    ///
    /// Must be a pure function of its arguments.
    fn prompt(&self, number: usize, point: &Point, index: u64) -> Prompt;

    /// How many tokens `text` has by the reference tokenizer, without special tokens; `None` without one.
    fn count(&self, text: &str) -> Option<Tokens>;

    /// How far the schedule of an open-loop point reaches; `None` for a closed-loop one, whose requests follow each
    /// other. Must be a pure function of its arguments.
    fn schedule(&self, number: usize, point: &Point) -> Option<PointSchedule>;

    /// The offsets of an open-loop point's requests, ascending (equal offsets may occur); a request's position is its
    /// index. May go on past the window's end: who takes them stops there. Empty for a closed-loop point.
    ///
    /// Must be a pure function of its arguments.
    fn arrivals(&self, number: usize, point: &Point) -> Arrivals;
}
