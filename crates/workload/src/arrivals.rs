//! When open-loop requests are sent: a schedule that never waits for an answer.
//!
//! Owns the arrival processes and the rule that ends a point's measured window. Knows no prompt and no clock: every
//! time here is an offset from the start of a point, so a schedule can be made, stored and compared before anything
//! is sent. Same rate, process, seed and point give the same nanoseconds on any machine.

use kneepoint_model::plan::{Arrival, Hold};
use kneepoint_model::random::SplitMix64;
use kneepoint_model::request::PointSchedule;
use kneepoint_model::units::{Nanos, RatePerSec};

/// The most arrivals one point may have; counting more would hold a run up before it starts.
pub const MAX_ARRIVALS: u64 = 1_000_000_000;

/// Why a point has no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// More than [`MAX_ARRIVALS`]. Lower the rate, or hold the level for less long.
    #[error("the schedule has more than {MAX_ARRIVALS} arrivals: lower the rate or hold the level for less long")]
    TooManyArrivals,
    /// No request would be intended in the measured window. Hold the level for longer.
    #[error("no request arrives in the measured window: raise the rate or hold the level for longer")]
    EmptyWindow,
}

/// The endless, ascending arrivals of one level.
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: RatePerSec,
    gaps: Gaps,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// The number of the next arrival.
    Constant(u64),
    /// The generator, and the sum of the gaps so far in units of the mean gap.
    Poisson(SplitMix64, f64),
}

/// The arrivals of a level, from the start of its point.
///
/// Constant: the first at 0, the i-th at `i ÷ rate`, each computed by itself so that no error accumulates; the
/// rounded quotient is the right nanosecond for 26 days (2⁵¹ ns). A span of `t` therefore holds exactly `rate × t`
/// arrivals where that is whole, else the next whole number above.
///
/// Poisson: gaps are exponential with mean `1 ÷ rate`, the first arrival comes after the first gap. The draws depend
/// on seed and point only: another rate stretches the same pattern.
pub fn schedule(level_rate: RatePerSec, arrival: Arrival, seed: u64, point: u64) -> Schedule {
    let gaps = match arrival {
        Arrival::Constant => Gaps::Constant(0),
        Arrival::Poisson => Gaps::Poisson(SplitMix64::for_purpose(seed, "arrivals", &[point]), 0.0),
    };
    Schedule { rate: level_rate, gaps }
}

impl Iterator for Schedule {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let mean_gaps = match &mut self.gaps {
            Gaps::Constant(next) => {
                let index = *next;
                *next += 1;
                index as f64
            }
            Gaps::Poisson(random, sum) => {
                *sum += random.exponential();
                *sum
            }
        };
        Some(offset(mean_gaps, self.rate))
    }
}

/// How far the schedule of an open-loop point reaches that is held as `hold` says, found by running it without storing it.
///
/// The measured window begins after the warm-up. It ends at the latest of `at_least` and the first arrival after the
/// `min_samples`-th in it, but never later than `at_most`. Ending just before an arrival, rather than just after one,
/// keeps the offered rate unbiased: n arrivals over the time to the next are `rate` in the mean for both processes.
pub fn open_loop(
    hold: &Hold,
    rate: RatePerSec,
    arrival: Arrival,
    seed: u64,
    point: u64,
) -> Result<PointSchedule, ScheduleError> {
    let arrivals = schedule(rate, arrival, seed, point);
    let shortest = hold.warm_up + hold.at_least;
    let longest = hold.warm_up + hold.at_most;
    // Twice as many expected: no draw brings that back below the limit, and nobody has to wait for the count.
    if shortest.as_secs_f64() * rate.get() > 2.0 * MAX_ARRIVALS as f64 {
        return Err(ScheduleError::TooManyArrivals);
    }
    let mut n_warm_up = 0_u64;
    let mut n_window = 0_u64;
    // The first arrival after enough of them.
    let mut satisfied_at = None;
    for at in arrivals {
        if satisfied_at.is_none() && at >= hold.warm_up && n_window >= hold.min_samples {
            satisfied_at = Some(at);
        }
        let window_end = satisfied_at.map_or(longest, |satisfied| satisfied.max(shortest).min(longest));
        if at >= window_end {
            let (arrivals, window_start) = (n_warm_up + n_window, hold.warm_up);
            let extent = PointSchedule { arrivals, measured: n_window, window_start, window_end };
            return if n_window == 0 { Err(ScheduleError::EmptyWindow) } else { Ok(extent) };
        }
        if at < hold.warm_up {
            n_warm_up += 1;
        } else {
            n_window += 1;
        }
        if n_warm_up + n_window > MAX_ARRIVALS {
            return Err(ScheduleError::TooManyArrivals);
        }
    }
    unreachable!("a schedule is endless")
}

/// The offset of the point that lies so many mean gaps from the start, to the nearest nanosecond; saturates.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative, and `as` saturates")]
fn offset(mean_gaps: f64, rate: RatePerSec) -> Nanos {
    Nanos((mean_gaps * 1e9 / rate.get()).round() as u64)
}
