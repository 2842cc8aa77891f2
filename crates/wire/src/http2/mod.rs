//! HTTP/2 (RFC 9113) for a connection that carries one request at a time: frames on the wire, HTTP/1.1 to its user.
//!
//! A request of HTTP/1.1 goes in and becomes frames; the server's frames come back as an answer of HTTP/1.1 in chunks. So
//! all that reads answers reads those of both versions, and is tested with both. Sans-I/O: bytes in, bytes out, no
//! socket and no clock. Frames that belong to the connection (SETTINGS, PING, `WINDOW_UPDATE`) are answered here and never
//! seen by the user. Knows nothing of dialects.

mod error;
mod frame;
mod hpack;
mod huffman;
mod message;
mod settings;
mod static_table;

pub use error::{ErrorCode, Http2Error};

use frame::{FrameHeader, FrameReader, Piece, flag, kind};
use hpack::Decoder;
use message::Headers;
use settings::Peer;

use crate::http1::MAX_HEAD;
pub use crate::outbox::Outbox;

/// What a client says first (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes the server may send ahead of our reading, on the stream and on the connection: as long as the longest answer
/// that is accepted, so that no answer waits for leave to go on.
const WINDOW: u32 = 16 << 20;

/// What the protocol allows before anything is agreed.
const DEFAULT_WINDOW: u32 = 65_535;

/// Most that lies in the outbox; the rest of a body waits in the request.
const QUEUE: usize = 256 * 1024;

/// Most frames that one header block may be spread over.
const MAX_CONTINUATIONS: u32 = 128;

/// How far the answer on a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
    Ended,
}

/// The one stream that is in use.
#[derive(Debug)]
struct Stream {
    id: u32,
    phase: Phase,
    head_only: bool,
    /// Bytes of the body by `content-length`.
    length: Option<u64>,
    /// Bytes of the body that came.
    came: u64,
    /// Bytes of DATA that came since the server's window was last opened.
    consumed: u32,
    /// What we may still send.
    send_window: i64,
    /// Where in the request the part of its body begins that is not queued; `None` once all of it is, or never will be.
    unsent: Option<usize>,
    /// A body cannot follow this head.
    no_body: bool,
}

/// A header block that has not ended.
#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    ends_stream: bool,
    continuations: u32,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    is_tls: bool,
    reader: FrameReader,
    decoder: Decoder,
    peer: Peer,
    block: Option<Block>,
    request: Vec<u8>,
    stream: Option<Stream>,
    next_id: u32,
    consumed: u32,
    send_window: i64,
    /// The last stream the server will answer, and why it closes.
    goaway: Option<(u32, ErrorCode)>,
}

impl Session {
    /// A connection over TLS or without; what a client says first is put into `out`.
    pub fn new(is_tls: bool, out: &mut Outbox) -> Self {
        let out = out.queue();
        out.extend_from_slice(PREFACE);
        settings::push_own(WINDOW, MAX_HEAD, out);
        push_window_update(0, WINDOW - DEFAULT_WINDOW, out);
        Self {
            is_tls,
            reader: FrameReader::default(),
            decoder: Decoder::new(MAX_HEAD),
            peer: Peer::default(),
            block: None,
            request: Vec::new(),
            stream: None,
            next_id: 1,
            consumed: 0,
            send_window: i64::from(DEFAULT_WINDOW),
            goaway: None,
        }
    }

    /// Puts a request of HTTP/1.1 into `out` as frames, as far as the server lets it; [`Session::fill`] does the rest.
    pub fn request(&mut self, request: &[u8], out: &mut Outbox) -> Result<(), Http2Error> {
        self.request.clear();
        self.request.extend_from_slice(request);
        if self.stream.as_ref().is_some_and(|stream| stream.phase != Phase::Ended || stream.unsent.is_some()) {
            return Err(Http2Error::Request { reason: "another request is under way" });
        }
        if let Some((_, code)) = self.goaway {
            return Err(Http2Error::GoneAway { code });
        }
        let id = self.next_id;
        if id > 0x7fff_ffff {
            return Err(Http2Error::Request { reason: "the connection has no stream numbers left" });
        }
        let mut block = Vec::with_capacity(1024);
        if id == 1 {
            hpack::encode_no_table(&mut block);
        }
        let asked = message::request_block(request, self.is_tls, &mut block)?;
        self.next_id += 2;
        let has_body = asked.body_start < request.len();
        self.stream = Some(Stream {
            id,
            phase: Phase::Head,
            head_only: asked.head_only,
            length: None,
            came: 0,
            consumed: 0,
            send_window: i64::from(self.peer.initial_window),
            unsent: has_body.then_some(asked.body_start),
            no_body: false,
        });
        out.queue();
        out.begin_request();
        self.push_block(id, &block, has_body, out.queue());
        if has_body {
            self.fill(out);
        } else {
            out.end_request();
        }
        Ok(())
    }

    fn push_block(&self, stream: u32, block: &[u8], has_body: bool, out: &mut Vec<u8>) {
        let mut pieces = block.chunks(self.peer.max_frame).peekable();
        let mut kind = kind::HEADERS;
        while let Some(piece) = pieces.next() {
            let mut flags = if pieces.peek().is_none() { flag::END_HEADERS } else { 0 };
            if kind == kind::HEADERS && !has_body {
                flags |= flag::END_STREAM;
            }
            frame::push(kind, flags, stream, piece, out);
            kind = kind::CONTINUATION;
        }
    }

    /// Puts as much of the request's body into `out` as the server and the outbox have room for.
    pub fn fill(&mut self, out: &mut Outbox) {
        let Some(stream) = &mut self.stream else { return };
        while let Some(from) = stream.unsent {
            let room = QUEUE.saturating_sub(out.pending().len());
            let window = usize::try_from(stream.send_window.min(self.send_window)).unwrap_or(0);
            let left = self.request.len() - from;
            let size = left.min(self.peer.max_frame).min(window).min(room);
            // A frame cut short by the outbox alone would only cost a header.
            if size == 0 || (size == room && size < left.min(self.peer.max_frame).min(window)) {
                return;
            }
            let is_last = size == left;
            let flags = if is_last { flag::END_STREAM } else { 0 };
            frame::push(kind::DATA, flags, stream.id, &self.request[from..from + size], out.queue());
            let sent = i64::try_from(size).expect("invariant: a frame is shorter than 2^24 bytes");
            stream.send_window -= sent;
            self.send_window -= sent;
            stream.unsent = (!is_last).then_some(from + size);
            if is_last {
                out.end_request();
            }
        }
    }

    /// Gives the current request back as it was handed over, for another connection to send.
    pub fn take_request(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.request)
    }

    /// Takes what arrived. The answer goes to `answer` as HTTP/1.1, also what came before an error; what must be said
    /// back goes to `out`.
    pub fn received(&mut self, mut bytes: &[u8], out: &mut Outbox, answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        let mut reader = std::mem::take(&mut self.reader);
        let mut result = Ok(());
        while result.is_ok() {
            result = match reader.next(&mut bytes) {
                Ok(None) => break,
                Ok(Some(piece)) => self.piece(&piece, out, answer),
                Err(error) => Err(error),
            };
        }
        self.reader = reader;
        if let Err(Http2Error::Protocol { code, .. }) = &result {
            push_goaway(*code, out.queue());
        } else if result.is_ok() {
            self.fill(out);
        }
        result
    }

    /// `true` if the server closes the connection and nothing is under way on it any longer.
    pub fn is_over(&self) -> bool {
        self.goaway.is_some() && self.stream.as_ref().is_none_or(|stream| stream.phase == Phase::Ended)
    }

    /// What the close of the connection by the peer means at this point, if it is more than a close.
    pub fn closed(&self) -> Option<Http2Error> {
        if !self.reader.has_begun() {
            return Some(Http2Error::Silent);
        }
        let (_, code) = self.goaway.filter(|(_, code)| *code != ErrorCode::NO_ERROR)?;
        let stream = self.stream.as_ref()?;
        (stream.phase != Phase::Ended).then_some(Http2Error::GoneAway { code })
    }

    fn piece(&mut self, piece: &Piece<'_>, out: &mut Outbox, answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        if let Piece::Frame(header, _) | Piece::DataBegins(header, _) = piece {
            let continues = header.kind == kind::CONTINUATION && self.stream_id() == Some(header.stream);
            if self.block.is_some() != continues {
                return Err(Http2Error::protocol("headers and their continuation are not in one piece"));
            }
        }
        match piece {
            Piece::DataBegins(header, content) => self.data_begins(*header, *content, answer),
            Piece::Data(bytes) => {
                answer.extend_from_slice(bytes);
                Ok(())
            }
            Piece::DataEnds(header, content) => self.data_ends(*header, *content, out, answer),
            Piece::Frame(header, payload) => self.frame(*header, payload, out, answer),
        }
    }

    fn stream_id(&self) -> Option<u32> {
        self.stream.as_ref().map(|stream| stream.id)
    }

    fn frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Outbox,
        answer: &mut Vec<u8>,
    ) -> Result<(), Http2Error> {
        let of_connection = matches!(header.kind, kind::SETTINGS | kind::PING | kind::GOAWAY);
        let of_stream = matches!(header.kind, kind::HEADERS | kind::RST_STREAM | kind::PRIORITY | kind::CONTINUATION);
        if (of_connection && header.stream != 0) || (of_stream && header.stream == 0) {
            return Err(Http2Error::protocol("a frame of the connection on a stream, or the other way round"));
        }
        match header.kind {
            kind::HEADERS => self.headers(header, payload, answer),
            kind::CONTINUATION => self.continuation(header, payload, answer),
            kind::RST_STREAM => self.reset(header, payload),
            kind::SETTINGS => self.settings(header, payload, out),
            kind::PING => ping(header, payload, out),
            kind::GOAWAY => self.goaway(payload),
            kind::WINDOW_UPDATE => self.window_update(header, payload),
            kind::PUSH_PROMISE => Err(Http2Error::protocol("a push, which was switched off")),
            kind::PRIORITY if payload.len() != 5 => Err(Http2Error::frame_size("a PRIORITY that is not 5 bytes long")),
            // Unknown frames are to be ignored (RFC 9113, section 4.1).
            _ => Ok(()),
        }
    }

    /// The current stream, which must be the one of this frame and still bring something.
    fn receiving(&mut self, id: u32) -> Result<&mut Stream, Http2Error> {
        if !self.was_opened(id) {
            return Err(Http2Error::protocol("a frame on a stream that was never opened"));
        }
        match &mut self.stream {
            Some(stream) if stream.id == id && stream.phase != Phase::Ended => Ok(stream),
            _ => Err(Http2Error::Protocol {
                code: ErrorCode::STREAM_CLOSED,
                reason: "a frame on a stream that had ended",
            }),
        }
    }

    fn data_begins(&mut self, header: FrameHeader, content: usize, answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        let stream = self.receiving(header.stream)?;
        if stream.phase == Phase::Head {
            return Err(Http2Error::Malformed { reason: "DATA before the headers" });
        }
        stream.came += content as u64;
        if content == 0 {
            return Ok(());
        }
        if stream.no_body || stream.length.is_some_and(|length| stream.came > length) {
            return Err(Http2Error::Malformed { reason: "more DATA than the headers announced" });
        }
        answer.extend_from_slice(format!("{content:x}\r\n").as_bytes());
        Ok(())
    }

    fn data_ends(
        &mut self,
        header: FrameHeader,
        content: usize,
        out: &mut Outbox,
        answer: &mut Vec<u8>,
    ) -> Result<(), Http2Error> {
        let stream = self.receiving(header.stream)?;
        if content > 0 {
            answer.extend_from_slice(b"\r\n");
        }
        // All that arrives is consumed at once, so a window never closes.
        let length = u32::try_from(header.length).expect("invariant: a frame is shorter than 2^24 bytes");
        if header.has(flag::END_STREAM) {
            stream.end(answer)?;
        } else {
            renew(&mut stream.consumed, length, header.stream, out);
        }
        renew(&mut self.consumed, length, 0, out);
        Ok(())
    }

    fn headers(&mut self, header: FrameHeader, payload: &[u8], answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        self.receiving(header.stream)?;
        let too_short = || Http2Error::frame_size("HEADERS shorter than what they must hold");
        let mut fragment = payload;
        if header.has(flag::PADDED) {
            let (&padding, rest) = fragment.split_first().ok_or_else(too_short)?;
            let kept = rest.len().checked_sub(usize::from(padding));
            fragment = &rest[..kept.ok_or(Http2Error::protocol("HEADERS with more padding than payload"))?];
        }
        if header.has(flag::PRIORITY) {
            // Dependency and weight say nothing to a connection with one stream.
            fragment = fragment.get(5..).ok_or_else(too_short)?;
        }
        let ends_stream = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.block_ended(fragment, ends_stream, answer);
        }
        self.block = Some(Block { bytes: fragment.to_vec(), ends_stream, continuations: 0 });
        Ok(())
    }

    fn continuation(&mut self, header: FrameHeader, payload: &[u8], answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        block.bytes.extend_from_slice(payload);
        block.continuations += 1;
        if block.bytes.len() > MAX_HEAD || block.continuations > MAX_CONTINUATIONS {
            let reason = "headers without end";
            return Err(Http2Error::Protocol { code: ErrorCode::ENHANCE_YOUR_CALM, reason });
        }
        if header.has(flag::END_HEADERS) {
            return self.block_ended(&block.bytes, block.ends_stream, answer);
        }
        self.block = Some(block);
        Ok(())
    }

    /// A whole header block of the current stream: a head, an interim head, or a trailer.
    fn block_ended(&mut self, block: &[u8], ends_stream: bool, answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        if stream.phase == Phase::Body {
            self.decoder.decode(block, Headers::trailer)?;
            if !ends_stream {
                return Err(Http2Error::Malformed { reason: "headers in the middle of the body" });
            }
            return stream.end(answer);
        }
        let mut headers = Headers::default();
        self.decoder.decode(block, |name, value| headers.head(name, value))?;
        let head = headers.finish()?;
        if head.is_interim() {
            head.write(false, false, answer);
            if ends_stream {
                return Err(Http2Error::Malformed { reason: "an interim head that ends the stream" });
            }
            return Ok(());
        }
        stream.phase = Phase::Body;
        stream.no_body = stream.head_only || head.rules_out_a_body();
        stream.length = head.length();
        head.write(!stream.no_body, self.goaway.is_some(), answer);
        if ends_stream { stream.end(answer) } else { Ok(()) }
    }

    fn reset(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Http2Error> {
        let Ok(code) = payload.try_into().map(u32::from_be_bytes) else {
            return Err(Http2Error::frame_size("an RST_STREAM that is not 4 bytes long"));
        };
        if !self.was_opened(header.stream) {
            return Err(Http2Error::protocol("a reset of a stream that was never opened"));
        }
        match &mut self.stream {
            Some(stream) if stream.id == header.stream => {
                // After a whole answer it only says that the rest of the request is not wanted.
                stream.unsent = None;
                let is_whole = stream.phase == Phase::Ended;
                if is_whole { Ok(()) } else { Err(Http2Error::StreamReset { code: ErrorCode(code) }) }
            }
            _ => Ok(()),
        }
    }

    fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_id
    }

    fn settings(&mut self, header: FrameHeader, payload: &[u8], out: &mut Outbox) -> Result<(), Http2Error> {
        if header.has(flag::ACK) {
            let is_empty = payload.is_empty();
            return if is_empty { Ok(()) } else { Err(Http2Error::frame_size("an acknowledgement with a payload")) };
        }
        let before = i64::from(self.peer.initial_window);
        self.peer.apply(payload)?;
        if let Some(stream) = &mut self.stream {
            stream.send_window += i64::from(self.peer.initial_window) - before;
            if stream.send_window > settings::MAX_WINDOW {
                return Err(window_too_large());
            }
        }
        answer_control(kind::SETTINGS, &[], out)
    }

    fn goaway(&mut self, payload: &[u8]) -> Result<(), Http2Error> {
        let ([last, code, ..], _) = payload.as_chunks::<4>() else {
            return Err(Http2Error::frame_size("a GOAWAY shorter than 8 bytes"));
        };
        let last = u32::from_be_bytes(*last) & 0x7fff_ffff;
        let code = ErrorCode(u32::from_be_bytes(*code));
        self.goaway = Some((last, code));
        match &self.stream {
            Some(stream) if stream.id > last && stream.phase != Phase::Ended => Err(Http2Error::GoneAway { code }),
            _ => Ok(()),
        }
    }

    fn window_update(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Http2Error> {
        let Ok(increment) = payload.try_into().map(u32::from_be_bytes) else {
            return Err(Http2Error::frame_size("a WINDOW_UPDATE that is not 4 bytes long"));
        };
        let increment = i64::from(increment & 0x7fff_ffff);
        if increment == 0 {
            return Err(Http2Error::protocol("a WINDOW_UPDATE by nothing"));
        }
        let was_opened = self.was_opened(header.stream);
        let window = match &mut self.stream {
            _ if header.stream == 0 => &mut self.send_window,
            Some(stream) if stream.id == header.stream => &mut stream.send_window,
            // Of a stream that has ended: the server was still reading its request.
            _ if was_opened => return Ok(()),
            _ => return Err(Http2Error::protocol("a WINDOW_UPDATE for a stream that was never opened")),
        };
        *window += increment;
        if *window > settings::MAX_WINDOW { Err(window_too_large()) } else { Ok(()) }
    }
}

impl Stream {
    /// The answer has ended.
    fn end(&mut self, answer: &mut Vec<u8>) -> Result<(), Http2Error> {
        if !self.no_body {
            if self.length.is_some_and(|length| length != self.came) {
                return Err(Http2Error::Malformed { reason: "less DATA than the headers announced" });
            }
            answer.extend_from_slice(b"0\r\n\r\n");
        }
        self.phase = Phase::Ended;
        Ok(())
    }
}

fn window_too_large() -> Http2Error {
    let reason = "a flow-control window beyond 2^31 - 1";
    Http2Error::Protocol { code: ErrorCode::FLOW_CONTROL_ERROR, reason }
}

fn ping(header: FrameHeader, payload: &[u8], out: &mut Outbox) -> Result<(), Http2Error> {
    if payload.len() != 8 {
        return Err(Http2Error::frame_size("a PING that is not 8 bytes long"));
    }
    if header.has(flag::ACK) { Ok(()) } else { answer_control(kind::PING, payload, out) }
}

/// Acknowledges a frame of the connection, unless the server asks for it without ever reading what it is told.
fn answer_control(kind: u8, payload: &[u8], out: &mut Outbox) -> Result<(), Http2Error> {
    if out.pending().len() > 4 * QUEUE {
        let reason = "frames to acknowledge, faster than the acknowledgements are read";
        return Err(Http2Error::Protocol { code: ErrorCode::ENHANCE_YOUR_CALM, reason });
    }
    frame::push(kind, flag::ACK, 0, payload, out.queue());
    Ok(())
}

/// Opens a window again once half of it is used up.
fn renew(consumed: &mut u32, length: u32, stream: u32, out: &mut Outbox) {
    *consumed += length;
    if *consumed > WINDOW / 2 {
        push_window_update(stream, *consumed, out.queue());
        *consumed = 0;
    }
}

fn push_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    frame::push(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes(), out);
}

/// Tells the server why the connection ends. No stream of its own was ever open.
fn push_goaway(code: ErrorCode, out: &mut Vec<u8>) {
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&code.0.to_be_bytes());
    frame::push(kind::GOAWAY, 0, 0, &payload, out);
}
