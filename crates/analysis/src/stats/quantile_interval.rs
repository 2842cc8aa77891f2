//! The order-statistic interval of a quantile: two ranks of the sorted sample, free of any assumed distribution.
//!
//! Source: David and Nagaraja, *Order Statistics*, 7.1; the method of Hahn and Meeker, *Statistical Intervals*, 5.

use super::beta::binomial_cdf;

/// Confidence of every interval Kneepoint shows.
pub const CONFIDENCE: f64 = 0.95;

/// Ranks that enclose a quantile; a side on which `n` supports no bound is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// 1-based rank of the lower bound.
    pub lower: Option<u64>,
    /// 1-based rank of the upper bound.
    pub upper: Option<u64>,
    /// The probability that the two enclose the quantile; at least the confidence asked for.
    pub coverage: f64,
}

/// The ranks of the interval for the quantile `q` of `n` independent values; `None` of nothing.
///
/// The lower rank is the largest `l` with `P(B ≤ l − 1) ≤ (1 − confidence)/2` and the upper the smallest `u` with
/// `P(B ≤ u − 1) ≥ (1 + confidence)/2`, where `B` is binomial with `n` trials of probability `q`.
pub fn ranks(n: u64, q: f64, confidence: f64) -> Option<Ranks> {
    if n == 0 {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    // Both conditions are monotone in the rank.
    let below = first_rank(n, |rank| binomial_cdf(rank - 1, n, q) > tail);
    let lower = below.checked_sub(1).filter(|rank| *rank >= 1);
    let upper = Some(first_rank(n, |rank| binomial_cdf(rank - 1, n, q) >= 1.0 - tail)).filter(|rank| *rank <= n);
    let at_or_below = |rank: Option<u64>, none| rank.map_or(none, |rank| binomial_cdf(rank - 1, n, q));
    Some(Ranks { lower, upper, coverage: at_or_below(upper, 1.0) - at_or_below(lower, 0.0) })
}

/// The same for `n` values that carry the information of only `effective` independent ones.
///
/// The ranks for the effective size are stretched to the sample, rounding outwards; `effective` is held to `1..=n`
/// and its fraction dropped, both of which can only widen the interval.
pub fn widened_ranks(n: u64, effective: f64, q: f64, confidence: f64) -> Option<Ranks> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, then clamped")]
    let size = (effective as u64).clamp(1, n.max(1));
    let ranks = ranks(n.min(size), q, confidence)?;
    let stretch = |rank: u64| u128::from(rank) * u128::from(n);
    let size = u128::from(size);
    let fit = |rank: u128| u64::try_from(rank).expect("invariant: a stretched rank is at most n");
    Some(Ranks {
        lower: ranks.lower.map(|rank| fit(stretch(rank - 1) / size + 1)),
        upper: ranks.upper.map(|rank| fit(stretch(rank).div_ceil(size))),
        coverage: ranks.coverage,
    })
}

/// The first of `1..=n` that fulfils a monotone condition, `n + 1` if none does.
fn first_rank(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, n + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_information_changes_nothing() {
        for n in [1, 6, 100, 3_000] {
            assert_eq!(widened_ranks(n, n as f64, 0.9, CONFIDENCE), ranks(n, 0.9, CONFIDENCE));
        }
    }

    #[test]
    fn less_information_only_widens() {
        let full = ranks(1_000, 0.5, CONFIDENCE).expect("values");
        let half = widened_ranks(1_000, 200.0, 0.5, CONFIDENCE).expect("values");
        assert!(half.lower < full.lower && half.upper > full.upper, "{half:?} {full:?}");
        assert_eq!(widened_ranks(1_000, 0.2, 0.5, CONFIDENCE).and_then(|r| r.upper), None);
    }
}
