//! The bootstrap interval of one nearest-rank quantile, in its exact limit of infinitely many resamples.
//!
//! Sources: Efron, Tibshirani, *An Introduction to the Bootstrap*; the limit follows from the binomial count of draws
//! at or below a value: no random number is needed for it. Resampling is here to check the limit against.

use kneepoint_model::random::SplitMix64;

use super::beta::binomial_at_least;
use super::percentile::{Ppm, nearest, nearest_rank};

/// The probability that a resample's quantile is at most the `i`-th of `n` ascending values, for `i = 1..=n`:
/// `P(Binomial(n, i/n) ≥ k)` with `k` the quantile's nearest rank. Empty for `n = 0`.
pub fn quantile_distribution(n: usize, percentile: Ppm) -> Vec<f64> {
    let Some(rank) = nearest_rank(n, percentile) else { return Vec::new() };
    (1..=n).map(|i| binomial_at_least(rank as u64, n as u64, i as f64 / n as f64)).collect()
}

/// The exact percentile interval of a quantile at 95%; `None` of nothing.
pub fn quantile_interval(ascending: &[f64], percentile: Ppm) -> Option<(f64, f64)> {
    let at_most = quantile_distribution(ascending.len(), percentile);
    let first = |share: f64| at_most.partition_point(|p| *p < share).min(ascending.len().saturating_sub(1));
    ascending.first()?;
    Some((ascending[first(0.025)], ascending[first(0.975)]))
}

/// The quantiles of `resamples` resamples, ascending: draws `below(n)` in order from [`SplitMix64`].
pub fn resampled_quantiles(values: &[f64], percentile: Ppm, seed: u64, resamples: usize) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    let n = values.len() as u64;
    let mut draw = || usize::try_from(random.below(n)).map_or(0.0, |index| values[index]);
    let mut quantiles = Vec::with_capacity(resamples);
    if values.is_empty() {
        return quantiles;
    }
    for _ in 0..resamples {
        let mut sample: Vec<f64> = values.iter().map(|_| draw()).collect();
        sample.sort_unstable_by(f64::total_cmp);
        quantiles.extend(nearest(&sample, percentile));
    }
    quantiles.sort_unstable_by(f64::total_cmp);
    quantiles
}
