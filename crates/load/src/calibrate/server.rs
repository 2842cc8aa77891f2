//! The server of known timing: answers `OpenAI` chat streams over loopback, and notes when it wrote each event.
//!
//! Knows its own schedule and nothing of the client. Each event's instant is taken right before the call that hands it to
//! the kernel, on the run's own clock; how late the server itself was is taken after that call, so that a server which
//! loses its processor in between says so instead of letting the client look slow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kneepoint_model::Nanos;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::host::raise_thread_priority;

/// Stands before a request's index in its prompt.
pub(super) const KEY: &str = "calibration-request-";

const LISTENER: Token = Token(usize::MAX);
const ALARM: Token = Token(usize::MAX - 1);
/// Longest sleep: how late the end may be noticed.
const HEARTBEAT: Nanos = Nanos::from_millis(20);
/// Events written before the sockets are looked at again, so that a server with too much to write still reads.
const MOST_AT_ONCE: usize = 256;
/// A request longer than this is none of the calibration's.
const LONGEST_REQUEST: usize = 64 * 1024;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const TOKEN_EVENT: &str = "data: {\"id\":\"chatcmpl-calibration\",\"object\":\"chat.completion.chunk\",\"created\":0,\
    \"model\":\"calibration\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n";

/// How the server answers every request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// From one event of an answer to the next; also the mean from a request to the first event.
    pub(super) gap: Nanos,
    /// Token events in an answer; at least 2.
    pub(super) events: u32,
}

/// One event as the server wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Right before it was handed to the kernel.
    pub(super) at: Nanos,
    /// From when it was due to when the kernel had it.
    pub(super) late: Nanos,
}

/// What the server did: the events of every whole answer, by the request's index.
pub(super) type Truth = HashMap<u64, Vec<Written>>;

/// A running server; ends when dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Truth>>>,
}

impl Server {
    /// Serves on a free port of the loopback interface.
    pub(super) fn start(pace: Pace, clock: Clock) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let alarm = Alarm::register(poll.registry(), ALARM)?;
        let ending = Arc::new(AtomicBool::new(false));
        let serving = Serving {
            pace,
            phrases: Phrases::new(),
            clock,
            poll,
            alarm,
            listener,
            links: Vec::new(),
            vacant: Vec::new(),
            due: BinaryHeap::new(),
            truth: Truth::new(),
            ending: Arc::clone(&ending),
        };
        let thread = std::thread::Builder::new().name("calibration".into()).spawn(move || serving.run())?;
        Ok(Self { address, ending, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server and returns what it did.
    pub(super) fn end(mut self) -> io::Result<Truth> {
        self.ending.store(true, Ordering::Release);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(io::Error::other("the calibration's server ended by a panic")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
    }
}

/// The bytes of an answer, made once.
#[derive(Debug)]
struct Phrases {
    first: Vec<u8>,
    next: Vec<u8>,
    last: Vec<u8>,
}

impl Phrases {
    fn new() -> Self {
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let finish = TOKEN_EVENT.replace("{\"content\":\" token\"}", "{}").replace("null", "\"length\"");
        let next = chunk(TOKEN_EVENT);
        let last = format!("{next}{}{}0\r\n\r\n", chunk(&finish), chunk("data: [DONE]\n\n"));
        Self { first: format!("{HEAD}{next}").into_bytes(), next: next.into_bytes(), last: last.into_bytes() }
    }
}

/// An answer under way.
#[derive(Debug)]
struct Answer {
    index: u64,
    first_due: Nanos,
    written: Vec<Written>,
}

#[derive(Debug)]
struct Link {
    socket: TcpStream,
    input: Vec<u8>,
    /// What the socket would not take: the client does not read.
    unsent: Vec<u8>,
    answer: Option<Answer>,
}

struct Serving {
    pace: Pace,
    phrases: Phrases,
    clock: Clock,
    poll: Poll,
    alarm: Alarm,
    listener: TcpListener,
    links: Vec<Option<Link>>,
    vacant: Vec<usize>,
    /// When the next event of an answer is due, its connection and its request: earliest first.
    due: BinaryHeap<Reverse<(Nanos, usize, u64)>>,
    truth: Truth,
    ending: Arc<AtomicBool>,
}

impl Serving {
    fn run(mut self) -> io::Result<Truth> {
        raise_thread_priority();
        let mut events = Events::with_capacity(1024);
        while !self.ending.load(Ordering::Acquire) {
            self.write_due();
            self.wait(&mut events)?;
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    ALARM => self.alarm.rang(),
                    Token(place) => self.serve(place),
                }
            }
        }
        Ok(self.truth)
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let now = self.clock.now();
        let mut timeout = HEARTBEAT;
        if let Some(Reverse((due, _, _))) = self.due.peek() {
            let ahead = due.saturating_sub(now);
            if Alarm::IS_FINE && ahead > Nanos::ZERO {
                self.alarm.set(*due, now)?;
            } else {
                timeout = timeout.min(ahead);
            }
        }
        match self.poll.poll(events, Some(Duration::from(timeout))) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result,
        }
    }

    fn write_due(&mut self) {
        for _ in 0..MOST_AT_ONCE {
            let Some(&Reverse((due, place, index))) = self.due.peek() else { return };
            if due > self.clock.now() {
                return;
            }
            self.due.pop();
            self.write_event(due, place, index);
        }
    }

    /// Writes one event of the answer to request `index`, if its connection still lives, and plans the next.
    fn write_event(&mut self, due: Nanos, place: usize, index: u64) {
        let Some(link) = self.links[place].as_mut() else { return };
        let Some(answer) = link.answer.as_mut().filter(|answer| answer.index == index) else { return };
        let count = answer.written.len() + 1;
        let is_last = count >= self.pace.events as usize;
        let bytes = if is_last {
            &self.phrases.last
        } else if count == 1 {
            &self.phrases.first
        } else {
            &self.phrases.next
        };
        let at = self.clock.now();
        let written = put(&mut link.socket, &mut link.unsent, bytes);
        let late = self.clock.now().saturating_sub(due);
        answer.written.push(Written { at, late });
        if !written {
            self.close(place);
        } else if is_last {
            if let Some(answer) = link.answer.take() {
                self.truth.insert(answer.index, answer.written);
            }
            self.read_request(place);
        } else {
            let next = Nanos(answer.first_due.0 + self.pace.gap.0 * count as u64);
            self.due.push(Reverse((next, place, index)));
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let mut socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            // Refused: events would only leave later, and their instants would still be right.
            let _ = socket.set_nodelay(true);
            let place = self.vacant.pop().unwrap_or_else(|| {
                self.links.push(None);
                self.links.len() - 1
            });
            self.poll.registry().register(&mut socket, Token(place), Interest::READABLE | Interest::WRITABLE)?;
            self.links[place] = Some(Link { socket, input: Vec::new(), unsent: Vec::new(), answer: None });
            // What came before the registration makes no event of its own everywhere.
            self.serve(place);
        }
    }

    /// Moves what one connection can move.
    fn serve(&mut self, place: usize) {
        let Some(link) = self.links.get_mut(place).and_then(Option::as_mut) else { return };
        let unsent = std::mem::take(&mut link.unsent);
        let alive = put(&mut link.socket, &mut link.unsent, &unsent) && take(&mut link.socket, &mut link.input);
        if alive {
            self.read_request(place);
        } else {
            self.close(place);
        }
    }

    /// Takes up the next request of a connection once it is there in full.
    fn read_request(&mut self, place: usize) {
        let Some(link) = self.links[place].as_mut() else { return };
        if link.answer.is_some() {
            return;
        }
        match parse(&link.input) {
            Parsed::More if link.input.len() <= LONGEST_REQUEST => {}
            Parsed::More | Parsed::Foreign => self.close(place),
            Parsed::Request { index, length } => {
                link.input.drain(..length);
                let first_due = self.clock.now() + first_delay(self.pace.gap, index);
                let written = Vec::with_capacity(self.pace.events as usize);
                link.answer = Some(Answer { index, first_due, written });
                self.due.push(Reverse((first_due, place, index)));
            }
        }
    }

    fn close(&mut self, place: usize) {
        if let Some(mut link) = self.links[place].take() {
            // Closing the descriptor would deregister it as well; an error here changes nothing.
            let _ = self.poll.registry().deregister(&mut link.socket);
            self.vacant.push(place);
        }
    }
}

/// From a request to its first event: between half a gap and one and a half, evenly spread over the indices, so that
/// streams that begin together do not all write together.
fn first_delay(gap: Nanos, index: u64) -> Nanos {
    // Multiples of the golden ratio, modulo one, fill the unit interval evenly from the first on.
    let phase = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let share = u64::try_from((u128::from(gap.0) * u128::from(phase)) >> 64).unwrap_or(0);
    Nanos(gap.0 / 2 + share)
}

/// Hands bytes to a socket behind those it has not taken yet; `false` if the connection is gone.
fn put(socket: &mut TcpStream, unsent: &mut Vec<u8>, bytes: &[u8]) -> bool {
    if !unsent.is_empty() {
        unsent.extend_from_slice(bytes);
        return true;
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        match socket.write(rest) {
            Ok(0) => return false,
            Ok(n) => rest = &rest[n..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                unsent.extend_from_slice(rest);
                return true;
            }
            Err(_) => return false,
        }
    }
    true
}

/// Reads all a socket has; `false` if the connection is at its end.
fn take(socket: &mut TcpStream, input: &mut Vec<u8>) -> bool {
    let mut buffer = [0_u8; 4096];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => input.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parsed {
    /// Not all of it is there.
    More,
    /// Not a request of the calibration.
    Foreign,
    /// A whole request.
    Request { index: u64, length: usize },
}

fn parse(input: &[u8]) -> Parsed {
    let Some(head) = find(input, b"\r\n\r\n") else { return Parsed::More };
    let Ok(text) = std::str::from_utf8(&input[..head]) else { return Parsed::Foreign };
    let body = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let Some(body) = body.filter(|body| *body <= LONGEST_REQUEST) else { return Parsed::Foreign };
    let start = head + 4;
    let Some(body) = input.get(start..start + body) else { return Parsed::More };
    let index = find(body, KEY.as_bytes()).and_then(|at| {
        let digits = body[at + KEY.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.map(|byte| char::from(*byte)).collect::<String>().parse().ok()
    });
    match index {
        Some(index) => Parsed::Request { index, length: start + body.len() },
        None => Parsed::Foreign,
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_when_it_is_whole() {
        let body = format!("{{\"messages\":[{{\"content\":\"{KEY}42 please\"}}]}}");
        let whole = format!("POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole.as_bytes()[..cut]), Parsed::More, "{cut}");
        }
        let expected = Parsed::Request { index: 42, length: whole.len() };
        assert_eq!(parse(whole.as_bytes()), expected);
        assert_eq!(parse(format!("{whole}POST").as_bytes()), expected);
    }

    #[test]
    fn a_strange_request_is_refused() {
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n"), Parsed::Foreign);
        assert_eq!(parse(b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"), Parsed::Foreign);
        assert_eq!(parse(b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n"), Parsed::Foreign);
    }

    #[test]
    fn first_events_are_spread_over_one_gap() {
        let gap = Nanos::from_millis(20);
        let mut delays: Vec<u64> = (0..1000).map(|index| first_delay(gap, index).0).collect();
        delays.sort_unstable();
        assert!(delays[0] >= gap.0 / 2 && delays[999] < gap.0 * 3 / 2);
        // Even spreading puts one in every thousandth of the gap; no hole is wider than a few.
        let widest = delays.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(widest <= gap.0 / 250, "{widest}");
    }

    #[test]
    fn chunks_say_their_length() {
        let phrases = Phrases::new();
        let text = String::from_utf8(phrases.next).unwrap();
        let (length, rest) = text.split_once("\r\n").unwrap();
        assert_eq!(usize::from_str_radix(length, 16).unwrap(), rest.len() - 2);
        assert!(String::from_utf8(phrases.last).unwrap().contains("\"delta\":{},\"finish_reason\":\"length\""));
    }
}
