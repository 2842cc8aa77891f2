//! A world in virtual time: a server that is a queue, and connections that are lists of what is to arrive.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write as _;

use kneepoint_model::Nanos;
use kneepoint_wire::transport::{Condition, Endpoint, Milestones, ReadDelay, TransportFailure};

use super::time::VirtualTime;
use crate::clock::Time;
use crate::world::{self, Stirred};

/// Longest wait where nothing is to come.
const IDLE: Nanos = Nanos::from_secs(1);

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// How the server of a world serves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// Requests served at a time; the others wait their turn.
    pub(super) servers: usize,
    /// From a request's turn to its first token, and between its tokens.
    pub(super) token: Nanos,
    /// Tokens of an answer.
    pub(super) tokens: u32,
}

#[derive(Debug)]
pub(super) struct VirtualWorld {
    time: &'static VirtualTime,
    service: Service,
    /// When each server is free.
    free: BinaryHeap<Reverse<Nanos>>,
    /// What is to arrive: when, at which place.
    arrivals: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl VirtualWorld {
    pub(super) fn new(time: &'static VirtualTime, service: Service) -> Self {
        time.join();
        let free = (0..service.servers).map(|_| Reverse(Nanos::ZERO)).collect();
        Self { time, service, free, arrivals: BinaryHeap::new() }
    }
}

impl Drop for VirtualWorld {
    fn drop(&mut self) {
        self.time.leave();
    }
}

#[derive(Debug)]
pub(super) struct VirtualConnection {
    place: usize,
    milestones: Milestones,
    sent: Option<Nanos>,
    request: Vec<u8>,
    pieces: VecDeque<(Nanos, String)>,
}

impl world::Connection for VirtualConnection {
    fn milestones(&self) -> Milestones {
        self.milestones
    }

    fn sent(&self) -> Option<Nanos> {
        self.sent
    }

    fn written(&self) -> Option<Nanos> {
        self.sent
    }

    fn read_delay(&self) -> ReadDelay {
        ReadDelay::default()
    }

    fn request_written(&self) -> bool {
        true
    }

    fn take_request(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.request)
    }
}

impl world::World for VirtualWorld {
    type Connection = VirtualConnection;

    const WAITS_FOR_REQUESTS: bool = true;

    fn now(&self) -> Nanos {
        self.time.now()
    }

    fn connect(&mut self, _: &Endpoint, place: usize) -> Result<VirtualConnection, TransportFailure> {
        let at = Some(self.time.now());
        let milestones = Milestones { started: at, tcp: at, ..Milestones::default() };
        Ok(VirtualConnection { place, milestones, sent: None, request: Vec::new(), pieces: VecDeque::new() })
    }

    fn send(&mut self, connection: &mut VirtualConnection, request: &[u8]) -> Result<(), TransportFailure> {
        let now = self.time.now();
        connection.sent = Some(now);
        connection.request = request.to_vec();
        let Reverse(free) = self.free.pop().expect("a server");
        let begins = free.max(now);
        let mut at = begins;
        for token in 0..self.service.tokens {
            at = at + self.service.token;
            let head = if token == 0 { HEAD } else { "" };
            let last = token + 1 == self.service.tokens;
            connection.pieces.push_back((at, format!("{head}{}", event(token, last))));
            self.arrivals.push(Reverse((at, connection.place)));
        }
        self.free.push(Reverse(at));
        Ok(())
    }

    fn advance(
        &mut self,
        connection: &mut VirtualConnection,
        _: bool,
        mut sink: impl FnMut(Nanos, &[u8]),
    ) -> Result<Condition, TransportFailure> {
        let now = self.time.now();
        while let Some((at, piece)) = connection.pieces.front().filter(|(at, _)| *at <= now) {
            sink(*at, piece.as_bytes());
            connection.pieces.pop_front();
        }
        Ok(Condition::Alive)
    }

    fn release(&mut self, _: &mut VirtualConnection) {}

    fn wait(
        &mut self,
        now: Nanos,
        dispatch: Option<Nanos>,
        other: Option<Nanos>,
        stirred: &mut Vec<Stirred>,
    ) -> std::io::Result<()> {
        let arrival = self.arrivals.peek().map(|Reverse((at, _))| *at);
        let next = dispatch.into_iter().chain(other).chain(arrival).min().unwrap_or(now + IDLE);
        self.time.sleep_until(next.min(now + IDLE));
        while let Some(&Reverse((at, place))) = self.arrivals.peek() {
            if at > self.time.now() {
                break;
            }
            self.arrivals.pop();
            stirred.push((place, false));
        }
        Ok(())
    }

    fn clock_mapping_error(&self) -> Option<Nanos> {
        None
    }
}

/// A chunk with one token, the last one with all that ends an answer.
fn event(token: u32, last: bool) -> String {
    let finish = if last { "\"stop\"" } else { "null" };
    let choice = format!(r#"{{"index":0,"delta":{{"content":"word{token} "}},"finish_reason":{finish}}}"#);
    let mut text = format!("data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{choice}]}}\n\n");
    if last {
        let usage = format!(r#"{{"prompt_tokens":4,"completion_tokens":{},"total_tokens":{}}}"#, token + 1, token + 5);
        let _ = write!(text, "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{usage}}}\n\n");
        text.push_str("data: [DONE]\n\n");
    }
    let end = if last { "0\r\n\r\n" } else { "" };
    format!("{:x}\r\n{text}\r\n{end}", text.len())
}
