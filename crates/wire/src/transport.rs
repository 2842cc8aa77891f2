//! One connection: a non-blocking socket, TLS over it where asked for, and a stamp right after every read.
//!
//! Owns bytes and instants of one TCP connection. Knows nothing of dialects or schedules, and of HTTP only which version
//! is to be spoken: requests and answers are HTTP/1.1 to its user, and HTTP/2 is translated by [`crate::http2`] between
//! the user and the socket. It is told when the socket is ready, moves what it can, and hands every piece that arrived to its caller together with the instant of its
//! arrival: the kernel's, else the instant at which the read returned. Decrypting and parsing happen after that, so they
//! never lengthen a latency.

use std::io::{self, Read as _, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use kneepoint_model::plan::HttpVersion;
use kneepoint_model::{FailureKind, Nanos, Side};
use mio::net::TcpStream;
use rustls::{AlertDescription, ClientConnection};

pub use crate::failure::{TransportFailure, connect_failure};
use crate::failure::{http2_failure, io_failure, tls_failure, version_refused};
use crate::http2::Session;
use crate::outbox::Outbox;
use crate::receive;
pub use crate::receive::ReadBuffer;
use crate::request::Target;
use crate::tls::{TlsError, TlsSetup};

/// Why an endpoint cannot be used at all, before any connection.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Name resolution failed.
    #[error("could not resolve `{host}`")]
    Resolve {
        /// The name.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Name resolution gave nothing.
    #[error("`{host}` has no address")]
    NoAddress {
        /// The name.
        host: String,
    },
    /// TLS could not be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Where to connect, resolved once before the run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Endpoint {
    addresses: Arc<[SocketAddr]>,
    dns: Option<Nanos>,
    tls: Option<TlsSetup>,
    http: HttpVersion,
}

impl Endpoint {
    /// Resolves the target's name (blocking) and prepares TLS where the target asks for it. `now` reads the run's
    /// monotonic clock. HTTP/1.1 is spoken unless [`Endpoint::with_http`] says otherwise.
    pub fn resolve(target: &Target, ca: Option<&Path>, now: impl Fn() -> Nanos) -> Result<Self, EndpointError> {
        let host = target.host.trim_start_matches('[').trim_end_matches(']');
        let asked = now();
        let addresses: Vec<SocketAddr> = (host, target.port)
            .to_socket_addrs()
            .map_err(|source| EndpointError::Resolve { host: host.to_owned(), source })?
            .collect();
        let is_name = host.parse::<IpAddr>().is_err();
        let dns = is_name.then(|| now().saturating_sub(asked));
        if addresses.is_empty() {
            return Err(EndpointError::NoAddress { host: host.to_owned() });
        }
        let tls = target.tls.then(|| TlsSetup::new(host, ca)).transpose()?;
        Ok(Self { addresses: addresses.into(), dns, tls, http: HttpVersion::Http1 })
    }

    /// The same endpoint, spoken to in this version of HTTP and no other: under TLS it alone is offered, and a server that
    /// does not take it up is a failure; without TLS it is spoken from the first byte on.
    #[must_use]
    pub fn with_http(self, http: HttpVersion) -> Self {
        let tls = self.tls.map(|setup| setup.offering(http));
        Self { tls, http, ..self }
    }

    /// The version of HTTP that is spoken to it.
    pub fn http(&self) -> HttpVersion {
        self.http
    }

    /// How long the name's resolution took; `None` for an address, which needs none. It happens once, before the run, so
    /// no request waits for it.
    pub fn dns(&self) -> Option<Nanos> {
        self.dns
    }

    /// Every address the name resolved to, in the order of preference.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The same endpoint held to one address: a run must not wander between servers behind one name.
    #[must_use]
    pub fn pinned_to(&self, address: SocketAddr) -> Self {
        Self { addresses: Arc::new([address]), dns: self.dns, tls: self.tls.clone(), http: self.http }
    }
}

/// The clock that a connection is stamped with.
pub trait ArrivalClock {
    /// The run's monotonic time.
    fn now(&self) -> Nanos;

    /// The instant on that clock at which a packet arrived that the kernel stamped with `kernel`, nanoseconds on the
    /// system's real-time clock; `None` where the two clocks cannot be brought together.
    fn arrival(&self, kernel: Nanos) -> Option<Nanos>;
}

/// How long what arrived waited for the client to read it, as far as the kernel told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadDelay {
    /// Of the first read that had a kernel stamp.
    pub first: Option<Nanos>,
    /// Longest.
    pub longest: Nanos,
}

/// The instants of one connection's life, filled in as they happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    /// Connect was asked for.
    pub started: Option<Nanos>,
    /// The TCP connection was up.
    pub tcp: Option<Nanos>,
    /// The TLS handshake was done.
    pub tls: Option<Nanos>,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum State {
    Connecting,
    Handshaking,
    Open,
    /// The peer has closed its side.
    Closed,
}

/// What a call to [`Transport::ready`] left the connection in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Still usable.
    Alive,
    /// The peer closed its side at this instant; everything before it was handed over.
    Closed(Nanos),
}

/// One connection.
#[derive(Debug)]
pub struct Transport {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
    state: State,
    /// Between an HTTP/2 connection and its user.
    http2: Option<Box<Session>>,
    /// What is not yet taken by the socket or the TLS session.
    out: Outbox,
    /// The answer of HTTP/2 as HTTP/1.1, for the length of a read.
    answer: Vec<u8>,
    /// The socket takes no more.
    is_mute: bool,
    /// Instant at which the first byte of the request in `out` was handed over.
    sent: Option<Nanos>,
    /// Instant at which its last byte was.
    written: Option<Nanos>,
    milestones: Milestones,
    /// The kernel was asked to stamp what arrives.
    stamped: bool,
    delay: ReadDelay,
    last_arrival: Nanos,
}

impl Transport {
    /// Begins to connect to the endpoint's first address. Register [`Transport::socket`] for reading and writing.
    pub fn connect(endpoint: &Endpoint, clock: &impl ArrivalClock) -> Result<Self, TransportFailure> {
        let address = endpoint.addresses[0];
        let started = clock.now();
        let socket = TcpStream::connect(address).map_err(|error| connect_failure(&error))?;
        // A small write must not wait for the acknowledgement of the one before.
        socket.set_nodelay(true).map_err(|error| connect_failure(&error))?;
        let tls = match &endpoint.tls {
            Some(setup) => Some(Box::new(setup.session().map_err(|error| tls_failure(&error))?)),
            None => None,
        };
        let milestones = Milestones { started: Some(started), ..Milestones::default() };
        let stamped = receive::ask_for_stamps(&socket);
        let mut out = Outbox::default();
        let http2 = match endpoint.http {
            HttpVersion::Http1 => None,
            HttpVersion::Http2 => Some(Box::new(Session::new(tls.is_some(), &mut out))),
        };
        Ok(Self {
            socket,
            tls,
            state: State::Connecting,
            http2,
            out,
            answer: Vec::new(),
            is_mute: false,
            sent: None,
            written: None,
            milestones,
            stamped,
            delay: ReadDelay::default(),
            last_arrival: started,
        })
    }

    /// The socket, for registration with a poll.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// The instants of this connection's life.
    pub fn milestones(&self) -> Milestones {
        self.milestones
    }

    /// TLS protocol version in use, once the handshake is done.
    pub fn tls_version(&self) -> Option<String> {
        let version = self.tls.as_ref()?.protocol_version()?;
        Some(format!("{version:?}").replace('_', "."))
    }

    /// The version of HTTP that is spoken on this connection: the endpoint's, and no other.
    pub fn http_version(&self) -> HttpVersion {
        if self.http2.is_some() { HttpVersion::Http2 } else { HttpVersion::Http1 }
    }

    /// `true` once a request can leave without waiting for a handshake.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// How long what arrived since the current request waited to be read.
    pub fn read_delay(&self) -> ReadDelay {
        self.delay
    }

    /// When the first byte of the current request was handed to the socket.
    pub fn sent(&self) -> Option<Nanos> {
        self.sent
    }

    /// When the last byte of the current request was handed to the socket, under TLS encrypted. `None` until then, and
    /// for good where the peer closed without taking all of it.
    pub fn written(&self) -> Option<Nanos> {
        self.written
    }

    /// `true` once the whole current request was handed over. Over HTTP/2 it counts as frames.
    pub fn request_written(&self) -> bool {
        self.out.request_taken() && self.tls.as_ref().is_none_or(|tls| !tls.wants_write())
    }

    /// Makes `request`, a whole request of HTTP/1.1, the current one and hands over what the socket takes at once; the
    /// rest follows in [`Transport::ready`].
    pub fn send(&mut self, request: &[u8], clock: &impl ArrivalClock) -> Result<(), TransportFailure> {
        match &mut self.http2 {
            None => self.out.replace(request),
            Some(session) => session.request(request, &mut self.out).map_err(|error| http2_failure(&error))?,
        }
        self.sent = None;
        self.written = None;
        self.delay = ReadDelay::default();
        if self.state == State::Open { self.write(clock) } else { Ok(()) }
    }

    /// Gives the current request back as it was handed over, for another connection to send.
    pub fn take_request(&mut self) -> Vec<u8> {
        match &mut self.http2 {
            None => self.out.take_all(),
            Some(session) => session.take_request(),
        }
    }

    /// Moves what can be moved. `sink` gets every piece of plain text with the instant of its arrival.
    ///
    /// `read_closed` is the poll's word that the peer has shut down its side: without it a read that did not fill the
    /// buffer is known to have emptied the socket, which saves one call a wake-up.
    pub fn ready(
        &mut self,
        read_closed: bool,
        buffer: &mut ReadBuffer,
        clock: &impl ArrivalClock,
        mut sink: impl FnMut(Nanos, &[u8]),
    ) -> Result<Condition, TransportFailure> {
        if self.state == State::Connecting && !self.finish_connect(clock)? {
            return Ok(Condition::Alive);
        }
        if self.state == State::Handshaking || !self.out.pending().is_empty() || !self.request_written() {
            self.write(clock)?;
        }
        loop {
            match receive::read(&mut self.socket, self.stamped, buffer) {
                Ok(read) if read.bytes.is_empty() => {
                    let at = clock.now();
                    if self.state == State::Handshaking {
                        let detail = "closed during the TLS handshake".into();
                        return Err(TransportFailure::new(FailureKind::Tls, Side::Network, detail));
                    }
                    return self.closed(at);
                }
                Ok(read) => {
                    let at = stamp(&mut self.delay, &mut self.last_arrival, read.kernel, clock);
                    let may_be_more = read.filled || read_closed;
                    if self.tls.is_some() {
                        if self.decrypt(at, read.bytes, clock, &mut sink)? {
                            return self.closed(at);
                        }
                    } else if let Some(session) = &mut self.http2 {
                        let result = translate(session, &mut self.out, &mut self.answer, at, read.bytes, &mut sink);
                        // Acknowledgements, more of the body, or why the connection ends.
                        result.and(self.write(clock))?;
                    } else {
                        sink(at, read.bytes);
                    }
                    if self.http2.as_ref().is_some_and(|session| session.is_over()) {
                        return Ok(Condition::Closed(at));
                    }
                    if !may_be_more {
                        return Ok(Condition::Alive);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Condition::Alive),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_failure(&error)),
            }
        }
    }

    /// The peer has closed its side.
    fn closed(&mut self, at: Nanos) -> Result<Condition, TransportFailure> {
        self.state = State::Closed;
        match self.http2.as_ref().and_then(|session| session.closed()) {
            Some(error) => Err(http2_failure(&error)),
            None => Ok(Condition::Closed(at)),
        }
    }

    fn finish_connect(&mut self, clock: &impl ArrivalClock) -> Result<bool, TransportFailure> {
        if let Some(error) = self.socket.take_error().map_err(|error| connect_failure(&error))? {
            return Err(connect_failure(&error));
        }
        match self.socket.peer_addr() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(false),
            Err(error) => return Err(connect_failure(&error)),
        }
        self.milestones.tcp = Some(clock.now());
        self.state = if self.tls.is_some() { State::Handshaking } else { State::Open };
        Ok(true)
    }

    /// Writes handshake records and request bytes until the socket would block or nothing is left.
    fn write(&mut self, clock: &impl ArrivalClock) -> Result<(), TransportFailure> {
        if self.is_mute {
            self.out.give_up();
            return Ok(());
        }
        let result = loop {
            if let Some(session) = &mut self.http2 {
                session.fill(&mut self.out);
            }
            let has_bytes = self.state == State::Open && !self.out.pending().is_empty();
            if self.sent.is_none() && self.tls.is_none() && self.out.has_request() {
                self.sent = Some(clock.now());
            }
            let step = match &mut self.tls {
                None => write_all_ready(&mut self.socket, &mut self.out),
                // The session takes what fits its buffer; the rest follows once that has left.
                Some(tls) if has_bytes => {
                    let taken = tls.writer().write(self.out.pending());
                    taken.map(|taken| self.out.took(taken)).and_then(|()| {
                        if self.out.has_request() {
                            self.sent.get_or_insert_with(|| clock.now());
                        }
                        write_tls_ready(&mut self.socket, tls)
                    })
                }
                Some(tls) => write_tls_ready(&mut self.socket, tls),
            };
            if step.is_err() || !has_bytes {
                break step;
            }
        };
        match result {
            Ok(()) => {
                if self.sent.is_some() && self.request_written() {
                    self.written.get_or_insert_with(|| clock.now());
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            // The peer may have answered and closed without reading everything; what it said is still to be read.
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                self.is_mute = true;
                self.out.give_up();
                Ok(())
            }
            Err(error) => Err(io_failure(&error)),
        }
    }

    /// Feeds ciphertext to the session and plain text to the sink; `true` if the peer has ended the session.
    fn decrypt(
        &mut self,
        at: Nanos,
        mut ciphertext: &[u8],
        clock: &impl ArrivalClock,
        sink: &mut impl FnMut(Nanos, &[u8]),
    ) -> Result<bool, TransportFailure> {
        let mut plain = [0_u8; 16 * 1024];
        while !ciphertext.is_empty() {
            let tls = self.tls.as_mut().expect("invariant: only called on a TLS connection");
            tls.read_tls(&mut ciphertext).map_err(|error| io_failure(&error))?;
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
                    return Err(version_refused(self.http_version()));
                }
                Err(error) => {
                    // Tells the peer why, as far as the socket takes it; the failure itself is what is reported.
                    let _ = write_tls_ready(&mut self.socket, tls);
                    return Err(tls_failure(&error));
                }
            };
            if self.state == State::Handshaking && !tls.is_handshaking() {
                // A server that selects nothing speaks HTTP/1.1.
                if self.http2.is_some() && tls.alpn_protocol() != Some(b"h2") {
                    return Err(version_refused(HttpVersion::Http2));
                }
                self.milestones.tls = Some(at);
                self.state = State::Open;
            }
            let mut left = state.plaintext_bytes_to_read();
            let mut result = Ok(());
            while left > 0 && result.is_ok() {
                let n = tls.reader().read(&mut plain).map_err(|error| io_failure(&error))?;
                if n == 0 {
                    break;
                }
                match &mut self.http2 {
                    Some(session) => {
                        result = translate(session, &mut self.out, &mut self.answer, at, &plain[..n], sink);
                    }
                    None => sink(at, &plain[..n]),
                }
                left -= n.min(left);
            }
            if result.is_ok() && state.peer_has_closed() {
                return Ok(true);
            }
            if tls.wants_write() || (self.state == State::Open && !self.out.pending().is_empty()) {
                result = result.and(self.write(clock));
            }
            result?;
        }
        Ok(false)
    }
}

/// The instant of a read's arrival: the kernel's where it gave one, else now. Never before the arrival before it.
fn stamp(delay: &mut ReadDelay, last: &mut Nanos, kernel: Option<Nanos>, clock: &impl ArrivalClock) -> Nanos {
    let now = clock.now();
    let arrival = kernel.and_then(|kernel| clock.arrival(kernel)).filter(|arrival| *arrival <= now);
    if let Some(arrival) = arrival {
        let waited = now.saturating_sub(arrival);
        delay.first.get_or_insert(waited);
        delay.longest = delay.longest.max(waited);
    }
    *last = arrival.unwrap_or(now).max(*last);
    *last
}

/// Takes what arrived on a connection of HTTP/2, and hands over what of it is the answer.
fn translate(
    session: &mut Session,
    out: &mut Outbox,
    answer: &mut Vec<u8>,
    at: Nanos,
    bytes: &[u8],
    sink: &mut impl FnMut(Nanos, &[u8]),
) -> Result<(), TransportFailure> {
    answer.clear();
    let result = session.received(bytes, out, answer);
    if !answer.is_empty() {
        sink(at, answer);
    }
    result.map_err(|error| http2_failure(&error))
}

fn write_all_ready(socket: &mut TcpStream, out: &mut Outbox) -> io::Result<()> {
    while !out.pending().is_empty() {
        match socket.write(out.pending()) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => out.took(n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_tls_ready(socket: &mut TcpStream, tls: &mut ClientConnection) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
