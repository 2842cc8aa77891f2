//! The Universal Scalability Law: how throughput follows from the number of requests in flight.
//!
//! Source: Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6; fitted to throughput itself by bounded
//! least squares, since the textbook's fit to `N ÷ X` weighs small loads most.

/// Fewest points from which a fit of three parameters says anything.
pub const FEWEST: usize = 4;
/// A coherency below this is the rounding of none: no peak follows from it.
const NO_COHERENCY: f64 = 1e-9;
/// Most steps of the fit; a smooth problem of three parameters needs about ten.
const STEPS: usize = 400;

/// `X(N) = γN ÷ (1 + σ(N − 1) + κN(N − 1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Throughput of one alone, in the unit of the throughputs fitted.
    pub gamma: f64,
    /// Contention, 0 to 1: the share of work that is done one after the other.
    pub sigma: f64,
    /// Coherency, 0 to 1: the cost of each pair that must agree.
    pub kappa: f64,
    /// Sum of squared residuals.
    pub error: f64,
    /// Share of the throughputs' variance that the fit explains; `None` where they do not vary.
    pub r2: Option<f64>,
}

impl Usl {
    /// Throughput at `n` in flight.
    pub fn throughput(&self, n: f64) -> f64 {
        self.gamma * n / denominator(n, self.sigma, self.kappa)
    }

    /// The number in flight at which throughput peaks; `None` where it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > NO_COHERENCY && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

/// The bounded least-squares fit, σ and κ within 0 to 1; `None` under [`FEWEST`] different numbers in flight, or with a
/// number or throughput that is not finite or not above 0.
pub fn fit(n: &[f64], throughput: &[f64]) -> Option<Usl> {
    let usable = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
    let mut different = n.to_vec();
    different.sort_unstable_by(f64::total_cmp);
    different.dedup();
    if different.len() < FEWEST || n.len() != throughput.len() || !usable(n) || !usable(throughput) {
        return None;
    }
    let mut best: Option<Fit> = None;
    // The surface has one valley per starting corner at worst; the best of a few starts is the fit.
    for sigma in [0.0, 0.01, 0.1, 0.5] {
        for kappa in [0.0, 1e-5, 1e-3, 0.1] {
            let fit = descend(n, throughput, sigma, kappa);
            if best.as_ref().is_none_or(|best| fit.error < best.error) {
                best = Some(fit);
            }
        }
    }
    let Fit { sigma, kappa, gamma, error } = best?;
    let mean = throughput.iter().sum::<f64>() / throughput.len() as f64;
    let total: f64 = throughput.iter().map(|x| (x - mean).powi(2)).sum();
    Some(Usl { gamma, sigma, kappa, error, r2: (total > 0.0).then(|| 1.0 - error / total) })
}

fn denominator(n: f64, sigma: f64, kappa: f64) -> f64 {
    1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)
}

#[derive(Clone, Copy, Debug)]
struct Fit {
    sigma: f64,
    kappa: f64,
    gamma: f64,
    error: f64,
}

/// For given σ and κ the best γ is linear: what is left is a problem of two parameters.
fn at(n: &[f64], throughput: &[f64], sigma: f64, kappa: f64) -> Fit {
    let curve = || n.iter().map(|n| n / denominator(*n, sigma, kappa));
    let gamma = curve().zip(throughput).map(|(g, x)| g * x).sum::<f64>() / curve().map(|g| g * g).sum::<f64>();
    let error = curve().zip(throughput).map(|(g, x)| (x - gamma * g).powi(2)).sum();
    Fit { sigma, kappa, gamma, error }
}

/// Levenberg and Marquardt's method on σ and κ (variable projection, Kaufman's Jacobian), held inside the bounds.
fn descend(n: &[f64], throughput: &[f64], sigma: f64, kappa: f64) -> Fit {
    let mut fit = at(n, throughput, sigma, kappa);
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let (gradient, normal) = slopes(n, throughput, &fit);
        // A parameter on its bound that would leave it stays there.
        let held = [(fit.sigma, gradient[0]), (fit.kappa, gradient[1])]
            .map(|(value, slope)| (value <= 0.0 && slope > 0.0) || (value >= 1.0 && slope < 0.0));
        let Some(step) = solve(gradient, normal, damping, held) else { break };
        let next = at(n, throughput, (fit.sigma + step[0]).clamp(0.0, 1.0), (fit.kappa + step[1]).clamp(0.0, 1.0));
        if next.error < fit.error {
            let gained = fit.error - next.error;
            let moved = (next.sigma - fit.sigma).abs() > 1e-15 || (next.kappa - fit.kappa).abs() > 1e-18;
            fit = next;
            damping = (damping / 4.0).max(1e-15);
            if !moved || gained <= 1e-16 * fit.error {
                break;
            }
        } else {
            damping *= 4.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    fit
}

/// Half the gradient of the squared error, and the normal matrix (σσ, σκ, κκ).
fn slopes(n: &[f64], throughput: &[f64], fit: &Fit) -> ([f64; 2], [f64; 3]) {
    let curve: Vec<f64> = n.iter().map(|n| n / denominator(*n, fit.sigma, fit.kappa)).collect();
    let squares: f64 = curve.iter().map(|g| g * g).sum();
    let along = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
        n.iter().map(|n| -fit.gamma * n * of(*n) / denominator(*n, fit.sigma, fit.kappa).powi(2)).collect()
    };
    let (by_sigma, by_kappa) = (along(&|n| n - 1.0), along(&|n| n * (n - 1.0)));
    // What γ would make good is no slope: take the part orthogonal to the curve.
    let orthogonal = |derivative: Vec<f64>| -> Vec<f64> {
        let part = derivative.iter().zip(&curve).map(|(d, g)| d * g).sum::<f64>() / squares;
        derivative.iter().zip(&curve).map(|(d, g)| d - part * g).collect()
    };
    let (by_sigma, by_kappa) = (orthogonal(by_sigma), orthogonal(by_kappa));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let residuals: Vec<f64> = throughput.iter().zip(&curve).map(|(x, g)| x - fit.gamma * g).collect();
    let gradient = [-product(&residuals, &by_sigma), -product(&residuals, &by_kappa)];
    (gradient, [product(&by_sigma, &by_sigma), product(&by_sigma, &by_kappa), product(&by_kappa, &by_kappa)])
}

fn solve(gradient: [f64; 2], normal: [f64; 3], damping: f64, held: [bool; 2]) -> Option<[f64; 2]> {
    let [sigmas, mixed, kappas] = normal;
    let (a, d) = (sigmas * (1.0 + damping), kappas * (1.0 + damping));
    let alone = |slope: f64, square: f64| (square > 0.0).then(|| -slope / square);
    match held {
        [true, true] => None,
        [true, false] => Some([0.0, alone(gradient[1], d)?]),
        [false, true] => Some([alone(gradient[0], a)?, 0.0]),
        [false, false] => {
            let determinant = a * d - mixed * mixed;
            (determinant > 0.0).then(|| {
                [
                    (-gradient[0] * d + gradient[1] * mixed) / determinant,
                    (-gradient[1] * a + gradient[0] * mixed) / determinant,
                ]
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_told_only_where_throughput_falls() {
        let n = [1.0, 2.0, 4.0, 8.0, 16.0];
        let linear = fit(&n, &n.map(|n| 3.0 * n)).expect("enough points");
        assert!(linear.sigma < 1e-9 && linear.peak().is_none() && (linear.gamma - 3.0).abs() < 1e-9, "{linear:?}");
        let law = Usl { gamma: 50.0, sigma: 0.02, kappa: 0.01, error: 0.0, r2: None };
        let found = fit(&n, &n.map(|n| law.throughput(n))).expect("enough points");
        assert!((found.peak().expect("it falls") - 98.0_f64.sqrt()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn too_little_is_no_fit() {
        assert_eq!(fit(&[1.0, 2.0, 4.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(fit(&[1.0, 1.0, 2.0, 2.0], &[1.0, 1.0, 2.0, 2.0]), None);
        assert_eq!(fit(&[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 3.0, 4.0]), None);
    }
}
