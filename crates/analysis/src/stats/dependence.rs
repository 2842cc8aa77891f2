//! Dependence between samples: how many independent ones they are worth.

use super::beta::t_two_sided;
use super::moments::{mean, standard_deviation};

/// Lag-1 autocorrelation; `None` under two values or where all are equal.
pub fn lag1(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let together: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (values.len() >= 2 && spread > 0.0).then(|| together / spread)
}

/// Effective sample size of a first-order autoregressive series, `n(1 − ρ)/(1 + ρ)` within `[1, n]`; `n` where ρ is
/// undefined.
pub fn effective_size(n: usize, rho1: Option<f64>) -> f64 {
    let n = n as f64;
    let size = rho1.map_or(n, |rho| n * (1.0 - rho) / (1.0 + rho));
    if size.is_finite() { size.clamp(1.0_f64.min(n), n) } else { n }
}

/// Effective sample size where autocorrelation shows at all, else `n`.
///
/// A lag-1 coefficient under `2/√n` is what independent values give by chance (Bartlett's bound at 95%); correcting
/// for it would only add noise.
pub fn effective_size_if_correlated(values: &[f64]) -> f64 {
    let n = values.len();
    effective_size(n, lag1(values).filter(|rho| *rho > 2.0 / (n as f64).sqrt()))
}

/// Mean by batches.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMeans {
    /// Mean of each batch.
    pub batches: Vec<f64>,
    /// Mean of the batch means.
    pub mean: f64,
    /// Half width of the mean's interval, from the spread of the batch means with Student's t.
    pub half_width: f64,
}

/// Cuts a series into `count` equal batches (what does not fill them is dropped from the end) and takes the interval
/// of the mean from the batch means, which are far less correlated than the samples; `None` where fewer than two
/// batches or an empty batch would result.
///
/// Source: Law, *Simulation Modeling and Analysis*, 9.5.3.
pub fn batch_means(values: &[f64], count: usize, confidence: f64) -> Option<BatchMeans> {
    let size = values.len().checked_div(count).filter(|size| *size > 0)?;
    let batches: Vec<f64> = values.chunks_exact(size).take(count).filter_map(mean).collect();
    let half_width = t_two_sided(confidence, (count.checked_sub(1).filter(|d| *d > 0)?) as f64)
        * standard_deviation(&batches)?
        / (count as f64).sqrt();
    Some(BatchMeans { mean: mean(&batches)?, batches, half_width })
}

/// Sums of one cluster: the samples of one request, which share its fate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Samples.
    pub n: f64,
    /// Their sum.
    pub sum: f64,
}

/// Effective size of a sample drawn in clusters: `n` ÷ the design effect, within `[1, n]`.
///
/// The design effect is the variance of the mean as the clusters show it (ratio estimator, Cochran, *Sampling
/// Techniques*, 9A) over that of as many independent values. One cluster tells nothing of the spread between clusters
/// and counts as one sample. `variance` is that of the pooled samples.
pub fn clustered_size(clusters: &[Cluster], variance: f64) -> f64 {
    let n: f64 = clusters.iter().map(|c| c.n).sum();
    let total: f64 = clusters.iter().map(|c| c.sum).sum();
    let count = clusters.len() as f64;
    if clusters.len() < 2 || n <= 0.0 {
        return 1.0_f64.min(n.max(0.0));
    }
    let mean = total / n;
    let between: f64 = clusters.iter().map(|c| (c.sum - c.n * mean).powi(2)).sum();
    let of_mean = between * count / ((count - 1.0) * n * n);
    let independent = variance / n;
    if independent > 0.0 && of_mean > independent { (n * independent / of_mean).max(1.0) } else { n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_short_series_have_no_correlation() {
        assert_eq!(lag1(&[3.0]), None);
        assert_eq!(lag1(&[3.0, 3.0, 3.0]), None);
        assert!((effective_size_if_correlated(&[3.0, 3.0, 3.0]) - 3.0).abs() < f64::EPSILON);
        assert!(effective_size(10, Some(-1.0)) <= 10.0 && effective_size(0, None).abs() < f64::EPSILON);
    }

    #[test]
    fn wholly_correlated_clusters_count_once_each() {
        // Ten requests of a hundred equal gaps each: a thousand gaps, ten pieces of information.
        let clusters: Vec<_> = (0..10).map(|i| Cluster { n: 100.0, sum: 100.0 * f64::from(i) }).collect();
        let variance = 8.25;
        let size = clustered_size(&clusters, variance);
        assert!((size - 9.0).abs() < 1e-9, "{size}");
        assert!((clustered_size(&clusters[..1], variance) - 1.0).abs() < f64::EPSILON);
    }
}
