//! From a sample to the summary's `Distribution`.

use std::collections::BTreeMap;

use kneepoint_model::summary::{Distribution, Interval, Ranked, WithFailures};

use crate::stats::distribution::{PERCENTILES, Quantile, Shape};
use crate::stats::early_stopping::floor_of;
use crate::stats::percentile::{Ppm, nearest, nearest_rank};

/// A sample as it was drawn, sorted, with its figures.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) values: Vec<f64>,
    pub(super) distribution: Distribution,
}

impl Sorted {
    /// Of values in the order of their requests' intended instants.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        let distribution = distribution(&Shape::of(&mut values));
        Self { values, distribution }
    }

    /// A percentile for our own judgement, whatever the number of samples.
    pub(super) fn any_percentile(&self, percentile: Ppm) -> Option<f64> {
        nearest(&self.values, percentile)
    }

    /// The value at each percent from 0 to 100; empty of nothing.
    pub(super) fn curve(&self) -> Vec<f64> {
        (0..=100).filter_map(|percent| nearest(&self.values, Ppm(percent * 10_000))).collect()
    }

    /// Percentiles with so many infinitely late requests behind the values.
    pub(super) fn with_failures(&self, failures: u64) -> WithFailures {
        let n = self.values.len() as u64 + failures;
        let ranked = |percentile: Ppm| match usize::try_from(n).ok().and_then(|n| nearest_rank(n, percentile)) {
            Some(rank) if n >= floor_of(percentile) => {
                self.values.get(rank - 1).map_or(Ranked::Failed, |value| Ranked::Value(*value))
            }
            _ => Ranked::TooFew,
        };
        WithFailures { n, p50: ranked(Ppm::P50), p90: ranked(Ppm::P90), p95: ranked(Ppm::P95), p99: ranked(Ppm::P99) }
    }
}

/// The summary's form of a shape.
pub(super) fn distribution(shape: &Shape) -> Distribution {
    let (mut ci95, mut too_few) = (BTreeMap::new(), BTreeMap::new());
    for ((name, _), quantile) in PERCENTILES.iter().zip(&shape.quantiles) {
        match quantile {
            Quantile::Is(_, (lower, upper)) => {
                ci95.insert((*name).to_owned(), Interval(*lower, *upper));
            }
            Quantile::TooFew(floor) => {
                too_few.insert((*name).to_owned(), *floor);
            }
        }
    }
    if shape.n == 0 {
        too_few.clear();
    }
    Distribution {
        n: shape.n as u64,
        mean: shape.mean,
        sd: shape.sd,
        min: shape.min,
        p50: shape.percentile("p50"),
        p90: shape.percentile("p90"),
        p95: shape.percentile("p95"),
        p99: shape.percentile("p99"),
        p999: shape.percentile("p999"),
        max: shape.max,
        ci95,
        too_few,
    }
}
