//! Correction of coordinated omission, for imported closed-loop latencies only.
//!
//! Our own latencies count from the intended instant and need none. Source: the expected-interval recording of
//! `HdrHistogram`: a value `v` stands also for the requests that a stalled client failed to send meanwhile.

/// The values with those that were omitted: `v`, `v − interval`, `v − 2·interval`, … while at least `interval`.
/// An interval of zero corrects nothing. Ascending.
pub fn corrected(values: &[u64], expected_interval: u64) -> Vec<u64> {
    let mut all = Vec::with_capacity(values.len());
    for &value in values {
        all.push(value);
        let mut left = value;
        while expected_interval > 0 && left >= 2 * expected_interval {
            left -= expected_interval;
            all.push(left);
        }
    }
    all.sort_unstable();
    all
}
