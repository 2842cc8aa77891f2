//! When to look at which connection again: one entry a place, however many requests go over it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kneepoint_model::Nanos;

/// No look is planned.
const NEVER: Nanos = Nanos(u64::MAX);

/// The next look at each place. An entry is only ever brought forward: whoever looks finds what the time limit is by
/// then, so that a stream's every event need not move it.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    looks: BinaryHeap<Reverse<(Nanos, usize)>>,
    planned: Vec<Nanos>,
}

impl Deadlines {
    /// Plans a look at `place` not later than `at`.
    pub(crate) fn plan(&mut self, place: usize, at: Nanos) {
        if self.planned.len() <= place {
            self.planned.resize(place + 1, NEVER);
        }
        if at < self.planned[place] {
            self.planned[place] = at;
            self.looks.push(Reverse((at, place)));
        }
    }

    /// A place that is to be looked at now; it has no look planned any more.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<usize> {
        while let Some(&Reverse((at, place))) = self.looks.peek() {
            let is_valid = self.planned[place] == at;
            if is_valid && at > now {
                return None;
            }
            self.looks.pop();
            if is_valid {
                self.planned[place] = NEVER;
                return Some(place);
            }
        }
        None
    }

    /// When the next look is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.looks.peek().map(|Reverse((at, _))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_brought_forward_and_never_put_off() {
        let mut deadlines = Deadlines::default();
        deadlines.plan(3, Nanos(50));
        deadlines.plan(3, Nanos(70));
        deadlines.plan(1, Nanos(60));
        deadlines.plan(3, Nanos(20));
        assert_eq!((deadlines.next(), deadlines.pop(Nanos(19))), (Some(Nanos(20)), None));
        assert_eq!(deadlines.pop(Nanos(20)), Some(3));
        // The entry at 50 is of no use any more; a new one is.
        deadlines.plan(3, Nanos(55));
        assert_eq!(deadlines.pop(Nanos(54)), None);
        assert_eq!((deadlines.pop(Nanos(60)), deadlines.pop(Nanos(60))), (Some(3), Some(1)));
        assert_eq!((deadlines.pop(Nanos(1000)), deadlines.next()), (None, None));
    }

    #[test]
    fn requests_one_after_another_leave_one_entry() {
        let mut deadlines = Deadlines::default();
        for second in 0..1000 {
            deadlines.plan(0, Nanos::from_secs(120 + second));
        }
        assert_eq!(deadlines.looks.len(), 1);
    }
}
