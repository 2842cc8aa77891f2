//! One request at a time, waited for: what the probe needs, over the same transport as the load.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use kneepoint_model::plan::{HttpVersion, Platform};
use kneepoint_model::{Nanos, Prompt};
use kneepoint_wire::exchange::{Answer, Step};
use kneepoint_wire::page::{Page, PageReader};
use kneepoint_wire::request::{RequestTemplate, Target};
use kneepoint_wire::transport::{ArrivalClock, Condition, Endpoint, ReadBuffer, Transport, TransportFailure};
use mio::{Events, Interest, Poll, Token};

use crate::clock::{Clock, KernelClock};
use crate::stop::{Stop, StopSignal};

const READ_BUFFER: usize = 64 * 1024;

/// Why a single request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    /// The connection failed.
    #[error("{}{}", kind.code(), if detail.is_empty() { String::new() } else { format!(": {detail}") })]
    Transport {
        /// What happened.
        kind: kneepoint_model::FailureKind,
        /// What the system said.
        detail: String,
    },
    /// No whole answer came in time.
    #[error("no whole answer within {limit}: {came_so_far}")]
    Timeout {
        /// The time given.
        limit: Nanos,
        /// How far it came.
        came_so_far: &'static str,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
    /// The machine would not wait for the socket.
    #[error("could not wait for the socket")]
    Poll(#[from] io::Error),
}

impl From<TransportFailure> for OnceError {
    fn from(failure: TransportFailure) -> Self {
        Self::Transport { kind: failure.kind, detail: failure.detail }
    }
}

/// An answered request.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) answer: Answer,
    pub(crate) sent: Nanos,
    pub(crate) tls: Option<String>,
    pub(crate) http: HttpVersion,
    /// The kernel stamped what arrived.
    pub(crate) kernel_stamps: bool,
}

/// What every single request needs beside itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience<'a> {
    pub(crate) timeout: Nanos,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a StopSignal,
}

/// How soon a request to stop is noticed.
const HEARTBEAT: Nanos = Nanos::from_millis(50);

/// Finds the first address that accepts a connection, and the fastest of `handshakes` TCP handshakes with it.
pub(crate) fn reach(
    endpoint: &Endpoint,
    handshakes: usize,
    timeout: Nanos,
    clock: Clock,
) -> Result<(Endpoint, Nanos), OnceError> {
    let mut first_error = None;
    for &address in endpoint.addresses() {
        match fastest_handshake(address, handshakes, timeout, clock) {
            Ok(fastest) => return Ok((endpoint.pinned_to(address), fastest)),
            Err(error) => {
                let failure = kneepoint_wire::transport::connect_failure(&error);
                first_error.get_or_insert(OnceError::Transport {
                    kind: failure.kind,
                    detail: format!("{address}: {}", failure.detail),
                });
            }
        }
    }
    Err(first_error.unwrap_or(OnceError::Timeout { limit: timeout, came_so_far: "no address answered" }))
}

fn fastest_handshake(address: SocketAddr, times: usize, timeout: Nanos, clock: Clock) -> io::Result<Nanos> {
    let mut fastest = None;
    for _ in 0..times.max(1) {
        let started = clock.now();
        drop(std::net::TcpStream::connect_timeout(&address, timeout.into())?);
        let took = clock.now().saturating_sub(started);
        fastest = Some(fastest.map_or(took, |best: Nanos| best.min(took)));
    }
    Ok(fastest.unwrap_or_default())
}

/// Sends one request of the template and waits for its answer.
pub(crate) fn exchange(
    endpoint: &Endpoint,
    template: &RequestTemplate,
    prompt: &Prompt,
    patience: Patience<'_>,
) -> Result<Done, OnceError> {
    let mut bytes = Vec::new();
    template.render(prompt, &mut bytes);
    let mut exchange = template.exchange(false);
    let transport = converse(endpoint, &bytes, patience, |piece| match piece {
        Piece::Bytes(at, bytes) => exchange.received(at, bytes) == Step::Done,
        Piece::Closed(at) => {
            exchange.closed(at);
            true
        }
    })?;
    let sent = transport.sent().unwrap_or_default();
    let kernel_stamps = transport.read_delay().first.is_some();
    let (tls, http) = (transport.tls_version(), transport.http_version());
    Ok(Done { answer: exchange.finish(), sent, tls, http, kernel_stamps })
}

/// Fetches a page from the platform with its own credentials.
pub(crate) fn get(
    endpoint: &Endpoint,
    platform: &Platform,
    target: &Target,
    path: &str,
    patience: Patience<'_>,
) -> Result<Page, OnceError> {
    let request = kneepoint_wire::page::get_request(platform, target, path);
    let mut reader = PageReader::new();
    converse(endpoint, &request, patience, |piece| match piece {
        Piece::Bytes(_, bytes) => reader.received(bytes),
        Piece::Closed(_) => true,
    })?;
    Ok(reader.finish())
}

enum Piece<'a> {
    Bytes(Nanos, &'a [u8]),
    Closed(Nanos),
}

/// Connects, sends, and feeds what comes to `take` until it says that it has enough.
fn converse(
    endpoint: &Endpoint,
    request: &[u8],
    patience: Patience<'_>,
    mut take: impl FnMut(Piece<'_>) -> bool,
) -> Result<Transport, OnceError> {
    let Patience { timeout, clock, stop } = patience;
    let deadline = clock.now() + timeout;
    let mut answered = false;
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(8);
    let mut buffer = ReadBuffer::new(READ_BUFFER);
    let clock = KernelClock::new(clock);
    let mut transport = Transport::connect(endpoint, &clock)?;
    poll.registry().register(transport.socket(), Token(0), Interest::READABLE | Interest::WRITABLE)?;
    transport.send(request, &clock)?;
    loop {
        let left = deadline.saturating_sub(clock.now());
        if stop.asked() != Stop::No {
            return Err(OnceError::Stopped);
        }
        if left == Nanos::ZERO {
            let came_so_far = match (answered, transport.is_open()) {
                (true, _) => "an answer began and did not end",
                (false, true) => "connected, and not a byte came",
                (false, false) if transport.milestones().tcp.is_some() => {
                    "connected, and the TLS session never came up"
                }
                (false, false) => "the connection never came up",
            };
            return Err(OnceError::Timeout { limit: timeout, came_so_far });
        }
        match poll.poll(&mut events, Some(Duration::from(left.min(HEARTBEAT)))) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            let read_closed = event.is_read_closed() || event.is_error();
            let mut enough = false;
            let result = transport.ready(read_closed, &mut buffer, &clock, |at, bytes| {
                answered = true;
                enough |= take(Piece::Bytes(at, bytes));
            });
            match result {
                _ if enough => return Ok(transport),
                Ok(Condition::Alive) => {}
                Ok(Condition::Closed(at)) => {
                    take(Piece::Closed(at));
                    return Ok(transport);
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }
}
