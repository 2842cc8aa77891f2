//! The regularised incomplete beta function and the two distributions that rest on it: binomial and Student's t.
//!
//! The continued fraction is our own because the one in `statrs` stops after 140 terms without saying so: it needs
//! about √n of them, and pooled token gaps reach hundreds of millions.

use statrs::function::gamma::ln_gamma;

/// `I_x(a, b)` for `a, b > 0` and `x` in `[0, 1]`; arguments outside are clamped.
///
/// Continued fraction by the modified Lentz method, Numerical Recipes 6.4.
pub fn regularised(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast below the mean of the distribution; above it, use the symmetry.
    if x < (a + 1.0) / (a + b + 2.0) {
        (ln_front.exp() * fraction(x, a, b) / a).clamp(0.0, 1.0)
    } else {
        (1.0 - ln_front.exp() * fraction(1.0 - x, b, a) / b).clamp(0.0, 1.0)
    }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let lift = |v: f64| if v.abs() < TINY { TINY } else { v };
    let terms = 200.0 + 10.0 * (a.max(b)).sqrt();
    let mut above = 1.0;
    let mut below = 1.0 / lift(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    let mut term = 1.0;
    while term <= terms {
        let even = term * (b - term) * x / ((a + 2.0 * term - 1.0) * (a + 2.0 * term));
        below = 1.0 / lift(1.0 + even * below);
        above = lift(1.0 + even / above);
        value *= below * above;
        let odd = -(a + term) * (a + b + term) * x / ((a + 2.0 * term) * (a + 2.0 * term + 1.0));
        below = 1.0 / lift(1.0 + odd * below);
        above = lift(1.0 + odd / above);
        let step = below * above;
        value *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
        term += 1.0;
    }
    value
}

/// The `x` in `[0, 1]` at which `I_x(a, b) = p`, by bisection to the last bit.
pub fn inverse(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..1_100 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if regularised(middle, a, b) < p { low = middle } else { high = middle }
    }
    high
}

/// `P(X ≤ k)` for `X` binomial with `n` trials of probability `p`.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    regularised(1.0 - p, (n - k) as f64, k as f64 + 1.0)
}

/// `P(X ≥ k)` for `X` binomial with `n` trials of probability `p`; small values keep their precision.
pub fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n {
        return 0.0;
    }
    regularised(p, k as f64, (n - k) as f64 + 1.0)
}

/// The value Student's t with `degrees` degrees of freedom exceeds in absolute value with probability
/// `1 − confidence`.
pub fn t_two_sided(confidence: f64, degrees: f64) -> f64 {
    // P(|T| > t) = I_x(ν/2, 1/2) with x = ν / (ν + t²).
    let x = inverse(1.0 - confidence, degrees / 2.0, 0.5);
    (degrees * (1.0 - x) / x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-300), "{got} is not {want}");
    }

    #[test]
    fn known_values() {
        close(regularised(0.5, 2.0, 2.0), 0.5);
        close(binomial_cdf(1, 2, 0.5), 0.75);
        close(binomial_cdf(0, 662, 0.01), 0.99_f64.powi(662));
        close(t_two_sided(0.95, 9.0), 2.262_157_162_740_991_5);
        close(t_two_sided(0.95, 58.0), 2.001_717_483_012_09);
    }

    /// At the mean of a huge binomial the distribution function is a half; 140 terms would not get there.
    #[test]
    fn converges_for_hundreds_of_millions() {
        let n = 256_000_000;
        assert!((binomial_cdf(n / 2, n, 0.5) - 0.5).abs() < 1e-4);
        let deviations = (binomial_cdf(n / 2 + 15_680, n, 0.5) - 0.975).abs();
        assert!(deviations < 1e-3, "{deviations}");
    }
}
