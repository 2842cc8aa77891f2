//! HTTP/2: conversations written by hand, frame by frame, laws, and a server of other authors.

mod client;
mod errors;
mod flow;
mod laws;
mod scripted;
mod server;
mod session;

use kneepoint_wire::http2::{Http2Error, Outbox, Session};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const PRIORITISED: u8 = 0x20;

pub(crate) const REQUEST: &[u8] = b"POST /v1/chat/completions HTTP/1.1\r\nHost: example.com:8000\r\nUser-Agent: u\r\n\
    Authorization: Bearer k1\r\nX-Own: v\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody";

/// A frame as it stands on the wire.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A literal header with a literal name, both shorter than 127 bytes.
pub(crate) fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|n| *n < 127).expect("short");
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// A head with these headers, in one frame.
pub(crate) fn head(stream: u32, flags: u8, headers: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = headers.iter().flat_map(|(name, value)| literal(name, value)).collect();
    frame(HEADERS, flags | END_HEADERS, stream, &block)
}

/// A server's first frame.
pub(crate) fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A connection between the tests and a session.
pub(crate) struct Talk {
    pub(crate) session: Session,
    pub(crate) out: Outbox,
}

impl Talk {
    /// A new connection without TLS.
    pub(crate) fn new() -> Self {
        let mut out = Outbox::default();
        Self { session: Session::new(false, &mut out), out }
    }

    /// A connection on which [`REQUEST`] was sent and the server's settings have come.
    pub(crate) fn asked() -> Self {
        let mut talk = Self::new();
        talk.session.request(REQUEST, &mut talk.out).expect("a request that can be sent");
        assert_eq!(talk.hear(&settings()), Ok(vec![]));
        talk.said();
        talk
    }

    /// The answer's bytes out of these of the server's.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Http2Error> {
        let mut answer = Vec::new();
        self.session.received(bytes, &mut self.out, &mut answer).map(|()| answer)
    }

    /// Everything that was said since the last time, taken by the socket.
    pub(crate) fn said(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        while !self.out.pending().is_empty() {
            said.extend_from_slice(self.out.pending());
            self.out.took(self.out.pending().len());
            self.session.fill(&mut self.out);
        }
        said
    }

    /// The frames of it.
    pub(crate) fn said_frames(&mut self) -> Vec<Frame> {
        let said = self.said();
        frames(said.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(&said))
    }
}

/// A frame that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut found = Vec::new();
    while let Some((&[a, b, c, kind, flags, s, t, u, v], rest)) = bytes.split_first_chunk() {
        let (payload, rest) = rest.split_at(u32::from_be_bytes([0, a, b, c]) as usize);
        found.push(Frame { kind, flags, stream: u32::from_be_bytes([s, t, u, v]), payload: payload.to_vec() });
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a whole number of frames");
    found
}
