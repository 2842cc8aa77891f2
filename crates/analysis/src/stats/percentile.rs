//! Percentiles: nearest rank with exact integer ranks, and the interpolated form other tools use.

/// A percentile in parts per million, so that its rank is integer arithmetic: 990 000 is the 99th.
///
/// In floating point 0.07 × 100 is 7.000000000000001, whose ceiling is a rank too far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ppm(pub u32);

impl Ppm {
    /// The median.
    pub const P50: Self = Self(500_000);
    /// The 90th percentile.
    pub const P90: Self = Self(900_000);
    /// The 95th percentile.
    pub const P95: Self = Self(950_000);
    /// The 99th percentile.
    pub const P99: Self = Self(990_000);
    /// The 99.9th percentile.
    pub const P999: Self = Self(999_000);

    /// As a share of one.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

/// The 1-based nearest rank `max(1, ⌈n·p⌉)`; `None` of nothing.
pub fn nearest_rank(n: usize, percentile: Ppm) -> Option<usize> {
    let product = (n as u128) * u128::from(percentile.0);
    let rank = usize::try_from(product.div_ceil(1_000_000)).expect("invariant: a rank is at most n, a usize");
    (n > 0).then(|| rank.clamp(1, n))
}

/// The nearest-rank percentile of ascending values.
pub fn nearest<T: Copy>(ascending: &[T], percentile: Ppm) -> Option<T> {
    nearest_rank(ascending.len(), percentile).map(|rank| ascending[rank - 1])
}

/// The linearly interpolated percentile (type 7 of Hyndman and Fan 1996, the default of `NumPy` and of most tools) of
/// ascending values. Only to compare with imported figures; our own are nearest rank.
pub fn linear_type7(ascending: &[f64], percentile: Ppm) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    // (n − 1)·p split into its whole and fractional part in integers.
    let position = (last as u128) * u128::from(percentile.0);
    let below = usize::try_from(position / 1_000_000).expect("invariant: the position is at most n − 1");
    let part = u32::try_from(position % 1_000_000).map_or(0.0, |part| f64::from(part) / 1e6);
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    Some(low + (high - low) * part)
}

/// Moves the elements of the given 0-based positions (ascending, in range) to where sorting would put them, in
/// O(n log k) rather than a full sort.
pub fn place<T: Ord>(values: &mut [T], positions: &[usize]) {
    let middle = positions.len() / 2;
    let Some(&position) = positions.get(middle) else { return };
    let (below, _, above) = values.select_nth_unstable(position);
    let lower = &positions[..middle];
    place(below, &lower[..lower.partition_point(|p| *p < position)]);
    let upper = &positions[middle + 1..];
    let upper: Vec<_> = upper.iter().filter(|p| **p > position).map(|p| p - position - 1).collect();
    place(above, &upper);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_exact() {
        assert_eq!(nearest_rank(100, Ppm(70_000)), Some(7));
        assert_eq!(nearest_rank(1_000, Ppm::P99), Some(990));
        assert_eq!(nearest_rank(0, Ppm::P50), None);
        assert_eq!(nearest_rank(3, Ppm(0)), Some(1));
    }

    #[test]
    fn placing_agrees_with_sorting() {
        let mut values: Vec<u64> = (0..1_000).map(|i| i * 7_919 % 257).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let positions = [0, 3, 3, 499, 500, 899, 998, 999];
        place(&mut values, &positions);
        for p in positions {
            assert_eq!(values[p], sorted[p], "position {p}");
        }
    }
}
