//! Trend of a series: least squares with a margin from Student's t.

use super::beta::t_two_sided;

/// A fitted line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Rise per step.
    pub slope: f64,
    /// Value at step 0.
    pub intercept: f64,
    /// Standard error of the slope.
    pub standard_error: f64,
    /// Half width of the slope's 95% interval.
    pub margin95: f64,
}

impl Line {
    /// `true` if the series rises and the margin is at most `limit` of the rise.
    pub fn rises(&self, limit: f64) -> bool {
        self.slope > 0.0 && self.margin95 <= limit * self.slope
    }
}

/// The least-squares line through `values` at `x = 0, 1, 2, …`; `None` under three values.
pub fn fit(values: &[f64]) -> Option<Line> {
    let n = values.len();
    if n < 3 {
        return None;
    }
    let size = n as f64;
    let middle = (size - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / size;
    let spread = size * (size * size - 1.0) / 12.0;
    let slope = values.iter().enumerate().map(|(x, y)| (x as f64 - middle) * (y - mean)).sum::<f64>() / spread;
    let intercept = mean - slope * middle;
    let residuals: f64 = values.iter().enumerate().map(|(x, y)| (y - intercept - slope * x as f64).powi(2)).sum();
    let standard_error = (residuals / (size - 2.0) / spread).sqrt();
    Some(Line { slope, intercept, standard_error, margin95: standard_error * t_two_sided(0.95, size - 2.0) })
}
