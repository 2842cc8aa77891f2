//! Over-saturation told while a point runs: requests in flight *and* TTFT keep growing.
//!
//! After guidellm's over-saturation rule: the least-squares slope of both over a moving window is above 0 with a small
//! margin. To its rule two guards are added, since a stop cannot be taken back: the growth must exceed what chance arrivals
//! explain, and it must be seen for several seconds on end.

use std::collections::VecDeque;

use super::slope;

/// Seconds before anything is told.
pub const FEWEST_S: usize = 30;
/// Seconds that are looked at.
pub const WINDOW_S: usize = 120;
/// The 95% margin of a slope must be at most this share of it.
pub const MARGIN: f64 = 0.5;
/// Seconds on end for which growth must be seen.
pub const ON_END_S: u32 = 10;

/// Watches one point of an open loop, second by second.
#[derive(Clone, Debug)]
pub struct OverSaturation {
    rate_rps: f64,
    deviations: f64,
    in_flight: VecDeque<f64>,
    ttft: VecDeque<Option<f64>>,
    growing_s: u32,
}

/// Growth that was told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Requests in flight gained per second.
    pub in_flight_per_s: f64,
    /// TTFT gained per second, in the unit fed.
    pub ttft_per_s: f64,
}

impl OverSaturation {
    /// A watch over arrivals at `rate_rps`. The backlog must grow by more than `deviations` times the square root of the
    /// arrivals in the window, the standard deviation of a Poisson count: 2 for Poisson arrivals, 1 for equally spaced ones.
    pub fn new(rate_rps: f64, deviations: f64) -> Self {
        Self { rate_rps, deviations, in_flight: VecDeque::new(), ttft: VecDeque::new(), growing_s: 0 }
    }

    /// One second: requests in flight at its end, and the mean TTFT of the requests whose first token came in it (without a
    /// stream, of their response times), `None` where none came. Gives the growth once the point is over-saturated.
    pub fn push(&mut self, in_flight: u64, mean_ttft: Option<f64>) -> Option<Growth> {
        if self.in_flight.len() == WINDOW_S {
            self.in_flight.pop_front();
            self.ttft.pop_front();
        }
        self.in_flight.push_back(in_flight as f64);
        self.ttft.push_back(mean_ttft.filter(|ttft| ttft.is_finite()));
        let growth = self.growth();
        self.growing_s = if growth.is_some() { self.growing_s + 1 } else { 0 };
        growth.filter(|_| self.growing_s >= ON_END_S)
    }

    fn growth(&mut self) -> Option<Growth> {
        let seconds = self.in_flight.len();
        if seconds < FEWEST_S {
            return None;
        }
        let in_flight = slope::fit(self.in_flight.make_contiguous())?;
        let known: Vec<f64> = self.ttft.iter().flatten().copied().collect();
        // Seconds without a first token are missing from the trend; where they are the rule there is none to tell.
        let ttft = slope::fit(&known).filter(|_| known.len() * 2 >= seconds)?;
        let rise = in_flight.slope * seconds as f64;
        let chance = self.deviations * (self.rate_rps * seconds as f64).max(1.0).sqrt();
        let grows = in_flight.rises(MARGIN) && ttft.rises(MARGIN) && rise > chance;
        // Steps of the trend are seconds, but for those left out.
        let per_s = known.len() as f64 / seconds as f64;
        grows.then_some(Growth { in_flight_per_s: in_flight.slope, ttft_per_s: ttft.slope * per_s })
    }
}

#[cfg(test)]
mod tests {
    use kneepoint_model::random::SplitMix64;

    use super::*;

    /// A queue with `servers` servers of a second each, Poisson arrivals; the second in which it was told, if it was.
    fn told(load: f64, seed: u64, seconds: usize) -> Option<usize> {
        let servers = 20_usize;
        let rate = load * servers as f64;
        let mut random = SplitMix64::new(seed);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut free_at = vec![0.0_f64; servers];
        let (mut now, mut spans) = (0.0, Vec::new());
        while now < seconds as f64 {
            now += -(1.0 - unit()).ln() / rate;
            let first = (0..servers).min_by(|a, b| free_at[*a].total_cmp(&free_at[*b])).expect("servers");
            let start = free_at[first].max(now);
            free_at[first] = start - (1.0 - unit()).ln();
            spans.push((now, start, free_at[first]));
        }
        let mut watch = OverSaturation::new(rate, 2.0);
        (0..seconds).find(|second| {
            let (begin, end) = (*second as f64, *second as f64 + 1.0);
            let in_flight = spans.iter().filter(|(came, _, left)| *came < end && *left >= end).count();
            let waits: Vec<f64> = spans
                .iter()
                .filter(|(_, start, _)| *start >= begin && *start < end)
                .map(|(came, start, _)| start - came)
                .collect();
            let mean = (!waits.is_empty()).then(|| waits.iter().sum::<f64>() / waits.len() as f64);
            watch.push(in_flight as u64, mean).is_some()
        })
    }

    #[test]
    fn an_overloaded_queue_is_told_soon_and_a_loaded_one_is_not() {
        for seed in 0..20 {
            let second = told(1.3, seed, 200);
            assert!(second.is_some_and(|second| second < 100), "seed {seed}: {second:?}");
        }
        let accused = (0..40).filter(|seed| told(0.7, *seed, 300).is_some()).count();
        assert_eq!(accused, 0, "of 40 steady points");
    }

    #[test]
    fn nothing_is_told_before_its_time_or_of_one_series_alone() {
        let mut early = OverSaturation::new(10.0, 2.0);
        assert!((0..FEWEST_S as u64 - 1).all(|s| early.push(10 * s, Some(s as f64)).is_none()));
        let mut backlog_only = OverSaturation::new(10.0, 2.0);
        assert!((0..300).all(|s| backlog_only.push(10 * s, Some(5.0)).is_none()));
        let mut silent = OverSaturation::new(10.0, 2.0);
        assert!((0..300).all(|s| silent.push(10 * s, None).is_none()));
        let mut both = OverSaturation::new(10.0, 2.0);
        let growth = (0..60).find_map(|s: u32| both.push(u64::from(10 * s), Some(f64::from(3 * s)))).expect("grows");
        assert!((growth.in_flight_per_s - 10.0).abs() < 1e-9 && (growth.ttft_per_s - 3.0).abs() < 1e-9);
    }
}
