//! Quantities as types: construction, arithmetic and display in one place.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds: an instant on the run's monotonic clock (0 = start of the run) or a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all; as an instant, the start of the run.
    pub const ZERO: Self = Self(0);

    /// Whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Seconds, rounded to the nearest nanosecond; negative and non-finite values become zero, values past
    /// 584 years saturate.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is what the doc promises"
    )]
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self − earlier`, or `None` if `earlier` is later.
    pub fn since(self, earlier: Self) -> Option<Self> {
        self.0.checked_sub(earlier.0).map(Self)
    }

    /// `self − other`, at least zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Self {
        Self::from_nanos(n.0)
    }
}

impl fmt::Display for Nanos {
    /// The shortest exact form in one unit that reads well: `250ms`, `2s`, `10m`, `1.5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (size, unit) in UNITS {
            if self.0.is_multiple_of(size) {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        unreachable!("every count is a multiple of 1 ns")
    }
}

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Events per second; finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct RatePerSec(f64);

impl RatePerSec {
    /// A rate, or `None` unless it is finite and above zero.
    pub fn new(per_second: f64) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Self(per_second))
    }

    /// Events per second.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for RatePerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A share between 0 and 1 inclusive.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Share(f64);

impl Share {
    /// A share, or `None` unless it lies in `[0, 1]`.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// Between 0 and 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Share {
    /// As a percentage with up to three decimals: `99%`, `99.9%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", self.0 * 100.0);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_print_in_the_largest_exact_unit() {
        for (ns, text) in
            [(0, "0s"), (1, "1ns"), (1_500_000_000, "1500ms"), (600_000_000_000, "10m"), (7_200_000_000_000, "2h")]
        {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn shares_and_rates_refuse_nonsense() {
        assert!(Share::new(1.01).is_none() && Share::new(f64::NAN).is_none());
        assert!(RatePerSec::new(0.0).is_none() && RatePerSec::new(f64::INFINITY).is_none());
        assert_eq!(Share::new(0.999).expect("in range").to_string(), "99.9%");
    }
}
