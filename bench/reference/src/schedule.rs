//! When events are due, and how late they were written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The due instants of all streams, earliest first.
#[derive(Debug, Default)]
pub struct Due(BinaryHeap<Reverse<(u64, u64)>>);

impl Due {
    /// The stream with this token is due then.
    pub fn push(&mut self, at: u64, token: u64) {
        self.0.push(Reverse((at, token)));
    }

    /// The earliest instant.
    pub fn first(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the earliest, if it is due at `now`.
    pub fn take(&mut self, now: u64) -> Option<(u64, u64)> {
        if self.first()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}

/// Spreads streams that come together, so that they neither write nor end together.
///
/// Each new one waits a share of the width that runs evenly through it, and then until the next of the emptiest slots of a
/// gap between tokens.
#[derive(Debug)]
pub struct Spread {
    gap: u64,
    width: u64,
    n_placed: u64,
    streams: Vec<u32>,
}

impl Spread {
    /// Over this width, with slots of about 50 µs in each gap.
    pub fn new(gap: u64, width: u64) -> Self {
        let slots = usize::try_from(gap / 50_000).unwrap_or(1).clamp(1, 4_096);
        Self { gap, width, n_placed: 0, streams: vec![0; slots] }
    }

    /// An instant from `at` on, less than the width and a gap later, whose slot has the fewest streams; and that slot.
    pub fn place(&mut self, at: u64) -> (u64, usize) {
        // Multiples of the golden ratio are spread evenly, however many there are.
        let share = self.n_placed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.n_placed += 1;
        let wanted = at + ((share * self.width) >> 32);
        let n = self.streams.len();
        let slot_width = (self.gap / n as u64).max(1);
        let first = usize::try_from(wanted % self.gap / slot_width).unwrap_or(0).min(n - 1);
        let step = (0..n).min_by_key(|step| self.streams[(first + step) % n]).unwrap_or(0);
        let slot = (first + step) % n;
        self.streams[slot] += 1;
        (wanted + step as u64 * slot_width, slot)
    }

    /// A stream has ended.
    pub fn leave(&mut self, slot: usize) {
        self.streams[slot] -= 1;
    }
}

/// A histogram of microseconds, exact up to 100 ms.
#[derive(Debug)]
pub struct Lateness {
    by_us: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { by_us: vec![0; 100_001], count: 0, max_ns: 0 }
    }
}

impl Lateness {
    /// Counts one event.
    pub fn push(&mut self, ns: u64) {
        let us = usize::try_from(ns / 1_000).unwrap_or(usize::MAX).min(self.by_us.len() - 1);
        self.by_us[us] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The microsecond in which this share of the events was written, or `None` without any.
    pub fn quantile_us(&self, permille: u64) -> Option<u64> {
        let rank = (self.count * permille).div_ceil(1_000).max(1);
        let mut seen = 0;
        self.by_us.iter().zip(0..).find_map(|(n, us)| {
            seen += n;
            (seen >= rank).then_some(us)
        })
    }

    /// The latest of all.
    pub fn max_us(&self) -> u64 {
        self.max_ns / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_not_before_it_is_due() {
        let mut due = Due::default();
        due.push(30, 3);
        due.push(10, 1);
        due.push(20, 2);
        assert_eq!(due.take(9), None);
        assert_eq!(due.take(25), Some((10, 1)));
        assert_eq!(due.take(25), Some((20, 2)));
        assert_eq!(due.take(25), None);
        assert_eq!(due.first(), Some(30));
    }

    #[test]
    fn streams_that_come_together_get_slots_of_their_own() {
        let mut spread = Spread::new(1_000_000, 1_000_000); // 20 slots
        let places: Vec<_> = (0..20).map(|_| spread.place(7_025_000)).collect();
        let mut slots: Vec<_> = places.iter().map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..20).collect::<Vec<_>>());
        assert!(places.iter().all(|(at, slot)| at % 1_000_000 / 50_000 == *slot as u64), "{places:?}");
        assert!(places.iter().all(|(at, _)| (7_025_000..9_025_000).contains(at)), "{places:?}");
        spread.leave(places[4].1);
        assert_eq!(spread.place(7_025_000).1, places[4].1);
    }

    #[test]
    fn streams_are_spread_over_the_width() {
        let mut spread = Spread::new(1_000_000, 50_000_000);
        let mut tens: Vec<_> = (0..1_000).map(|_| spread.place(0).0 / 10_000_000).collect();
        tens.sort_unstable();
        assert!((0..5).all(|ten| (180..=220).contains(&tens.iter().filter(|t| **t == ten).count())), "{tens:?}");
    }

    #[test]
    fn quantiles_by_rank() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile_us(500), None);
        (1..=100).for_each(|us| lateness.push(us * 1_000));
        assert_eq!(
            (lateness.quantile_us(500), lateness.quantile_us(990), lateness.max_us()),
            (Some(50), Some(99), 100)
        );
    }
}
