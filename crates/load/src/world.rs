//! The seam between the driver and the world: connections, the wait for them, and the clock.
//!
//! [`Net`] is the real one. In virtual time another world stands in, and the driver, the schedule, the journal and all
//! that follows run as they are.

use std::time::Duration;

use kneepoint_model::Nanos;
use kneepoint_wire::transport::{
    ArrivalClock, Condition, Endpoint, Milestones, ReadBuffer, ReadDelay, Transport, TransportFailure, connect_failure,
};
use mio::{Events, Interest, Poll, Token};

use crate::alarm::Alarm;
use crate::clock::{Clock, KernelClock};
use crate::host;

/// One read takes at most this much.
const READ_BUFFER: usize = 64 * 1024;
/// Longest sleep: how late a stop request may be noticed.
const HEARTBEAT: Nanos = Nanos::from_millis(50);
/// The alarm rings this long before a request is due; the rest is spun away. A thread that sleeps is back on its core
/// some tens of microseconds after its alarm.
const SPIN: Nanos = Nanos(60_000);
/// Spinning may take at most one part in so many of the time between two requests.
const SPIN_SHARE: u64 = 8;

const ALARM: Token = Token(usize::MAX);

/// A connection that has something to say: its place, and whether its peer has closed or broken it.
pub(crate) type Stirred = (usize, bool);

/// What a driver works in.
pub(crate) trait World {
    /// A connection.
    type Connection: Connection + Send;

    /// `true` if a request that is due but not ready yet is waited for: in virtual time nothing is late meanwhile.
    const WAITS_FOR_REQUESTS: bool;

    /// The run's time.
    fn now(&self) -> Nanos;

    /// Begins a connection whose stirring carries `place`.
    fn connect(&mut self, endpoint: &Endpoint, place: usize) -> Result<Self::Connection, TransportFailure>;

    /// Hands a request over; what cannot be written at once follows by itself.
    fn send(&mut self, connection: &mut Self::Connection, request: &[u8]) -> Result<(), TransportFailure>;

    /// Lets a connection move what it can; `sink` gets what arrived, with its instant.
    fn advance(
        &mut self,
        connection: &mut Self::Connection,
        read_closed: bool,
        sink: impl FnMut(Nanos, &[u8]),
    ) -> Result<Condition, TransportFailure>;

    /// Lets go of a connection.
    fn release(&mut self, connection: &mut Self::Connection);

    /// Waits until a connection stirs, `dispatch` is due, or `other` has come, which may be late by a millisecond; never
    /// much longer than a heartbeat. Adds what stirred.
    fn wait(
        &mut self,
        now: Nanos,
        dispatch: Option<Nanos>,
        other: Option<Nanos>,
        stirred: &mut Vec<Stirred>,
    ) -> std::io::Result<()>;

    /// Largest error so far of the mapping from the kernel's clock to the run's; `None` where there was none.
    fn clock_mapping_error(&self) -> Option<Nanos>;
}

/// What a connection knows of the request on it.
pub(crate) trait Connection {
    /// When the connection came about.
    fn milestones(&self) -> Milestones;
    /// First byte of the request handed to the socket.
    fn sent(&self) -> Option<Nanos>;
    /// Last byte of the request handed to the socket.
    fn written(&self) -> Option<Nanos>;
    /// How long what arrived had waited to be read.
    fn read_delay(&self) -> ReadDelay;
    /// `true` once the whole request is written.
    fn request_written(&self) -> bool;
    /// Takes the request back, to send it elsewhere.
    fn take_request(&mut self) -> Vec<u8>;
}

impl Connection for Transport {
    fn milestones(&self) -> Milestones {
        self.milestones()
    }

    fn sent(&self) -> Option<Nanos> {
        self.sent()
    }

    fn written(&self) -> Option<Nanos> {
        self.written()
    }

    fn read_delay(&self) -> ReadDelay {
        self.read_delay()
    }

    fn request_written(&self) -> bool {
        self.request_written()
    }

    fn take_request(&mut self) -> Vec<u8> {
        self.take_request()
    }
}

/// Sockets, one poll, and the run's clock.
pub(crate) struct Net {
    clock: KernelClock,
    poll: Poll,
    events: Events,
    alarm: Alarm,
    buffer: ReadBuffer,
    /// Whether a core can be spared for spinning.
    spins: bool,
    last_dispatch: Nanos,
}

impl Net {
    /// For one of `workers` threads.
    pub(crate) fn new(clock: Clock, workers: usize) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        let alarm = Alarm::register(poll.registry(), ALARM)?;
        Ok(Self {
            clock: KernelClock::new(clock),
            poll,
            events: Events::with_capacity(1024),
            alarm,
            buffer: ReadBuffer::new(READ_BUFFER),
            spins: Alarm::IS_FINE && workers < host::cores(),
            last_dispatch: Nanos::ZERO,
        })
    }

    /// How long before `dispatch` the alarm has to ring.
    fn spin_before(&mut self, dispatch: Nanos) -> Nanos {
        let apart = dispatch.saturating_sub(self.last_dispatch);
        if self.spins && apart.0 >= SPIN.0 * SPIN_SHARE { SPIN } else { Nanos::ZERO }
    }
}

impl World for Net {
    type Connection = Transport;

    const WAITS_FOR_REQUESTS: bool = false;

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn connect(&mut self, endpoint: &Endpoint, place: usize) -> Result<Transport, TransportFailure> {
        let mut transport = Transport::connect(endpoint, &self.clock)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self.poll.registry().register(transport.socket(), Token(place), interest) {
            Ok(()) => Ok(transport),
            Err(error) => Err(connect_failure(&error)),
        }
    }

    fn send(&mut self, transport: &mut Transport, request: &[u8]) -> Result<(), TransportFailure> {
        transport.send(request, &self.clock)
    }

    fn advance(
        &mut self,
        transport: &mut Transport,
        read_closed: bool,
        sink: impl FnMut(Nanos, &[u8]),
    ) -> Result<Condition, TransportFailure> {
        transport.ready(read_closed, &mut self.buffer, &self.clock, sink)
    }

    fn release(&mut self, transport: &mut Transport) {
        // Closing the descriptor would deregister it as well; an error here changes nothing.
        let _ = self.poll.registry().deregister(transport.socket());
    }

    fn wait(
        &mut self,
        now: Nanos,
        dispatch: Option<Nanos>,
        other: Option<Nanos>,
        stirred: &mut Vec<Stirred>,
    ) -> std::io::Result<()> {
        let mut timeout = other.map_or(HEARTBEAT, |other| other.saturating_sub(now).min(HEARTBEAT));
        let mut spin_until = None;
        if let Some(dispatch) = dispatch {
            let ahead = dispatch.saturating_sub(now);
            if Alarm::IS_FINE && ahead <= HEARTBEAT {
                let spin = self.spin_before(dispatch);
                if ahead <= spin {
                    // Sockets are looked at once; what comes while spinning carries the kernel's stamp.
                    timeout = Nanos::ZERO;
                    spin_until = Some(dispatch);
                } else {
                    self.alarm.set(dispatch.saturating_sub(spin), now)?;
                }
            } else {
                timeout = timeout.min(ahead);
            }
        }
        match self.poll.poll(&mut self.events, Some(Duration::from(timeout))) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
            Err(_) => self.events.clear(),
            Ok(()) => {}
        }
        for event in &self.events {
            if event.token() == ALARM {
                self.alarm.rang();
            } else {
                stirred.push((event.token().0, event.is_read_closed() || event.is_error()));
            }
        }
        if let Some(dispatch) = spin_until {
            self.last_dispatch = dispatch;
            // What stirred is served first: it takes microseconds, and the spin goes on in the next wait.
            while stirred.is_empty() && self.clock.now() < dispatch {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn clock_mapping_error(&self) -> Option<Nanos> {
        self.clock.largest_error()
    }
}
