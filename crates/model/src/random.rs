//! `SplitMix64`: the one generator behind schedules, prompts and bootstraps.
//!
//! Chosen because it is ten lines that give the same numbers on every machine and in every language.
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

/// A seeded stream of random numbers. Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream for one purpose under a root seed.
    ///
    /// Each purpose draws from its own stream, so that adding a feature never shifts the draws of another.
    /// The purpose and the indices are folded in by FNV-1a over their bytes.
    pub fn for_purpose(seed: u64, purpose: &str, indices: &[u64]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let bytes = purpose.bytes().chain(indices.iter().flat_map(|i| i.to_le_bytes()));
        for byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut root = Self::new(seed);
        Self::new(root.next_u64() ^ hash)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n` (the high half of the product; no rejection). `n` must be above zero.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `[0, 1)` with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Exponentially distributed with mean 1. Uses a portable logarithm, so equal seeds give equal bits anywhere.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// Fisher–Yates, from the last element down.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = usize::try_from(self.below(i as u64 + 1)).expect("invariant: j <= i, which is a usize");
            items.swap(i, j);
        }
    }
}
