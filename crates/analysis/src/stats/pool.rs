//! Spans pooled over requests, exact and small: four bytes for each span under 4.29 s.
//!
//! A long point pools hundreds of millions of token gaps, so they are kept as whole nanoseconds in 32 bits, the rare
//! longer ones apart, and only the ranks that are asked for are put in place.

use super::dependence::{Cluster, clustered_size};
use super::distribution::{Known, Shape};
use super::percentile::place;

/// Nanosecond spans from many requests.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    short: Vec<u32>,
    long: Vec<u64>,
    clusters: Vec<Cluster>,
}

impl Pool {
    /// Adds the spans of one request, each `times` over.
    pub fn add_request(&mut self, spans: impl IntoIterator<Item = (u64, u32)>) {
        let mut cluster = Cluster { n: 0.0, sum: 0.0 };
        for (span, times) in spans {
            match u32::try_from(span) {
                Ok(span) => self.short.extend((0..times).map(|_| span)),
                Err(_) => self.long.extend((0..times).map(|_| span)),
            }
            cluster.n += f64::from(times);
            cluster.sum += span as f64 * f64::from(times);
        }
        if cluster.n > 0.0 {
            self.clusters.push(cluster);
        }
    }

    /// Adds what another pool holds.
    pub fn append(&mut self, mut other: Self) {
        self.short.append(&mut other.short);
        self.long.append(&mut other.long);
        self.clusters.append(&mut other.clusters);
    }

    /// Spans held.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// `true` if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distribution, every value divided by `unit_ns`.
    ///
    /// Spans of one request share its fate, so the intervals count for as many samples as the requests make them
    /// worth ([`clustered_size`]).
    pub fn shape(mut self, unit_ns: f64) -> Shape {
        let n = self.len();
        let sum: f64 = self.clusters.iter().map(|c| c.sum).sum();
        let mean = if n > 0 { sum / n as f64 } else { 0.0 };
        let squares: f64 = self.values().map(|v| (v - mean).powi(2)).sum();
        let variance = if n > 1 { squares / (n - 1) as f64 } else { 0.0 };
        let effective = clustered_size(&self.clusters, variance);
        let known = Known { n, effective, mean: mean / unit_ns, sd: variance.sqrt() / unit_ns };
        let positions: Vec<usize> = known.ranks().into_iter().map(|rank| rank - 1).collect();
        let (within, beyond) = positions.split_at(positions.partition_point(|p| *p < self.short.len()));
        place(&mut self.short, within);
        let beyond: Vec<usize> = beyond.iter().map(|p| p - self.short.len()).collect();
        place(&mut self.long, &beyond);
        known.shape(|rank| {
            let position = rank - 1;
            let span = self
                .short
                .get(position)
                .map_or_else(|| self.long[position - self.short.len()] as f64, |span| f64::from(*span));
            span / unit_ns
        })
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.short.iter().map(|v| f64::from(*v)).chain(self.long.iter().map(|v| *v as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_spans_make_one_distribution() {
        let mut pool = Pool::default();
        for request in 0..100_u64 {
            pool.add_request((0..10).map(|i| (1_000_000 * (request + 1) * (i + 1), 1)));
        }
        pool.add_request([(5_000_000_000, 2)]);
        let shape = pool.shape(1e6);
        let mut all: Vec<f64> = (1..=100).flat_map(|r| (1..=10).map(move |i| f64::from(r * i))).collect();
        all.extend([5_000.0, 5_000.0]);
        all.sort_unstable_by(f64::total_cmp);
        assert_eq!((shape.n, shape.max, shape.min), (1_002, Some(5_000.0), Some(1.0)));
        assert_eq!(shape.percentile("p99"), Some(all[991]));
        assert_eq!(shape.percentile("p50"), Some(all[500]));
    }
}
