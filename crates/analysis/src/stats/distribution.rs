//! A sample in figures: moments, percentiles where `n` supports them, and an interval for each.

use super::dependence::effective_size_if_correlated;
use super::early_stopping::floor_of;
use super::moments;
use super::percentile::{Ppm, nearest_rank};
use super::quantile_interval::{CONFIDENCE, Ranks, widened_ranks};

/// The percentiles shown, by name.
pub const PERCENTILES: [(&str, Ppm); 5] =
    [("p50", Ppm::P50), ("p90", Ppm::P90), ("p95", Ppm::P95), ("p99", Ppm::P99), ("p999", Ppm::P999)];

/// A percentile of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// Its value and 95% interval; a side the sample cannot bound is `None`.
    Is(f64, (Option<f64>, Option<f64>)),
    /// The sample is too small; so many values could support it.
    TooFew(u64),
}

/// A sample in figures. Everything is `None` of nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Values.
    pub n: usize,
    /// How many independent values they are worth.
    pub effective: f64,
    /// Mean.
    pub mean: Option<f64>,
    /// Sample standard deviation; `None` under two values.
    pub sd: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Percentiles, in the order of [`PERCENTILES`].
    pub quantiles: [Quantile; PERCENTILES.len()],
}

impl Shape {
    /// The shape of values in the order in which they were drawn (correlation between neighbours widens the
    /// intervals); leaves them sorted.
    pub fn of(values: &mut [f64]) -> Self {
        let known = Known {
            n: values.len(),
            effective: effective_size_if_correlated(values),
            mean: moments::mean(values).unwrap_or(0.0),
            sd: moments::standard_deviation(values).unwrap_or(0.0),
        };
        values.sort_unstable_by(f64::total_cmp);
        known.shape(|rank| values[rank - 1])
    }

    /// A percentile by name, where it is shown.
    pub fn percentile(&self, name: &str) -> Option<f64> {
        let at = PERCENTILES.iter().position(|(other, _)| *other == name)?;
        match self.quantiles[at] {
            Quantile::Is(value, _) => Some(value),
            Quantile::TooFew(_) => None,
        }
    }
}

/// What is known of a sample before its ranks are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) n: usize,
    pub(super) effective: f64,
    pub(super) mean: f64,
    pub(super) sd: f64,
}

impl Known {
    /// Every 1-based rank that [`Known::shape`] will ask for, ascending.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![1, self.n];
        for (_, percentile) in PERCENTILES.iter().filter(|(_, p)| self.supports(*p)) {
            ranks.extend(nearest_rank(self.n, *percentile));
            let bounds = self.bounds(*percentile);
            ranks.extend(bounds.into_iter().flat_map(|b| [b.lower, b.upper]).flatten().map(as_index));
        }
        ranks.retain(|rank| (1..=self.n).contains(rank));
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// The figures, with `at` giving the value at a 1-based rank.
    pub(super) fn shape(&self, at: impl Fn(usize) -> f64) -> Shape {
        let some = |value: f64, fewest: usize| (self.n >= fewest).then_some(value);
        let (min, max) = if self.n > 0 { (Some(at(1)), Some(at(self.n))) } else { (None, None) };
        // Rounding must not carry the mean of equal values past them.
        let mean = min.zip(max).map(|(min, max)| self.mean.clamp(min, max));
        let quantile = |(_, percentile): (&str, Ppm)| match nearest_rank(self.n, percentile) {
            Some(rank) if self.supports(percentile) => {
                let bounds = self.bounds(percentile);
                let value = |rank: Option<u64>| rank.map(|rank| at(as_index(rank)));
                Quantile::Is(at(rank), bounds.map_or((None, None), |b| (value(b.lower), value(b.upper))))
            }
            _ => Quantile::TooFew(floor_of(percentile)),
        };
        Shape {
            n: self.n,
            effective: self.effective,
            mean,
            sd: some(self.sd, 2),
            min,
            max,
            quantiles: PERCENTILES.map(quantile),
        }
    }

    fn supports(&self, percentile: Ppm) -> bool {
        self.n as u64 >= floor_of(percentile)
    }

    fn bounds(&self, percentile: Ppm) -> Option<Ranks> {
        widened_ranks(self.n as u64, self.effective, percentile.share(), CONFIDENCE)
    }
}

fn as_index(rank: u64) -> usize {
    usize::try_from(rank).expect("invariant: a rank is at most n, a usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_appear_at_their_floors() {
        for (n, shown) in [(0, 0), (5, 0), (6, 1), (63, 1), (64, 2), (129, 2), (130, 3), (661, 3), (662, 4), (6_636, 5)]
        {
            let mut values: Vec<f64> = (0..n).map(|i| f64::from(i * 7_919 % 7_001)).collect();
            let shape = Shape::of(&mut values);
            let count = shape.quantiles.iter().filter(|q| matches!(q, Quantile::Is(..))).count();
            assert_eq!(count, shown, "n = {n}");
        }
    }

    #[test]
    fn nothing_has_no_figures() {
        let shape = Shape::of(&mut []);
        assert_eq!((shape.mean, shape.sd, shape.min, shape.max), (None, None, None, None));
    }

    #[test]
    fn correlated_values_have_wider_intervals() {
        let interval = |values: &mut [f64]| match Shape::of(values).quantiles[0] {
            Quantile::Is(_, (Some(low), Some(high))) => high - low,
            other => panic!("{other:?}"),
        };
        let mut mixed: Vec<f64> = (0..400_u32).map(|i| f64::from(i * 163 % 400)).collect();
        // The same values in slow waves.
        let mut waves: Vec<f64> = (0..400_u32).map(|i| f64::from((i * 20 % 400) + i * 20 / 400)).collect();
        let (narrow, wide) = (interval(&mut mixed), interval(&mut waves));
        assert!(wide > 1.5 * narrow, "{wide} is hardly wider than {narrow}");
    }
}
