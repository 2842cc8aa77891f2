//! How late events leave, measured against the deadlines the model gives them.

use std::sync::Mutex;

use kneepoint_model::Nanos;

use super::Punctuality;

/// From here on an event counts as late.
const LATE: Nanos = Nanos::from_millis(5);
/// Seconds that count as recent.
const RECENT_SECS: usize = 10;

/// Collects lags from both threads.
#[derive(Debug, Default)]
pub(super) struct LagMeter {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    late: u64,
    max: Nanos,
    /// Per second, the second and the most an event was late in it.
    recent: [(u64, Nanos); RECENT_SECS],
}

impl LagMeter {
    /// An event due at `due` left at `now`.
    pub(super) fn note(&self, due: Nanos, now: Nanos) {
        let lag = now.saturating_sub(due);
        let mut state = self.state.lock().expect("invariant: nothing panics while it holds this lock");
        state.late += u64::from(lag > LATE);
        state.max = state.max.max(lag);
        let second = now.0 / 1_000_000_000;
        let slot = &mut state.recent[slot_of(second)];
        if slot.0 != second {
            *slot = (second, Nanos::ZERO);
        }
        slot.1 = slot.1.max(lag);
    }

    pub(super) fn read(&self, now: Nanos) -> Punctuality {
        let state = self.state.lock().expect("invariant: nothing panics while it holds this lock");
        let second = now.0 / 1_000_000_000;
        let is_recent = |then: u64| then + RECENT_SECS as u64 > second;
        let lag_recent = state.recent.iter().filter(|(then, _)| is_recent(*then)).map(|(_, lag)| *lag).max();
        Punctuality { late: state.late, lag_recent: lag_recent.unwrap_or_default(), lag_max: state.max }
    }
}

fn slot_of(second: u64) -> usize {
    usize::try_from(second % RECENT_SECS as u64).expect("invariant: a remainder is small")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_worst_and_forgets_the_past() {
        let meter = LagMeter::default();
        meter.note(Nanos::from_millis(1000), Nanos::from_millis(1002));
        meter.note(Nanos::from_millis(1000), Nanos::from_millis(1007));
        meter.note(Nanos::from_millis(2000), Nanos::from_millis(1999));
        let now = meter.read(Nanos::from_secs(5));
        assert_eq!(now, Punctuality { late: 1, lag_recent: Nanos::from_millis(7), lag_max: Nanos::from_millis(7) });
        assert_eq!(meter.read(Nanos::from_secs(12)).lag_recent, Nanos::ZERO);
        assert_eq!(meter.read(Nanos::from_secs(12)).lag_max, Nanos::from_millis(7));
    }
}
