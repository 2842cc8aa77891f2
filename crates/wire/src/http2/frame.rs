//! Frames (RFC 9113, section 4): bytes in, frames out, DATA as it arrives.
//!
//! Knows lengths, types and padding of DATA. What a frame means to a connection, it does not know.

use super::error::Http2Error;

/// Longest payload this client accepts: the protocol's default, which it does not change.
pub(super) const MAX_PAYLOAD: usize = 16_384;

const HEADER: usize = 9;

/// Types of frames.
pub(super) mod kind {
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
}

/// Flags of frames.
pub(super) mod flag {
    /// Of SETTINGS and PING.
    pub(crate) const ACK: u8 = 0x1;
    /// Of DATA and HEADERS.
    pub(crate) const END_STREAM: u8 = 0x1;
    /// Of HEADERS and CONTINUATION.
    pub(crate) const END_HEADERS: u8 = 0x4;
    /// Of DATA and HEADERS.
    pub(crate) const PADDED: u8 = 0x8;
    /// Of HEADERS.
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// What stands before a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    fn parse(raw: [u8; HEADER]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = raw;
        Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            // The highest bit is reserved and ignored.
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's header and payload.
pub(super) fn push(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("invariant: payloads are cut to the peer's 24-bit limit");
    out.extend_from_slice(&length.to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// The next thing a connection brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole frame that is not DATA.
    Frame(FrameHeader, &'a [u8]),
    /// A DATA frame with so many bytes of content begins.
    DataBegins(FrameHeader, usize),
    /// Bytes of its content; never empty.
    Data(&'a [u8]),
    /// It is complete, padding included; it had so many bytes of content.
    DataEnds(FrameHeader, usize),
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Header,
    /// The first byte of padded DATA.
    PadLength,
    Data {
        left: usize,
        padding: usize,
    },
    Payload,
}

/// Cuts what arrives into frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    state: State,
    /// The part of a header that has come.
    raw: [u8; HEADER],
    raw_length: usize,
    header: FrameHeader,
    /// Bytes of DATA without padding.
    content: usize,
    /// The part of a payload that has come.
    payload: Vec<u8>,
    begun: bool,
}

impl FrameReader {
    /// `true` once a frame header has come.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes the next piece off the front of `bytes`; `None` when they are used up.
    pub(super) fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<Piece<'a>>, Http2Error> {
        loop {
            match self.state {
                State::Header => {
                    let taken = take(bytes, HEADER - self.raw_length);
                    self.raw[self.raw_length..][..taken.len()].copy_from_slice(taken);
                    self.raw_length += taken.len();
                    if self.raw_length < HEADER {
                        return Ok(None);
                    }
                    self.raw_length = 0;
                    let header = self.begin()?;
                    self.header = header;
                    self.payload.clear();
                    if header.kind != kind::DATA {
                        self.state = State::Payload;
                    } else if header.has(flag::PADDED) {
                        self.state = State::PadLength;
                    } else {
                        self.state = State::Data { left: header.length, padding: 0 };
                        self.content = header.length;
                        return Ok(Some(Piece::DataBegins(header, header.length)));
                    }
                }
                State::PadLength => {
                    let Some(behind) = self.header.length.checked_sub(1) else {
                        return Err(Http2Error::frame_size("padded DATA without a length of its padding"));
                    };
                    let &[padding] = take(bytes, 1) else { return Ok(None) };
                    let padding = usize::from(padding);
                    let Some(left) = behind.checked_sub(padding) else {
                        return Err(Http2Error::protocol("DATA with more padding than payload"));
                    };
                    self.state = State::Data { left, padding };
                    self.content = left;
                    return Ok(Some(Piece::DataBegins(self.header, left)));
                }
                State::Data { left: 0, padding } => {
                    let padding = padding - take(bytes, padding).len();
                    if padding > 0 {
                        self.state = State::Data { left: 0, padding };
                        return Ok(None);
                    }
                    self.state = State::Header;
                    return Ok(Some(Piece::DataEnds(self.header, self.content)));
                }
                State::Data { left, padding } => {
                    let piece = take(bytes, left);
                    if piece.is_empty() {
                        return Ok(None);
                    }
                    self.state = State::Data { left: left - piece.len(), padding };
                    return Ok(Some(Piece::Data(piece)));
                }
                State::Payload => {
                    let piece = take(bytes, self.header.length - self.payload.len());
                    if piece.len() == self.header.length {
                        // A frame that lies whole in one read is not copied.
                        self.state = State::Header;
                        return Ok(Some(Piece::Frame(self.header, piece)));
                    }
                    self.payload.extend_from_slice(piece);
                    if self.payload.len() < self.header.length {
                        return Ok(None);
                    }
                    self.state = State::Header;
                    return Ok(Some(Piece::Frame(self.header, &self.payload)));
                }
            }
        }
    }

    /// The header that has just come, if it may begin a frame here.
    fn begin(&mut self) -> Result<FrameHeader, Http2Error> {
        let header = FrameHeader::parse(self.raw);
        // The first frame of a server is its SETTINGS (RFC 9113, section 3.4); a server of HTTP/1.1 answers in text.
        if !self.begun && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            let is_http1 = self.raw.starts_with(b"HTTP/");
            let said = if is_http1 { "it answers in HTTP/1.1" } else { "its first bytes are no SETTINGS frame" };
            return Err(Http2Error::NotHttp2 { said });
        }
        self.begun = true;
        if header.length > MAX_PAYLOAD {
            return Err(Http2Error::frame_size("a frame longer than 16 KiB"));
        }
        Ok(header)
    }
}

/// Takes up to `n` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (piece, rest) = bytes.split_at(n.min(bytes.len()));
    *bytes = rest;
    piece
}
