//! One transport with a poll of its own: asks, and waits for the answer.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kneepoint_model::Nanos;
use kneepoint_model::plan::{Dialect, HttpVersion};
use kneepoint_wire::http1::ResponseParser;
use kneepoint_wire::request::Target;
use kneepoint_wire::transport::{ArrivalClock, Condition, Endpoint, ReadBuffer, Transport, TransportFailure};
use mio::{Events, Interest, Poll, Token};

/// Longest that a test waits.
const PATIENCE: Nanos = Nanos::from_secs(20);

pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a clock of the tests; the run's own belongs to another crate")]
    fn start() -> Self {
        Self(Instant::now())
    }
}

impl ArrivalClock for Clock {
    fn now(&self) -> Nanos {
        Nanos::from(self.0.elapsed())
    }

    fn arrival(&self, _kernel: Nanos) -> Option<Nanos> {
        None
    }
}

pub(crate) fn endpoint(url: &str, ca: Option<&Path>, http: HttpVersion) -> Endpoint {
    let target = Target::new(url, Dialect::OpenaiChat).expect("a URL");
    Endpoint::resolve(&target, ca, || Nanos::ZERO).expect("loopback").with_http(http)
}

/// Something that arrived, and when.
pub(crate) type Piece = (Nanos, Vec<u8>);

/// How an answer ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Whole, and the connection is still there.
    Whole,
    /// The server closed; before that it may have been whole.
    Closed,
    Failed(TransportFailure),
}

pub(crate) struct Client {
    pub(crate) transport: Transport,
    poll: Poll,
    buffer: ReadBuffer,
    clock: Clock,
}

impl Client {
    pub(crate) fn connect(endpoint: &Endpoint) -> Self {
        let clock = Clock::start();
        let poll = Poll::new().expect("a poll");
        let mut transport = Transport::connect(endpoint, &clock).expect("loopback");
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(transport.socket(), Token(0), interest).expect("registers");
        // Small, so that frames are cut anywhere.
        Self { transport, poll, buffer: ReadBuffer::new(1000), clock }
    }

    /// Sends a request and waits until its answer is whole or there will be none.
    pub(crate) fn ask(&mut self, request: &[u8]) -> (Vec<Piece>, End) {
        let mut pieces = Vec::new();
        let mut parser = ResponseParser::default();
        if let Err(failure) = self.transport.send(request, &self.clock) {
            return (pieces, End::Failed(failure));
        }
        let end = self.until(|at, bytes| {
            pieces.push((at, bytes.to_vec()));
            let mut bytes = bytes;
            while parser.next(&mut bytes).expect("HTTP/1.1").is_some() {}
            parser.is_complete()
        });
        (pieces, end.expect("an answer in time"))
    }

    /// Lets the connection move what it can for a while; `None` if nothing came of it but acknowledgements.
    pub(crate) fn idle(&mut self, time: Duration) -> Option<End> {
        self.moved(Nanos::from(time), |_, bytes| panic!("unasked: {:?}", String::from_utf8_lossy(bytes)))
    }

    fn until(&mut self, enough: impl FnMut(Nanos, &[u8]) -> bool) -> Option<End> {
        self.moved(PATIENCE, enough)
    }

    fn moved(&mut self, time: Nanos, mut enough: impl FnMut(Nanos, &[u8]) -> bool) -> Option<End> {
        let mut events = Events::with_capacity(8);
        let until = self.clock.now() + time;
        loop {
            let left = until.since(self.clock.now()).filter(|left| *left > Nanos::ZERO)?;
            match self.poll.poll(&mut events, Some(Duration::from(left))) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other.expect("polls"),
            }
            for event in &events {
                let mut is_whole = false;
                let closed = event.is_read_closed() || event.is_error();
                let result = self.transport.ready(closed, &mut self.buffer, &self.clock, |at, bytes| {
                    is_whole |= enough(at, bytes);
                });
                match result {
                    Err(failure) => return Some(End::Failed(failure)),
                    Ok(Condition::Closed(_)) => return Some(End::Closed),
                    Ok(Condition::Alive) if is_whole => return Some(End::Whole),
                    Ok(Condition::Alive) => {}
                }
            }
        }
    }
}

/// Everything that arrived, in one.
pub(crate) fn whole(pieces: &[Piece]) -> String {
    let bytes: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    String::from_utf8(bytes).expect("the servers of these tests speak ASCII")
}
