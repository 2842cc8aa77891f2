//! How many replicas run, and how long a new one takes to start.

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;

/// The scaling rule: as many replicas as `⌈requests in the platform ÷ target⌉`, within the limits. New ones start at
/// once; one that has had nothing to do for `idle_after` stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Fewest replicas, ready from the start; 0: scale to zero.
    pub min: usize,
    /// Most replicas; at least 1 and at least `min`.
    pub max: usize,
    /// Requests a replica is meant to hold, queue included; at least 1.
    pub target: usize,
    /// Most requests a replica is given at once; more wait in the platform's queue. At least 1.
    pub concurrency: usize,
    /// How long a replica stays without work.
    pub idle_after: Nanos,
    /// How long a cold start takes.
    pub start: StartTime,
}

impl Scaling {
    /// Replicas wanted for so many requests in the platform.
    pub fn wanted(&self, requests: usize) -> usize {
        requests.div_ceil(self.target).clamp(self.min, self.max)
    }
}

/// Duration of a cold start: a fixed part, and an exponentially distributed part after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartTime {
    /// Shortest.
    pub at_least: Nanos,
    /// Mean of what comes on top.
    pub extra_mean: Nanos,
}

impl StartTime {
    /// The duration of start number `number` under `seed`.
    pub fn draw(&self, seed: u64, number: u64) -> Nanos {
        let extra = SplitMix64::for_purpose(seed, "sim cold start", &[number]).exponential();
        self.at_least + Nanos::from_secs_f64(extra * self.extra_mean.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_enough_replicas_within_the_limits() {
        let scaling =
            Scaling { min: 0, max: 3, target: 4, concurrency: 8, idle_after: Nanos::ZERO, start: StartTime::default() };
        assert_eq!([0, 1, 4, 5, 12, 100].map(|n| scaling.wanted(n)), [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn starts_are_seeded_and_have_the_mean_they_should() {
        let start = StartTime { at_least: Nanos::from_millis(1_000), extra_mean: Nanos::from_millis(300) };
        assert_eq!(start.draw(1, 5), start.draw(1, 5));
        let mean = (0..4000).map(|n| start.draw(9, n).as_secs_f64()).sum::<f64>() / 4000.0;
        assert!((mean - 1.3).abs() < 0.02, "{mean}");
        assert!((0..4000).all(|n| start.draw(9, n) >= start.at_least));
    }
}
