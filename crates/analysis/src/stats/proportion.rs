//! Intervals of a proportion: Wilson's, which is shown, and Clopper and Pearson's, by name.

use super::beta;

/// The standard normal deviate of a two-sided 95% interval.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Wilson's score interval at 95%; `None` of nothing.
///
/// Source: Wilson, "Probable inference", JASA 22, 1927. Bounds are held to `[0, 1]`, and exact where all or none
/// succeeded.
pub fn wilson95(successes: u64, n: u64) -> Option<(f64, f64)> {
    if n == 0 {
        return None;
    }
    let (size, share) = (n as f64, successes.min(n) as f64 / n as f64);
    let z2 = Z95 * Z95;
    let centre = share + z2 / (2.0 * size);
    let half = Z95 * (share * (1.0 - share) / size + z2 / (4.0 * size * size)).sqrt();
    let scale = 1.0 + z2 / size;
    let lower = if successes == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
    let upper = if successes >= n { 1.0 } else { ((centre + half) / scale).min(1.0) };
    Some((lower, upper))
}

/// Clopper and Pearson's exact interval; `None` of nothing.
///
/// Source: Clopper, Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.
pub fn clopper_pearson(successes: u64, n: u64, confidence: f64) -> Option<(f64, f64)> {
    if n == 0 {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (k, size) = (successes.min(n) as f64, n as f64);
    let lower = if successes == 0 { 0.0 } else { beta::inverse(tail, k, size - k + 1.0) };
    let upper = if successes >= n { 1.0 } else { beta::inverse(1.0 - tail, k + 1.0, size - k) };
    Some((lower, upper))
}
