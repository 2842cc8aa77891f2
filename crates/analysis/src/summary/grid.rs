//! What goes on in a point over time: output tokens and requests in flight, in bins that start at the window's start.

use kneepoint_model::Nanos;

/// Finest bin.
const FINEST: Nanos = Nanos::from_millis(10);
/// Most bins; a longer point gets wider ones. Keeps the memory of a day-long point in tens of megabytes.
const MOST_BINS: u64 = 9_000_000;

/// Bins over a point, aligned to the start of its measured window.
#[derive(Debug)]
pub(super) struct Grid {
    window_start: u64,
    bin: u64,
    /// Bins before the window.
    before: usize,
    /// Whole bins inside the window.
    within: usize,
    tokens: Vec<f64>,
    /// Requests answered in a bin.
    completions: Vec<u32>,
    /// Requests that begin in a bin minus those that end in it.
    steps: Vec<i64>,
}

impl Grid {
    pub(super) fn new(start: Nanos, window_start: Nanos, window_end: Nanos, end: Nanos) -> Self {
        let (lead, window) = (window_start.saturating_sub(start).0, window_end.saturating_sub(window_start).0);
        let rest = end.saturating_sub(window_start).0.max(window);
        let total = lead.saturating_add(rest);
        // A second stays a whole number of bins, or a bin a whole number of seconds.
        let bin = [1, 10, 100].map(|factor| FINEST.0 * factor).into_iter().find(|bin| total / bin < MOST_BINS);
        let bin = bin.unwrap_or_else(|| Nanos::from_secs(1).0.saturating_mul(total / 1_000_000_000 / MOST_BINS + 1));
        let before = index(lead.div_ceil(bin));
        let bins = before + index(rest.div_ceil(bin)) + 1;
        let within = index(window / bin);
        Self {
            window_start: window_start.0,
            bin,
            before,
            within,
            tokens: vec![0.0; bins],
            completions: vec![0; bins],
            steps: vec![0; bins],
        }
    }

    pub(super) fn add_tokens(&mut self, at: Nanos, tokens: f64) {
        let bin = self.bin_of(at);
        self.tokens[bin] += tokens;
    }

    pub(super) fn add_completion(&mut self, at: Nanos) {
        let bin = self.bin_of(at);
        self.completions[bin] += 1;
    }

    pub(super) fn add_flight(&mut self, from: Nanos, until: Nanos) {
        let (first, last) = (self.bin_of(from), self.bin_of(until));
        self.steps[first] += 1;
        self.steps[last] -= 1;
    }

    /// Most tokens in any second inside the window; `None` where the window is shorter or bins are wider than that.
    pub(super) fn busiest_second(&self) -> Option<f64> {
        self.busiest(self.window_tokens(), |tokens| *tokens)
    }

    /// Most requests answered in any second inside the window; `None` as above.
    pub(super) fn most_completions(&self) -> Option<f64> {
        self.busiest(&self.completions[self.before..self.before + self.within], |n| f64::from(*n))
    }

    /// Most requests in flight at the end of any bin of the window.
    pub(super) fn most_in_flight(&self) -> Option<u64> {
        let mut level = 0_i64;
        let levels = self.steps.iter().take(self.before + self.within).map(|step| {
            level += step;
            level
        });
        levels.skip(self.before).max().and_then(|most| u64::try_from(most).ok())
    }

    fn busiest<T>(&self, window: &[T], amount: impl Fn(&T) -> f64) -> Option<f64> {
        let second = self.bins_per_second()?;
        let mut sum: f64 = window.get(..second)?.iter().map(&amount).sum();
        let mut most = sum;
        for (arriving, leaving) in window[second..].iter().zip(window) {
            sum += amount(arriving) - amount(leaving);
            most = most.max(sum);
        }
        Some(most.max(0.0))
    }

    /// Tokens of each whole second of the window.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let Some(second) = self.bins_per_second() else { return self.window_tokens().to_vec() };
        self.window_tokens().chunks_exact(second).map(|bins| bins.iter().sum()).collect()
    }

    /// Requests in flight at the end of each of `parts` equal parts of the window.
    pub(super) fn in_flight(&self, parts: usize) -> Vec<f64> {
        let mut level = 0_i64;
        let levels: Vec<i64> = self
            .steps
            .iter()
            .map(|step| {
                level += step;
                level
            })
            .collect();
        let last = |part: usize| (self.before + self.within * (part + 1) / parts).saturating_sub(1);
        (0..parts).filter_map(|part| levels.get(last(part)).map(|level| *level as f64)).collect()
    }

    fn window_tokens(&self) -> &[f64] {
        &self.tokens[self.before..self.before + self.within]
    }

    fn bins_per_second(&self) -> Option<usize> {
        (self.bin <= 1_000_000_000).then(|| index(1_000_000_000 / self.bin))
    }

    fn bin_of(&self, at: Nanos) -> usize {
        let bin = if at.0 >= self.window_start {
            self.before.saturating_add(index((at.0 - self.window_start) / self.bin))
        } else {
            self.before.saturating_sub(index((self.window_start - at.0).div_ceil(self.bin)))
        };
        bin.min(self.tokens.len() - 1)
    }
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn grid() -> Grid {
        Grid::new(Nanos(0), Nanos::from_millis(1_505), Nanos::from_millis(4_505), Nanos::from_secs(6))
    }

    #[test]
    fn the_busiest_second_need_not_be_aligned() {
        let mut grid = grid();
        for ms in [1_500, 2_000, 2_400, 2_900, 3_300, 4_600] {
            grid.add_tokens(Nanos::from_millis(ms), 1.0);
        }
        assert_eq!(grid.busiest_second(), Some(3.0));
        assert_eq!(grid.seconds(), [2.0, 2.0, 0.0]);
        for ms in [1_400, 1_600, 2_590, 2_610, 5_000] {
            grid.add_completion(Nanos::from_millis(ms));
        }
        assert_eq!(grid.most_completions(), Some(2.0));
    }

    #[test]
    fn requests_in_flight_are_counted_at_the_end_of_each_part() {
        let mut grid = grid();
        grid.add_flight(Nanos(0), Nanos(3 * SECOND));
        grid.add_flight(Nanos(2 * SECOND), Nanos(60 * SECOND));
        assert_eq!((grid.in_flight(3), grid.most_in_flight()), (vec![2.0, 1.0, 1.0], Some(2)));
    }

    #[test]
    fn an_endless_point_stays_small_and_an_empty_one_is_no_trouble() {
        let long = Grid::new(Nanos(0), Nanos(0), Nanos(u64::MAX), Nanos(u64::MAX));
        assert!(long.tokens.len() < 10_000_000);
        assert_eq!(Grid::new(Nanos(5), Nanos(5), Nanos(5), Nanos(5)).busiest_second(), None);
        assert!(Grid::new(Nanos(9), Nanos(5), Nanos(1), Nanos(0)).seconds().is_empty());
    }
}
