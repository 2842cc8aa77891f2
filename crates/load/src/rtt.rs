//! The round trip measured beside the load: a TCP handshake a second, on connections of its own.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use kneepoint_model::Nanos;

use crate::clock::Clock;

const EVERY: Duration = Duration::from_secs(1);
/// A handshake that takes longer is a lost packet sent again, not a round trip.
const LONGEST: Duration = Duration::from_millis(900);

/// The last round trip, until it is taken.
#[derive(Debug, Default)]
pub(crate) struct LastRtt(AtomicU64);

impl LastRtt {
    /// The round trip since the last call, if there was one.
    pub(crate) fn take(&self) -> Option<Nanos> {
        Some(Nanos(self.0.swap(0, Ordering::AcqRel))).filter(|rtt| *rtt > Nanos::ZERO)
    }

    /// Shakes hands with `address` until `end` is hung up. What fails is left out: the load's own failures tell of it.
    ///
    /// Nothing is sent over the connection. The span holds the round trip and this thread's way back to its core.
    pub(crate) fn keep(&self, address: SocketAddr, clock: Clock, end: &Receiver<()>) {
        while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            let asked = clock.now();
            if TcpStream::connect_timeout(&address, LONGEST).is_ok() {
                self.0.store(clock.now().saturating_sub(asked).0.max(1), Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_handshake_is_seen_once_and_a_refusal_never() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let closed = {
            let gone = TcpListener::bind("127.0.0.1:0").unwrap();
            gone.local_addr().unwrap()
        };
        for (address, answers) in [(open, true), (closed, false)] {
            let (hang_up, end) = channel();
            let rtt = &LastRtt::default();
            std::thread::scope(|scope| {
                scope.spawn(move || rtt.keep(address, Clock::start(), &end));
                std::thread::sleep(Duration::from_millis(1300));
                assert_eq!(rtt.take().is_some(), answers);
                assert_eq!(rtt.take(), None);
                drop(hang_up);
            });
        }
    }
}
