//! What can go wrong on an HTTP/2 connection, and the codes by which its two ends tell each other.

use std::fmt;

/// An error code of RFC 9113, section 7, as it stands in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing went wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The other end broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The other end sent more than it was allowed to.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// A frame for a stream that has ended.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame of a length that it cannot have.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// Headers that cannot be decompressed.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// More than this end is willing to bear.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
}

/// The registered names, by code.
const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|code| NAMES.get(code)) {
            Some(name) => f.pad(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

/// Why an HTTP/2 connection is of no more use. Every one of them ends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Http2Error {
    /// The first frame was no SETTINGS frame.
    #[error("not an HTTP/2 server: {said}; ask it for HTTP/1.1 instead")]
    NotHttp2 {
        /// What it said instead.
        said: &'static str,
    },
    /// The peer closed without a word of HTTP/2.
    #[error("closed without a word of HTTP/2; it may speak HTTP/1.1 alone")]
    Silent,
    /// The peer broke the protocol.
    #[error("broken HTTP/2 ({code}): {reason}")]
    Protocol {
        /// The code by which the peer is told.
        code: ErrorCode,
        /// How.
        reason: &'static str,
    },
    /// The answer's headers or its length are not those of an HTTP answer.
    #[error("malformed HTTP/2 answer: {reason}")]
    Malformed {
        /// How.
        reason: &'static str,
    },
    /// The server ended the stream before its answer was whole.
    #[error("the server reset the stream: {code}")]
    StreamReset {
        /// Why, by its own word.
        code: ErrorCode,
    },
    /// The server closes the connection and did not take up this request, or ended it in the middle of the answer.
    #[error("the server closed the connection with GOAWAY: {code}")]
    GoneAway {
        /// Why, by its own word.
        code: ErrorCode,
    },
    /// The request cannot be put into HTTP/2.
    #[error("cannot be sent over HTTP/2: {reason}")]
    Request {
        /// Why.
        reason: &'static str,
    },
}

impl Http2Error {
    pub(super) fn protocol(reason: &'static str) -> Self {
        Self::Protocol { code: ErrorCode::PROTOCOL_ERROR, reason }
    }

    pub(super) fn frame_size(reason: &'static str) -> Self {
        Self::Protocol { code: ErrorCode::FRAME_SIZE_ERROR, reason }
    }

    pub(super) fn compression(reason: &'static str) -> Self {
        Self::Protocol { code: ErrorCode::COMPRESSION_ERROR, reason }
    }
}
