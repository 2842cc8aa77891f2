//! A seeded shuffle of `0..n` that is computed element by element, with nothing stored.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002 (cycle walking), over a mixing
//! function of multiplications and shifts each of which can be undone.

use kneepoint_model::random::SplitMix64;

/// Where `number` goes in the shuffle of `0..n` that belongs to `seed`. Requires `number < n ≤ 2⁶²`.
pub(crate) fn permute(number: u64, n: u64, seed: u64) -> u64 {
    debug_assert!(number < n && n <= 1 << 62, "{number} of {n}");
    // The smallest power of two that holds n, so that a walk takes two steps in the mean at most.
    let bits = u64::BITS - (n - 1).leading_zeros();
    if bits == 0 {
        return number;
    }
    let mut keys = SplitMix64::for_purpose(seed, "prompt codes", &[n]);
    let keys = [(); 4].map(|()| (keys.next_u64() | 1, keys.next_u64()));
    let mut at = number;
    loop {
        at = mix(at, bits, &keys);
        if at < n {
            return at;
        }
    }
}

/// A bijection of the numbers of so many bits (1 to 62).
fn mix(mut x: u64, bits: u32, keys: &[(u64, u64); 4]) -> u64 {
    let mask = (1 << bits) - 1;
    let shift = bits.div_ceil(2);
    for &(factor, addend) in keys {
        // An odd factor has an inverse modulo a power of two; an exclusive or with the own high half undoes itself.
        x = x.wrapping_mul(factor).wrapping_add(addend) & mask;
        x ^= x >> shift;
    }
    x
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_size_is_shuffled_without_loss() {
        for n in [1, 2, 3, 5, 64, 65, 256, 1000, 4096, 131_072] {
            for seed in [0, 1, u64::MAX] {
                let images: HashSet<u64> = (0..n).map(|number| permute(number, n, seed)).collect();
                assert_eq!(images.len() as u64, n, "n {n}, seed {seed}");
                assert!(images.iter().all(|&image| image < n));
            }
        }
    }

    #[test]
    fn neighbours_do_not_stay_together_and_seeds_differ() {
        let n = 256 * 512_u64.pow(6);
        let firsts: HashSet<u64> = (0..1000).map(|number| permute(number, n, 7) % 256).collect();
        assert!(firsts.len() > 200, "{} of 256 opening words in use", firsts.len());
        assert!((0..1000).all(|number| permute(number, n, 7) != permute(number, n, 8)));
    }
}
