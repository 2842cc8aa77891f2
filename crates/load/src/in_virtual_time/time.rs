//! Virtual time: it moves on once everybody who knows it is asleep, to the next moment that somebody sleeps until.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use kneepoint_model::Nanos;

use crate::clock::Time;

/// The coordinator looks at its workers so often.
const TICK: Nanos = Nanos::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct VirtualTime {
    now: AtomicU64,
    sleepers: Mutex<Sleepers>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Sleepers {
    awake: usize,
    until: Vec<Nanos>,
}

impl VirtualTime {
    /// A time that nobody outlives: a test's.
    pub(super) fn start() -> &'static Self {
        let time: &'static Self = Box::leak(Box::default());
        time.join();
        time
    }

    /// One more that time waits for.
    pub(super) fn join(&self) {
        self.sleepers.lock().expect("nobody panics in here").awake += 1;
    }

    /// One fewer.
    pub(super) fn leave(&self) {
        let mut sleepers = self.sleepers.lock().expect("nobody panics in here");
        sleepers.awake -= 1;
        self.move_on(&mut sleepers);
    }

    pub(super) fn sleep_until(&self, until: Nanos) {
        let mut sleepers = self.sleepers.lock().expect("nobody panics in here");
        sleepers.awake -= 1;
        sleepers.until.push(until);
        self.move_on(&mut sleepers);
        while self.now() < until {
            sleepers = self.moved.wait(sleepers).expect("nobody panics in here");
        }
        // `move_on` has counted this one awake already.
    }

    fn move_on(&self, sleepers: &mut Sleepers) {
        if sleepers.awake > 0 {
            return;
        }
        let Some(next) = sleepers.until.iter().copied().min() else { return };
        let now = next.max(self.now());
        self.now.store(now.0, Ordering::Release);
        let before = sleepers.until.len();
        sleepers.until.retain(|until| *until > now);
        sleepers.awake += before - sleepers.until.len();
        self.moved.notify_all();
    }
}

impl Time for VirtualTime {
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Acquire))
    }

    /// The coordinator's pause between two looks is stretched: a switch of threads for every 20 ms of days is a long time.
    fn sleep(&self, span: Nanos) {
        self.sleep_until(self.now() + span.max(TICK));
    }
}
