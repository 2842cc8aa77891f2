//! From when a point's latencies are steady.
//!
//! MSER-5 says from where on the rest of a series is most alike, wherever that is. Taken at its word it would throw away
//! the minute before a stall, stall included, and call a chance run of quiet batches the truth. So it only proposes the
//! level; what is cut is the *leading* part of the window that lies beside that level, beyond noise and on one side of it:
//! the shape of a warm-up, and of nothing that begins later.

use kneepoint_model::Nanos;
use kneepoint_model::summary::{Steady, SteadyState};

use super::accumulate::Sample;
use super::limits;
use crate::stats::moments::{mean, standard_deviation};
use crate::stats::pool::Pool;
use crate::stats::steady_state::{BATCH, Cut, Truncation, mser5};

/// Equal parts of a window by which its steadiness is told; forty batches of MSER-5.
pub(super) const SLICES: usize = 200;
/// The spread of a normal sample ÷ the median of what neighbours differ by: `√2 · Φ⁻¹(3/4)`, turned over.
const DIFFERENCE_TO_DEVIATION: f64 = 1.048_358_2;

/// The parts of a measured window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    start: u64,
    span: u64,
}

impl Slices {
    pub(super) fn of(start: Nanos, end: Nanos) -> Self {
        Self { start: start.0, span: end.saturating_sub(start).0.max(1) }
    }

    /// The part that a request intended then belongs to; the last one for whatever comes after the window.
    pub(super) fn at(&self, intended: Nanos) -> usize {
        let offset = u128::from(intended.0.saturating_sub(self.start));
        let slice = offset * SLICES as u128 / u128::from(self.span);
        usize::try_from(slice).unwrap_or(usize::MAX).min(SLICES - 1)
    }

    /// Seconds of the window before a part.
    fn seconds_before(&self, slice: usize) -> f64 {
        Nanos(self.span).as_secs_f64() * slice as f64 / SLICES as f64
    }
}

/// Gaps pooled by the part of the window their request was intended in, as far as it may be cut.
#[derive(Debug)]
pub(super) struct SlicedPool {
    early: Vec<Pool>,
    rest: Pool,
}

impl Default for SlicedPool {
    fn default() -> Self {
        Self { early: vec![Pool::default(); SLICES / 2], rest: Pool::default() }
    }
}

impl SlicedPool {
    pub(super) fn add_request(&mut self, slice: usize, spans: impl IntoIterator<Item = (u64, u32)>) {
        self.early.get_mut(slice).unwrap_or(&mut self.rest).add_request(spans);
    }

    /// The gaps of the requests from a part on.
    pub(super) fn from(self, slice: usize) -> Pool {
        let mut whole = self.rest;
        self.early.into_iter().skip(slice).for_each(|pool| whole.append(pool));
        whole
    }
}

/// What was found, and the first part whose requests count in latency distributions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) steady: Steady,
    pub(super) first: usize,
}

/// Looks at the samples of a window, in any order; `cut_requests` is left to the caller, who knows the failures too.
pub(super) fn find(samples: &[Sample], slices: Slices, streamed: bool) -> Found {
    let mut sums = [(0.0, 0_u32); SLICES];
    for sample in samples {
        let latency = if streamed { sample.line.ttft } else { sample.line.response };
        if let Some(ns) = latency {
            let slice = &mut sums[slices.at(sample.intended)];
            *slice = (slice.0 + ns as f64, slice.1 + 1);
        }
    }
    let parts: Vec<(usize, f64)> = sums
        .iter()
        .enumerate()
        .filter(|(_, (_, n))| *n > 0)
        .map(|(slice, (sum, n))| (slice, sum / f64::from(*n)))
        .collect();
    let values: Vec<f64> = parts.iter().map(|(_, mean)| *mean).collect();
    let Some((leading, batches)) = leading(&values) else { return Found::default() };
    let settling_share = Some(leading as f64 / batches as f64);
    if leading * 2 > batches {
        let steady = Steady { state: SteadyState::NotSteady, settling_share, ..Steady::default() };
        return Found { steady, first: 0 };
    }
    // The parts are few where requests are: what has none is skipped, so the cut begins at the first part kept. It may
    // not reach past what was pooled apart.
    let first = if leading < limits::STEADY_FEWEST_CUT { 0 } else { parts[leading * BATCH].0.min(SLICES / 2) };
    let cut_s = slices.seconds_before(first);
    Found { steady: Steady { state: SteadyState::Steady, cut_s, cut_requests: 0, settling_share }, first }
}

/// Leading batches beside the level at which MSER-5 finds the rest, and all batches; `None` of too few. All of them where
/// the series drifts throughout, so that there is no level.
fn leading(values: &[f64]) -> Option<(usize, usize)> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).filter_map(mean).collect();
    if batches.len() < limits::STEADY_FEWEST_BATCHES {
        return None;
    }
    let noise = noise(&batches);
    let (cut, settles) = match mser5(values) {
        Truncation::TooShort => return None,
        Truncation::Steady(cut) => (cut, true),
        Truncation::NoSteadyState(cut) => (cut, false),
    };
    let mut leading = excursion(&batches, &cut, noise);
    if !settles && leading * 2 <= batches.len() && drifts(&batches, noise) {
        leading = batches.len();
    }
    Some((leading, batches.len()))
}

fn excursion(batches: &[f64], cut: &Cut, noise: f64) -> usize {
    // Two quiet batches at the end have next to no spread by chance, but the noise of them all.
    let spread = standard_deviation(&batches[cut.batches..]).unwrap_or(0.0).max(noise);
    let beside = beside(spread, cut.mean_after);
    let side = |batch: f64| {
        let distance = batch - cut.mean_after;
        if distance.abs() > beside { distance.signum() } else { 0.0 }
    };
    let first = side(batches[0]);
    if first.abs() < 0.5 {
        return 0;
    }
    batches[..cut.batches].iter().take_while(|batch| side(**batch) * first > 0.5).count()
}

/// `true` if the halves differ, by their medians, which a stall in one of them does not move.
fn drifts(batches: &[f64], noise: f64) -> bool {
    let (before, after) = batches.split_at(batches.len() / 2);
    let (before, after) = (median(before), median(after));
    before.zip(after).is_some_and(|(before, after)| (before - after).abs() > beside(noise, after))
}

/// How far from a level a batch must lie to be beside it.
fn beside(spread: f64, level: f64) -> f64 {
    (limits::STEADY_DEVIATIONS * spread).max(limits::STEADY_SHARE * level.abs())
}

/// Standard deviation of batches as the differences between neighbours show it: their median is not moved by a trend or a
/// jump.
fn noise(batches: &[f64]) -> f64 {
    let differences: Vec<f64> = batches.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&differences).map_or(0.0, |median| median * DIFFERENCE_TO_DEVIATION)
}

/// The upper of two middle values.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use kneepoint_model::random::SplitMix64;

    use super::*;

    /// Two hundred values about `level(i)`, with a log-normal-like scatter of `scatter` of it.
    fn series(seed: u64, scatter: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..SLICES)
            .map(|i| {
                let normal: f64 = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
                level(i) * (scatter * normal).exp()
            })
            .collect()
    }

    #[test]
    fn chance_is_not_cut() {
        let cut = (0..2_000).filter(|seed| leading(&series(*seed, 0.4, |_| 100.0)).expect("enough").0 > 1).count();
        assert!(cut <= 2, "{cut} of 2,000 steady series cut");
    }

    #[test]
    fn a_warm_up_is_cut_and_little_more() {
        for seed in 0..200 {
            let values = series(seed, 0.2, |i| 100.0 * (1.0 + 4.0 * (-(i as f64) / 10.0).exp()));
            let (cut, batches) = leading(&values).expect("enough");
            assert!((2..=12).contains(&cut) && batches == 40, "seed {seed}: {cut}");
        }
    }

    /// A stall in the window is what was to be measured, wherever it lies.
    #[test]
    fn a_stall_is_not_cut() {
        for at in [20, 60, 130, 180] {
            let stalled = |i: usize| if (at..at + 10).contains(&i) { 2_000.0 } else { 100.0 };
            for seed in 0..50 {
                let (cut, batches) = leading(&series(seed, 0.05, stalled)).expect("enough");
                assert!(cut < limits::STEADY_FEWEST_CUT && batches == 40, "at {at}, seed {seed}: {cut}");
            }
        }
    }

    #[test]
    fn what_never_settles_is_told() {
        for seed in 0..200 {
            let (cut, batches) = leading(&series(seed, 0.1, |i| 100.0 + 5.0 * i as f64)).expect("enough");
            assert!(cut * 2 > batches, "seed {seed}: {cut} of {batches}");
            let (cut, batches) = leading(&series(seed, 0.1, |i| if i < 150 { 300.0 } else { 100.0 })).expect("enough");
            assert!(cut * 2 > batches, "seed {seed}: {cut} of {batches}");
        }
    }

    #[test]
    fn too_little_tells_nothing() {
        assert_eq!(leading(&[1.0; 79]), None);
        assert_eq!(leading(&[1.0; 80]), Some((0, 16)));
    }

    #[test]
    fn the_parts_tile_the_window() {
        let slices = Slices::of(Nanos::from_secs(5), Nanos::from_secs(65));
        let at = |ms| slices.at(Nanos::from_millis(ms));
        assert_eq!([at(0), at(5_000), at(5_299), at(5_300), at(64_999), at(99_000)], [0, 0, 0, 1, 199, 199]);
        assert!((slices.seconds_before(10) - 3.0).abs() < 1e-9);
        assert_eq!(Slices::of(Nanos(7), Nanos(7)).at(Nanos(7)), 0);
    }
}
