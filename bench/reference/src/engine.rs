//! The server: one thread, one epoll, absolute due instants.
//!
//! The first event of a stream is due `ttft` after the kernel received the request's last byte (plus the wait for its slot,
//! if streams are spread), and event k is due k gaps later, whatever became of those before it: lateness does not add up.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use crate::answer::{self, Identity, Shape, Stencil};
use crate::http::{self, NoRequest, Request, Target};
use crate::schedule::{Due, Lateness, Spread};
use crate::sys::{self, Epoll, Events, Ready};
use crate::truth::{Observed, Truth};

/// How the server answers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// From the request to the first event, ns.
    pub ttft: u64,
    /// From one event to the next, ns.
    pub gap: u64,
    /// Tokens of an answer, where the request does not say; `None`: 128.
    pub tokens: Option<u64>,
    /// Tokens in one event.
    pub tokens_per_event: u64,
    /// Everything at once, in as few writes as fit.
    pub unpaced: bool,
    /// By up to so many ns the first event of a stream is later, so that streams neither write nor end together.
    pub spread: u64,
    /// From the first generation request to the freeze, ns; and how long it freezes.
    pub stall: Option<(u64, u64)>,
    /// Below so many ns to the next event it polls instead of sleeping.
    pub spin: u64,
}

/// What the server says at the end.
#[derive(Debug)]
pub struct Outcome {
    /// Connections accepted.
    pub connections: u64,
    /// Requests answered to the end.
    pub requests: u64,
    /// Events written.
    pub events: u64,
    /// Answers that the client did not wait for.
    pub cut_off: u64,
    /// How late events were written; those due in the freeze and in the second after it are left out.
    pub lateness: Lateness,
    /// Begin and end of the freeze; 0 if there was none.
    pub stall: (u64, u64),
    /// When the first generation request came, and when the last answer was written; `CLOCK_MONOTONIC`, 0: never.
    pub busy: (u64, u64),
}

const LISTENER: u64 = u64::MAX;
const TERMINATION: u64 = u64::MAX - 1;
/// Between two looks at the sockets at most so many events are written.
const WRITES_PER_TURN: usize = 32;
/// And between two rounds of writing at most so many sockets are looked at.
const READS_PER_TURN: usize = 32;

/// A stream that is being written.
struct Stream {
    identity: Identity,
    next: u64,
    tokens: u64,
    usage: Option<(u64, u64)>,
    whole: bool,
    slot: Option<usize>,
    observed: Observed,
}

struct Connection {
    socket: TcpStream,
    port: u16,
    number: u32,
    n_requests: u32,
    input: Vec<u8>,
    output: Vec<u8>,
    waits_for_room: bool,
    stream: Option<Stream>,
}

/// The server and all its state.
pub struct Engine {
    settings: Settings,
    epoll: Epoll,
    listener: TcpListener,
    _termination: OwnedFd,
    connections: HashMap<u64, Connection>,
    due: Due,
    spread: Spread,
    truth: Option<Truth>,
    scratch: Vec<u8>,
    stencil: Stencil,
    buffer: Vec<u8>,
    stall_at: Option<u64>,
    n_answers: u64,
    outcome: Outcome,
}

impl Engine {
    /// Serves on the listener.
    pub fn new(settings: Settings, listener: TcpListener, truth: Option<Truth>) -> io::Result<Self> {
        sys::deepen_backlog(&listener)?;
        listener.set_nonblocking(true)?;
        let (epoll, termination) = (Epoll::new()?, sys::termination()?);
        epoll.add(&listener, LISTENER)?;
        epoll.add(&termination, TERMINATION)?;
        Ok(Self {
            settings,
            epoll,
            listener,
            _termination: termination,
            connections: HashMap::new(),
            due: Due::default(),
            spread: Spread::new(settings.gap.max(1), settings.spread),
            truth,
            scratch: Vec::new(),
            stencil: Stencil::empty(),
            buffer: vec![0; 65_536],
            stall_at: None,
            n_answers: 0,
            outcome: Outcome {
                connections: 0,
                requests: 0,
                events: 0,
                cut_off: 0,
                lateness: Lateness::default(),
                stall: (0, 0),
                busy: (0, 0),
            },
        })
    }

    /// Serves until SIGTERM or SIGINT.
    pub fn run(mut self) -> io::Result<Outcome> {
        let mut events = Events::with_room_for(READS_PER_TURN);
        loop {
            self.freeze_if_due();
            let timeout = self.write_what_is_due();
            self.epoll.wait(&mut events, timeout)?;
            for i in 0..events.len() {
                let ready = events.get(i);
                match ready.token {
                    LISTENER => self.accept(),
                    TERMINATION => return self.finish(),
                    _ => self.serve(ready),
                }
            }
        }
    }

    fn finish(mut self) -> io::Result<Outcome> {
        for connection in std::mem::take(&mut self.connections).into_values() {
            self.cut_off(connection);
        }
        if let Some(truth) = self.truth {
            truth.write(self.outcome.stall)?;
        }
        Ok(self.outcome)
    }

    /// Reads nothing and writes nothing for the time of the stall.
    fn freeze_if_due(&mut self) {
        let (Some(at), Some((_, length))) = (self.stall_at, self.settings.stall) else { return };
        let begin = sys::monotonic();
        if begin < at {
            return;
        }
        self.stall_at = None;
        std::thread::sleep(std::time::Duration::from_nanos((at + length).saturating_sub(begin)));
        self.outcome.stall = (begin, sys::monotonic());
    }

    /// Writes due events, and says how long there is nothing to write (`None`: until something comes).
    fn write_what_is_due(&mut self) -> Option<u64> {
        for _ in 0..WRITES_PER_TURN {
            let now = sys::monotonic();
            let Some((at, token)) = self.due.take(now) else {
                let next = [self.due.first(), self.stall_at].into_iter().flatten().min()?;
                let rest = next.saturating_sub(now);
                return Some(if rest < self.settings.spin { 0 } else { rest - self.settings.spin / 2 });
            };
            self.write_event(at, token);
        }
        Some(0)
    }

    fn write_event(&mut self, at: u64, token: u64) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let Some(stream) = &mut connection.stream else { return };
        self.scratch.clear();
        let (n, end) = if stream.whole {
            answer::push_whole(
                &mut self.scratch,
                stream.identity,
                stream.tokens,
                stream.usage.map_or(0, |usage| usage.0),
            );
            (stream.tokens, true)
        } else {
            if stream.next == 0 {
                self.scratch.extend_from_slice(answer::STREAM_HEAD);
            }
            let n = self.settings.tokens_per_event.min(stream.tokens - stream.next);
            answer::push_event(&mut self.scratch, stream.identity, stream.next, n);
            let end = stream.next + n == stream.tokens;
            if end {
                answer::push_end(&mut self.scratch, stream.identity, stream.usage);
            }
            (n, end)
        };
        stream.next += n;
        let before = sys::monotonic();
        if self.truth.is_some() {
            stream.observed.events.push(before);
        }
        let alive = connection.send(&self.scratch, &self.epoll, token);
        self.outcome.events += 1;
        let (_, stall_end) = self.outcome.stall;
        if stall_end == 0 || at > stall_end + 1_000_000_000 {
            self.outcome.lateness.push(before - at);
        }
        if !alive {
            self.close(token);
        } else if end {
            self.end_answer(token);
        } else {
            self.due.push(at + self.settings.gap, token);
        }
    }

    fn end_answer(&mut self, token: u64) {
        let Some(stream) = self.connections.get_mut(&token).and_then(|connection| connection.stream.take()) else {
            return;
        };
        self.outcome.requests += 1;
        self.outcome.busy.1 = sys::monotonic();
        if let Some(slot) = stream.slot {
            self.spread.leave(slot);
        }
        if let Some(truth) = &mut self.truth {
            truth.push(Observed { written: self.outcome.busy.1, ..stream.observed });
        }
    }

    fn accept(&mut self) {
        while let Ok((socket, peer)) = self.listener.accept() {
            let number = self.outcome.connections;
            self.outcome.connections += 1;
            let ready = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
            let ready =
                ready.and_then(|()| sys::stamp_receipts(&socket)).and_then(|()| self.epoll.add(&socket, number));
            if let Err(error) = ready {
                eprintln!("reference-server: could not set up a connection: {error}");
                continue;
            }
            let connection = Connection {
                socket,
                port: peer.port(),
                number: u32::try_from(number).unwrap_or(u32::MAX),
                n_requests: 0,
                input: Vec::new(),
                output: Vec::new(),
                waits_for_room: false,
                stream: None,
            };
            self.connections.insert(number, connection);
        }
    }

    fn serve(&mut self, ready: Ready) {
        let token = ready.token;
        let Some(connection) = self.connections.get_mut(&token) else { return };
        if ready.writable && !connection.send(&[], &self.epoll, token) {
            return self.close(token);
        }
        if !ready.readable {
            return;
        }
        let received = match sys::receive(&connection.socket, &mut self.buffer) {
            Ok((0, _)) => return self.close(token),
            Ok((n, stamp)) => {
                connection.input.extend_from_slice(&self.buffer[..n]);
                let (now, real) = (sys::monotonic(), sys::realtime());
                stamp.map_or(now, |stamp| now - real.saturating_sub(stamp))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return self.close(token),
        };
        let input = std::mem::take(&mut connection.input);
        let mut rest = &input[..];
        // A client that sends before it has its answer (pipelining) is answered as if it had not been asked before.
        while !rest.is_empty() {
            match http::parse(rest) {
                Ok(request) => {
                    self.answer(token, &request, received);
                    rest = &rest[request.size..];
                }
                Err(NoRequest::Incomplete) => break,
                Err(NoRequest::Bad) => return self.close(token),
            }
        }
        if let Some(connection) = self.connections.get_mut(&token) {
            let left = rest.len();
            connection.input = input;
            connection.input.drain(..connection.input.len() - left);
        }
    }

    fn answer(&mut self, token: u64, request: &Request, received: u64) {
        let shape = match request.target {
            Target::Chat => Shape::Chat,
            Target::Completions => Shape::Completions,
            other => return self.answer_at_once(token, other),
        };
        if let (None, (0, _), Some((after, _))) = (self.stall_at, self.outcome.stall, self.settings.stall) {
            self.stall_at = Some(received + after);
        }
        if self.outcome.busy.0 == 0 {
            self.outcome.busy.0 = received;
        }
        let Settings { ttft, gap, unpaced, .. } = self.settings;
        let tokens = request.max_tokens.or(self.settings.tokens).unwrap_or(128).max(1);
        let created = sys::realtime() / 1_000_000_000;
        let identity = Identity { shape, number: self.n_answers, created };
        self.n_answers += 1;
        let usage = (request.usage || !request.stream).then_some((request.prompt_words, tokens));
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let mut observed = Observed {
            received,
            read: sys::monotonic(),
            connection: connection.number,
            nth: connection.n_requests,
            port: connection.port,
            stream: request.stream,
            ..Observed::default()
        };
        connection.n_requests += 1;
        if unpaced {
            return self.answer_unpaced(token, identity, tokens, usage, observed);
        }
        let (mut due, mut slot) = (received + ttft, None);
        if !request.stream {
            due += gap * (tokens.div_ceil(self.settings.tokens_per_event) - 1);
        } else if self.settings.spread > 0 {
            let place = self.spread.place(due);
            (due, slot) = (place.0, Some(place.1));
        }
        observed.due = due;
        if self.truth.is_some() {
            observed.key = request.key.to_vec();
            observed.events.reserve(usize::try_from(tokens).unwrap_or(0).min(65_536));
        }
        connection.stream = Some(Stream { identity, next: 0, tokens, usage, whole: !request.stream, slot, observed });
        self.due.push(due, token);
    }

    fn answer_unpaced(&mut self, token: u64, id: Identity, tokens: u64, usage: Option<(u64, u64)>, observed: Observed) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let (bytes, n_events) = if observed.stream {
            self.stencil.answer(id, tokens, self.settings.tokens_per_event, usage)
        } else {
            self.scratch.clear();
            answer::push_whole(&mut self.scratch, id, tokens, usage.map_or(0, |usage| usage.0));
            (&self.scratch[..], 1)
        };
        let alive = connection.send(bytes, &self.epoll, token);
        self.outcome.events += n_events;
        self.outcome.requests += 1;
        self.outcome.busy.1 = sys::monotonic();
        if let Some(truth) = &mut self.truth {
            truth.push(Observed { written: self.outcome.busy.1, ..observed });
        }
        if !alive {
            self.close(token);
        }
    }

    fn answer_at_once(&mut self, token: u64, target: Target) {
        self.scratch.clear();
        let (status, body): (_, &[u8]) = match target {
            Target::Models => (
                "200 OK",
                br#"{"object":"list","data":[{"id":"reference","object":"model","created":0,"owned_by":"bench"}]}"#,
            ),
            Target::Health => ("200 OK", b"{}"),
            _ => ("404 Not Found", br#"{"error":{"message":"no such path","type":"not_found","code":404}}"#),
        };
        answer::push_json(&mut self.scratch, status, body);
        let Some(connection) = self.connections.get_mut(&token) else { return };
        if !connection.send(&self.scratch, &self.epoll, token) {
            self.close(token);
        }
    }

    fn close(&mut self, token: u64) {
        if let Some(connection) = self.connections.remove(&token) {
            self.cut_off(connection);
        }
    }

    fn cut_off(&mut self, connection: Connection) {
        let Some(stream) = connection.stream else { return };
        self.outcome.cut_off += 1;
        if let Some(slot) = stream.slot {
            self.spread.leave(slot);
        }
        if let Some(truth) = &mut self.truth {
            truth.push(stream.observed);
        }
    }
}

impl Connection {
    /// Writes what was left over and then these bytes, as far as there is room. `false`: the client has gone.
    fn send(&mut self, bytes: &[u8], epoll: &Epoll, token: u64) -> bool {
        let direct = self.output.is_empty();
        if !direct {
            self.output.extend_from_slice(bytes);
        }
        let pending = if direct { bytes } else { &self.output[..] };
        let mut written = 0;
        while written < pending.len() {
            match self.socket.write(&pending[written..]) {
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if direct {
            self.output.extend_from_slice(&bytes[written..]);
        } else {
            self.output.drain(..written);
        }
        let waits = !self.output.is_empty();
        if waits != self.waits_for_room {
            self.waits_for_room = waits;
            return epoll.watch_writing(&self.socket, token, waits).is_ok();
        }
        true
    }
}
