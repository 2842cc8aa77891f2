//! A wake-up finer than the poll's millisecond: a timer descriptor that the poll watches like a socket.
//!
//! On Linux this is `timerfd`, which fires within microseconds and is not subject to timer slack. Elsewhere the poll's
//! own timeout serves, and the schedule lag every record carries shows what that costs.

use kneepoint_model::Nanos;
use mio::{Registry, Token};

#[cfg(target_os = "linux")]
mod fine {
    use super::{Nanos, Registry, Token};
    use mio::unix::SourceFd;
    use rustix::fd::{AsRawFd, OwnedFd};
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

    #[derive(Debug)]
    pub(crate) struct Alarm {
        timer: OwnedFd,
        set_for: Option<Nanos>,
    }

    impl Alarm {
        pub(crate) fn register(registry: &Registry, token: Token) -> std::io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&timer.as_raw_fd()), token, mio::Interest::READABLE)?;
            Ok(Self { timer, set_for: None })
        }

        /// Wakes the poll at `at`, as seen from `now`. One alarm at a time: a new one replaces the old.
        pub(crate) fn set(&mut self, at: Nanos, now: Nanos) -> std::io::Result<()> {
            if self.set_for == Some(at) && at > now {
                return Ok(());
            }
            // Zero would disarm the timer.
            let ahead = at.saturating_sub(now).0.max(1);
            let it_value = Timespec {
                tv_sec: i64::try_from(ahead / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(ahead % 1_000_000_000).unwrap_or(0),
            };
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval: never, it_value };
            rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            self.set_for = Some(at);
            Ok(())
        }

        /// Takes the alarm back after it rang, so that it can ring again.
        pub(crate) fn rang(&mut self) {
            let mut count = [0_u8; 8];
            // Nothing to read only means that it was set anew in the meantime.
            let _ = rustix::io::read(&self.timer, &mut count);
            self.set_for = None;
        }

        /// `true` if the poll needs no timeout of its own for this alarm.
        pub(crate) const IS_FINE: bool = true;
    }
}

#[cfg(not(target_os = "linux"))]
mod fine {
    use super::{Nanos, Registry, Token};

    #[derive(Debug)]
    pub(crate) struct Alarm;

    impl Alarm {
        pub(crate) fn register(_registry: &Registry, _token: Token) -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn set(&mut self, _at: Nanos, _now: Nanos) -> std::io::Result<()> {
            Ok(())
        }

        pub(crate) fn rang(&mut self) {}

        pub(crate) const IS_FINE: bool = false;
    }
}

pub(crate) use fine::Alarm;
