//! KV cache accounting: blocks are counted, not addressed.

use super::config::KvConfig;

/// Counts of free and taken blocks.
#[derive(Clone, Debug)]
pub(super) struct KvPool {
    config: KvConfig,
    used: u64,
}

impl KvPool {
    pub(super) fn new(config: KvConfig) -> Self {
        Self { config, used: 0 }
    }

    /// Blocks that hold `tokens` tokens.
    pub(super) fn blocks_for(&self, tokens: u64) -> u64 {
        self.config.blocks_for(tokens)
    }

    /// Takes `blocks`, or none of them and says `false`.
    pub(super) fn take(&mut self, blocks: u64) -> bool {
        let after = self.used.saturating_add(blocks);
        let fits = self.config.blocks.is_none_or(|total| after <= total.get());
        if fits {
            self.used = after;
        }
        fits
    }

    /// Gives `blocks` back.
    pub(super) fn release(&mut self, blocks: u64) {
        debug_assert!(blocks <= self.used, "invariant: only taken blocks come back");
        self.used -= blocks;
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Taken ÷ all; 0 for an unbounded cache.
    pub(super) fn usage(&self) -> f64 {
        self.config.blocks.map_or(0.0, |total| self.used as f64 / total.get() as f64)
    }
}
