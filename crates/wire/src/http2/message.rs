//! Messages: a request of HTTP/1.1 as a header block, and the headers of an answer as a head of HTTP/1.1.

use super::error::Http2Error;
use super::hpack::{self, Secrecy};
use crate::http1::MAX_HEAD;

const MAX_HEADERS: usize = 128;

/// Headers of HTTP/1.1 that speak of the connection and have no place in HTTP/2 (RFC 9113, section 8.2.2).
const OF_THE_CONNECTION: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Headers whose values this client makes itself. All others are a user's own, and may be secret.
const OWN: [&str; 5] = ["accept", "accept-encoding", "content-length", "content-type", "user-agent"];

/// What of a request decides how its answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Where the body begins in the request.
    pub(super) body_start: usize,
    /// The answer has a head only.
    pub(super) head_only: bool,
}

/// Appends the header block of a whole request of HTTP/1.1 to `block`.
pub(super) fn request_block(request: &[u8], is_tls: bool, block: &mut Vec<u8>) -> Result<Asked, Http2Error> {
    let wrong = |reason| Http2Error::Request { reason };
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let body_start = match parsed.parse(request) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(wrong("its head ends early")),
        Err(_) => return Err(wrong("its head is malformed or has more than 128 headers")),
    };
    let (Some(method), Some(path)) = (parsed.method, parsed.path) else { return Err(wrong("it has no path")) };
    let is = |header: &httparse::Header<'_>, name: &str| header.name.eq_ignore_ascii_case(name);
    let host = parsed.headers.iter().find(|header| is(header, "host")).ok_or_else(|| wrong("it names no host"))?;
    let scheme = if is_tls { "https" } else { "http" };
    for (name, value) in [
        (":method", method.as_bytes()),
        (":scheme", scheme.as_bytes()),
        (":authority", host.value),
        (":path", path.as_bytes()),
    ] {
        hpack::encode(name.as_bytes(), value, Secrecy::Plain, block);
    }
    for header in parsed.headers.iter() {
        if is(header, "transfer-encoding") {
            return Err(wrong("its body is in chunks"));
        }
        if is(header, "host") || OF_THE_CONNECTION.iter().any(|name| is(header, name)) {
            continue;
        }
        let secrecy = if OWN.iter().any(|name| is(header, name)) { Secrecy::Plain } else { Secrecy::NeverIndexed };
        hpack::encode(header.name.to_ascii_lowercase().as_bytes(), header.value, secrecy, block);
    }
    Ok(Asked { body_start, head_only: method == "HEAD" })
}

/// A head or trailer as it is decoded, header by header.
#[derive(Debug, Default)]
pub(super) struct Headers {
    status: Option<u16>,
    length: Option<u64>,
    /// The header lines of HTTP/1.1.
    lines: Vec<u8>,
}

impl Headers {
    /// Takes a header of a head.
    pub(super) fn head(&mut self, name: &[u8], value: &[u8]) -> Result<(), Http2Error> {
        if name.starts_with(b":") {
            if name != b":status" || self.status.is_some() || !self.lines.is_empty() {
                return Err(malformed("a pseudo-header that an answer cannot have there"));
            }
            let digits = Some(value).filter(|value| value.len() == 3 && value.iter().all(u8::is_ascii_digit));
            let status = digits.map(|digits| digits.iter().fold(0, |status, d| status * 10 + u16::from(d - b'0')));
            self.status = status.filter(|status| *status >= 100);
            return if self.status.is_some() { Ok(()) } else { Err(malformed("a status that is no number")) };
        }
        check(name, value)?;
        if self.status.is_none() {
            return Err(malformed("a header before the status"));
        }
        if name == b"content-length" {
            return self.content_length(value);
        }
        if OF_THE_CONNECTION.iter().any(|other| other.as_bytes() == name) {
            return Ok(());
        }
        for part in [name, b": ", value, b"\r\n"] {
            self.lines.extend_from_slice(part);
        }
        if self.lines.len() > MAX_HEAD { Err(malformed("its headers are longer than 64 KiB")) } else { Ok(()) }
    }

    /// Takes a header of a trailer, which is checked and dropped.
    pub(super) fn trailer(name: &[u8], value: &[u8]) -> Result<(), Http2Error> {
        check(name, value)
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Http2Error> {
        let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let length = text.and_then(|text| text.parse().ok()).ok_or(malformed("a content-length that is no number"))?;
        match self.length.replace(length) {
            Some(other) if other != length => Err(malformed("two different content-lengths")),
            _ => Ok(()),
        }
    }

    /// What the head says, once it is whole.
    pub(super) fn finish(self) -> Result<AnswerHead, Http2Error> {
        let status = self.status.ok_or(malformed("no status"))?;
        // HTTP/2 has no switching of protocols (RFC 9113, section 8.6).
        if status == 101 { Err(malformed("status 101")) } else { Ok(AnswerHead { status, headers: self }) }
    }
}

/// A whole head.
#[derive(Debug)]
pub(super) struct AnswerHead {
    status: u16,
    headers: Headers,
}

impl AnswerHead {
    /// An answer is still to come.
    pub(super) fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// `true` if a body cannot follow whatever else the head says.
    pub(super) fn rules_out_a_body(&self) -> bool {
        matches!(self.status, 204 | 304)
    }

    /// Bytes of the body by `content-length`.
    pub(super) fn length(&self) -> Option<u64> {
        self.headers.length
    }

    /// Appends the head in HTTP/1.1. A body follows in chunks: its length is the stream's own.
    pub(super) fn write(&self, has_body: bool, closes: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("HTTP/1.1 {} \r\n", self.status).as_bytes());
        out.extend_from_slice(&self.headers.lines);
        if has_body {
            out.extend_from_slice(b"transfer-encoding: chunked\r\n");
        }
        if closes {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// A name is lower case, and neither it nor a value may hold what would end a line of HTTP/1.1 (RFC 9113, section 8.2.1).
fn check(name: &[u8], value: &[u8]) -> Result<(), Http2Error> {
    if name.is_empty() || !name.iter().all(|b| b.is_ascii_graphic() && !b.is_ascii_uppercase() && *b != b':') {
        return Err(malformed("a header name that is no name"));
    }
    if value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        return Err(malformed("a header value with a line break or a zero byte"));
    }
    Ok(())
}

fn malformed(reason: &'static str) -> Http2Error {
    Http2Error::Malformed { reason }
}
