//! How many samples a percentile needs: the early-stopping test of `MLPerf` `LoadGen`.
//!
//! Source: mlcommons/inference, `loadgen/early_stopping.cc`. With `t` queries over a latency limit seen, so many
//! must lie under it before one may claim, with confidence `c`, that at least a share `p` of all queries do.

use super::beta::{binomial_cdf, regularised};
use super::percentile::Ppm;

/// Confidence of the test.
pub const CONFIDENCE: f64 = 0.99;

/// Fewest samples from which a median is shown: the first `n` at which it has a two-sided 95% interval
/// (2 · 0.5⁶ ≤ 0.05).
pub const P50_FLOOR: u64 = 6;
/// Fewest samples from which a 90th percentile is shown ([`floor`]).
pub const P90_FLOOR: u64 = 64;
/// Fewest samples from which a 95th percentile is shown ([`floor`]).
pub const P95_FLOOR: u64 = 130;
/// Fewest samples from which a 99th percentile is shown ([`floor`]).
pub const P99_FLOOR: u64 = 662;
/// Fewest samples from which a 99.9th percentile is shown ([`floor`]).
pub const P999_FLOOR: u64 = 6_636;

/// The fewest queries under the limit that excuse `over` queries over it, at percentile `p` (a share of one).
pub fn fewest_under(over: u64, p: f64, confidence: f64) -> u64 {
    // I_p(h, t + 1) falls as h rises.
    let passes = |under: u64| under > 0 && regularised(p, under as f64, over as f64 + 1.0) <= 1.0 - confidence;
    let mut high = 1;
    while !passes(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The fewest samples that can support a percentile: the test passes with one query over the limit, so that the
/// percentile is not merely the largest value ever seen.
pub fn floor(p: f64, confidence: f64) -> u64 {
    1 + fewest_under(1, p, confidence)
}

/// The most queries over the limit that `n` queries excuse; `None` if not even zero are.
pub fn most_over(n: u64, p: f64, confidence: f64) -> Option<u64> {
    let passes = |over: u64| over < n && binomial_cdf(over, n, 1.0 - p) <= 1.0 - confidence;
    if !passes(0) {
        return None;
    }
    let (mut low, mut high) = (0, n);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if passes(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// The 1-based rank of the conservative percentile: the `t`-th largest of `n`, `t` the most the test excuses.
/// `None` under the [`floor`].
pub fn conservative_rank(n: u64, p: f64, confidence: f64) -> Option<u64> {
    most_over(n, p, confidence).filter(|over| *over >= 1).map(|over| n - over + 1)
}

/// The floor of a percentile that Kneepoint shows.
pub fn floor_of(percentile: Ppm) -> u64 {
    match percentile {
        Ppm::P50 => P50_FLOOR,
        Ppm::P90 => P90_FLOOR,
        Ppm::P95 => P95_FLOOR,
        Ppm::P99 => P99_FLOOR,
        Ppm::P999 => P999_FLOOR,
        Ppm(ppm) => floor(f64::from(ppm) / 1e6, CONFIDENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_follow_the_rule() {
        for (p, want) in [(0.9, P90_FLOOR), (0.95, P95_FLOOR), (0.99, P99_FLOOR), (0.999, P999_FLOOR)] {
            assert_eq!(floor(p, CONFIDENCE), want, "p = {p}");
        }
    }
}
