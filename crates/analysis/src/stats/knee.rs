//! Where a curve bends: Kneedle, and two straight lines.
//!
//! Both depend on the range of loads that was swept: the knee is one *of this sweep*.

/// Which way a rising curve bends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Steep first, then flat: throughput over load.
    Concave,
    /// Flat first, then steep: latency over load.
    Convex,
}

/// Sensitivity of [`kneedle`] that its authors recommend.
pub const SENSITIVITY: f64 = 1.0;

/// A knee that [`kneedle`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Which of the points it is.
    pub index: usize,
    /// How far the normalised curve lies from the diagonal there, 0 to 1.
    pub difference: f64,
    /// What the difference had to fall below behind it.
    pub threshold: f64,
}

/// The first knee of a rising curve; `x` ascending. `None` where there is none: fewer than three points, an axis without
/// extent, or no local maximum of the difference curve behind which it falls by `sensitivity` mean steps of `x`.
///
/// Source: Satopää, Albrecht, Irwin, Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011. Smoothing is the
/// caller's ([`running_median`]).
pub fn kneedle(x: &[f64], y: &[f64], shape: Shape, sensitivity: f64) -> Option<Knee> {
    let n = x.len();
    if n < 3 || y.len() != n {
        return None;
    }
    let (x, y) = (normalised(x)?, normalised(y)?);
    // A convex curve is a concave one seen from its other end.
    let difference: Vec<f64> = match shape {
        Shape::Concave => x.iter().zip(&y).map(|(x, y)| y - x).collect(),
        Shape::Convex => x.iter().zip(&y).rev().map(|(x, y)| x - y).collect(),
    };
    let step = x.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / (n - 1) as f64;
    let is_peak =
        |i: usize| i > 0 && i + 1 < n && difference[i] > difference[i - 1] && difference[i] >= difference[i + 1];
    for peak in (1..n - 1).filter(|i| is_peak(*i)) {
        let threshold = difference[peak] - sensitivity * step;
        let fallen = (peak + 1..n).take_while(|i| !is_peak(*i)).any(|i| difference[i] < threshold);
        if fallen {
            let index = if shape == Shape::Concave { peak } else { n - 1 - peak };
            return Some(Knee { index, difference: difference[peak], threshold });
        }
    }
    None
}

/// Each value replaced by the median of itself and its neighbours, the ends kept. One outlier between good neighbours
/// goes; a curve that only rises or only falls stays as it is.
pub fn running_median(values: &[f64]) -> Vec<f64> {
    let mut smooth = values.to_vec();
    for (middle, triple) in values.windows(3).enumerate() {
        let mut triple = [triple[0], triple[1], triple[2]];
        triple.sort_unstable_by(f64::total_cmp);
        smooth[middle + 1] = triple[1];
    }
    smooth
}

/// To 0 … 1; `None` where all are equal or one is not finite.
fn normalised(values: &[f64]) -> Option<Vec<f64>> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let extent = high - low;
    let usable = extent.is_finite() && extent > 0.0 && values.iter().all(|v| v.is_finite());
    usable.then(|| values.iter().map(|v| (v - low) / extent).collect())
}

/// Fewest points from which [`two_lines`] tells a knee.
pub const TWO_LINES_FEWEST: usize = 5;
/// The second line may rise by so much of the first one's slope.
const TAIL_SLOPE: f64 = 0.25;
/// Two lines must leave at most so much of one line's squared error.
const ERROR_LEFT: f64 = 0.5;
/// The curve must have come so far at the breakpoint, of its peak.
const OF_PEAK: f64 = 0.85;
/// A curve of less extent than this share of its largest value is flat.
const FLAT: f64 = 1e-9;

/// What [`two_lines`] finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TwoLines {
    /// Fewer than [`TWO_LINES_FEWEST`] points, or one that is not finite or not above 0.
    TooFewPoints,
    /// One line fits about as well, or the second one still rises.
    NoKnee {
        /// Squared error of one line, both axes as shares of their largest value.
        single_error: f64,
    },
    /// The curve bends.
    Knee {
        /// Where the lines meet, or the breakpoint where they meet elsewhere than between its neighbours; unit of `x`.
        at: f64,
        /// The point both lines share; unit of `x`.
        breakpoint: f64,
        /// Squared error of the two lines.
        error: f64,
        /// Squared error of one line.
        single_error: f64,
    },
}

/// The throughput knee as guidellm describes it: a rising line and a nearly level one that share a point. `x` ascending.
///
/// Of the breakpoints behind which the line rises at most a quarter as steeply, with at most half of one line's error and
/// with at least 85% of the peak reached, the one of least error.
pub fn two_lines(x: &[f64], y: &[f64]) -> TwoLines {
    let n = x.len();
    let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (x_max, y_max) = (largest(x), largest(y));
    let finite = x.iter().chain(y).all(|value| value.is_finite());
    if n < TWO_LINES_FEWEST || y.len() != n || !finite || x_max <= 0.0 || y_max <= 0.0 {
        return TwoLines::TooFewPoints;
    }
    let scaled = |values: &[f64], by: f64| values.iter().map(|value| value / by).collect::<Vec<_>>();
    let (x, y) = (scaled(x, x_max), scaled(y, y_max));
    let Some(single) = Segment::through(&x, &y) else { return TwoLines::TooFewPoints };
    let mut best: Option<(f64, usize, Segment, Segment)> = None;
    let flat = y.iter().all(|value| 1.0 - value <= FLAT);
    for shared in (1..n - 1).filter(|_| !flat) {
        let (rising, tail) =
            (Segment::through(&x[..=shared], &y[..=shared]), Segment::through(&x[shared..], &y[shared..]));
        let (Some(rising), Some(tail)) = (rising, tail) else { continue };
        let error = rising.error + tail.error;
        let bends = rising.slope > 0.0
            && tail.slope <= TAIL_SLOPE * rising.slope
            && error <= ERROR_LEFT * single.error
            && y[shared] >= OF_PEAK;
        if bends && best.as_ref().is_none_or(|(least, ..)| error < *least) {
            best = Some((error, shared, rising, tail));
        }
    }
    let Some((error, shared, rising, tail)) = best else { return TwoLines::NoKnee { single_error: single.error } };
    let meet = (tail.intercept - rising.intercept) / (rising.slope - tail.slope);
    let at = if meet >= x[shared - 1] && meet <= x[shared + 1] { meet } else { x[shared] };
    TwoLines::Knee { at: at * x_max, breakpoint: x[shared] * x_max, error, single_error: single.error }
}

struct Segment {
    slope: f64,
    intercept: f64,
    error: f64,
}

impl Segment {
    /// The least-squares line; `None` where all `x` are equal.
    fn through(x: &[f64], y: &[f64]) -> Option<Self> {
        let n = x.len() as f64;
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
        let together: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = (spread > 0.0).then(|| together / spread)?;
        let intercept = mean_y - slope * mean_x;
        let error = x.iter().zip(y).map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
        Some(Self { slope, intercept, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_does_not_bend_a_curve() {
        let y = [1.0, 2.0, 9.0, 4.0, 5.0];
        assert_eq!(running_median(&y), [1.0, 2.0, 4.0, 5.0, 5.0]);
        let rising = [1.0, 2.0, 4.0, 4.5, 4.6];
        assert_eq!(running_median(&rising), rising);
        assert_eq!(running_median(&[3.0]), [3.0]);
    }

    #[test]
    fn what_is_not_a_number_is_no_knee() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        let y = [1.0, f64::NAN, 3.0, 3.0, 3.0];
        assert_eq!(kneedle(&x, &y, Shape::Concave, SENSITIVITY), None);
        assert_eq!(two_lines(&x, &y), TwoLines::TooFewPoints);
        assert_eq!(two_lines(&x, &[0.0; 5]), TwoLines::TooFewPoints);
    }
}
