//! The engine's constants.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use thiserror::Error;

/// What a step costs: `a + b·D + c·T + d·K`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// `a`: every step, whatever is in it (reading the weights, launching kernels).
    pub base: Nanos,
    /// `b`: per decoding sequence in the step.
    pub per_decode: Nanos,
    /// `c`: per prompt token computed in the step.
    pub per_prefill_token: Nanos,
    /// `d`: per KV token read: the tokens that each sequence of the step had cached when the step began.
    pub per_kv_token: Nanos,
}

impl StepCost {
    /// Length of a step with this content; saturates instead of overflowing.
    pub fn step(&self, decodes: u64, prefill_tokens: u64, kv_tokens: u64) -> Nanos {
        let part = |cost: Nanos, count: u64| Nanos(cost.0.saturating_mul(count));
        self.base
            + part(self.per_decode, decodes)
            + part(self.per_prefill_token, prefill_tokens)
            + part(self.per_kv_token, kv_tokens)
    }
}

/// When a sequence takes its KV blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reservation {
    /// As its tokens come. When none is left, the sequence that arrived last loses its blocks, goes back to the head
    /// of the queue and computes its tokens again (recomputation, as in vLLM).
    #[default]
    OnDemand,
    /// All that prompt and output can need, at admission. Never preempts.
    Full,
}

/// The KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvConfig {
    /// Blocks there are; `None`: never short.
    pub blocks: Option<NonZeroU64>,
    /// Tokens a block holds.
    pub block_tokens: NonZeroU64,
    /// When blocks are taken.
    pub reservation: Reservation,
}

impl KvConfig {
    /// Blocks that hold `tokens` tokens.
    pub fn blocks_for(&self, tokens: u64) -> u64 {
        tokens.div_ceil(self.block_tokens.get())
    }
}

/// Why an engine does not take a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Prompt or output has no token.
    #[error("a sequence needs at least one prompt token and one output token")]
    Empty,
    /// Prompt and output together exceed the whole KV cache, so the sequence could never finish.
    #[error("{tokens} tokens do not fit the KV cache even when it is empty")]
    NeverFits {
        /// Prompt and output tokens.
        tokens: u64,
    },
}

/// Everything that decides an engine's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// What a step costs.
    pub cost: StepCost,
    /// Most tokens computed in one step, decoding and prompts together (chunked prefill).
    pub token_budget: NonZeroU64,
    /// Most sequences running at once.
    pub max_sequences: NonZeroU64,
    /// The KV cache.
    pub kv: KvConfig,
}

impl EngineConfig {
    /// Whether an engine takes a sequence of this size at all.
    pub fn check(&self, prompt: u64, output: u64) -> Result<(), Refusal> {
        if prompt == 0 || output == 0 {
            return Err(Refusal::Empty);
        }
        let tokens = prompt.saturating_add(output);
        let fits = self.kv.blocks.is_none_or(|total| self.kv.blocks_for(tokens) <= total.get());
        if fits { Ok(()) } else { Err(Refusal::NeverFits { tokens }) }
    }

    /// The highest request rate, per second, that requests of `prompt` and `output` tokens can be served at in the
    /// long run: `1 ÷ ((output − 1)·b + prompt·c)`, if neither seats nor KV blocks run out first.
    ///
    /// The step's constant `a` is not in it: a longer batch spreads `a` over more tokens, without bound. With at most
    /// `B` sequences the rate is lower, see [`Self::saturation_rate_with_seats`]. `d` is taken as zero. Infinite if
    /// both constants are zero.
    pub fn saturation_rate(&self, prompt: u64, output: u64) -> f64 {
        1.0 / self.work_secs(prompt, output)
    }

    /// [`Self::saturation_rate`] with at most `max_sequences` in the batch: `B ÷ ((output − 1)·a + B·work)`, the
    /// rate at which the last seat is taken (`B = λ(O−1)a ÷ (1−ρ)` solved for λ).
    pub fn saturation_rate_with_seats(&self, prompt: u64, output: u64) -> f64 {
        let seats = self.max_sequences.get() as f64;
        seats / (decodes(output) * self.cost.base.as_secs_f64() + seats * self.work_secs(prompt, output))
    }

    /// Mean time per output token at `rate` requests a second, by the fluid approximation `a ÷ (1 − ρ)` with
    /// `ρ = rate·((output − 1)·b + prompt·c)`; `None` at or past saturation. A few percent low near saturation,
    /// because it leaves out how the batch varies.
    pub fn fluid_tpot_secs(&self, rate: f64, prompt: u64, output: u64) -> Option<f64> {
        let rho = rate * self.work_secs(prompt, output);
        (rho < 1.0).then(|| self.cost.base.as_secs_f64() / (1.0 - rho))
    }

    /// Engine time one request needs beyond its share of `a`, in seconds.
    fn work_secs(&self, prompt: u64, output: u64) -> f64 {
        decodes(output) * self.cost.per_decode.as_secs_f64() + prompt as f64 * self.cost.per_prefill_token.as_secs_f64()
    }
}

/// Steps a sequence spends decoding: its first token comes with the prompt.
fn decodes(output: u64) -> f64 {
    output.saturating_sub(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_adds_its_four_parts() {
        let cost = StepCost {
            base: Nanos(1000),
            per_decode: Nanos(100),
            per_prefill_token: Nanos(10),
            per_kv_token: Nanos(1),
        };
        assert_eq!(cost.step(0, 0, 0), Nanos(1000));
        assert_eq!(cost.step(2, 30, 7), Nanos(1507));
        assert_eq!(cost.step(u64::MAX, 0, 0), Nanos(u64::MAX));
    }
}
