//! Little's law, `N = X·R`: requests in flight = completions per second × mean time in the system.
//!
//! Source: Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961.

/// Mean requests in flight that a rate and a mean latency imply.
pub fn in_flight(rate_per_s: f64, latency_s: f64) -> f64 {
    rate_per_s * latency_s
}

/// Mean latency, seconds, that requests in flight and a rate imply; `None` at rate 0.
pub fn latency_s(in_flight: f64, rate_per_s: f64) -> Option<f64> {
    (rate_per_s > 0.0).then(|| in_flight / rate_per_s)
}

/// `N ÷ (X·R) − 1`; `None` where the product is 0.
pub fn deviation(in_flight: f64, rate_per_s: f64, latency_s: f64) -> Option<f64> {
    let implied = rate_per_s * latency_s;
    (implied > 0.0).then(|| in_flight / implied - 1.0)
}
