//! The head of a response: status line and the few headers that matter to a measurement.

use kneepoint_model::bundle::SIMULATED_HEADER;

use super::HttpError;

/// Longest head accepted, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;

const MAX_HEADERS: usize = 128;

/// How the end of the body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunked coding.
    Chunked,
    /// The close of the connection ends it.
    UntilClose,
}

/// What a response says before its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status code, 100 to 999.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// The server will keep the connection open after this answer.
    pub keep_alive: bool,
    /// `Content-Type`, lower case, without parameters.
    pub content_type: Option<String>,
    /// `Content-Encoding`, lower case, unless it is `identity`.
    pub content_encoding: Option<String>,
    /// `Retry-After`, as sent.
    pub retry_after: Option<String>,
    /// `Date`, as sent.
    pub date: Option<String>,
    /// `Server`, as sent.
    pub server: Option<String>,
    /// `Location`, as sent.
    pub location: Option<String>,
    /// The server says of itself that it is simulated ([`SIMULATED_HEADER`]).
    pub simulated: bool,
}

/// Collects the bytes of a head up to its blank line.
#[derive(Debug, Default)]
pub(super) struct Collector {
    raw: Vec<u8>,
    /// Bytes of the current line so far, CR not counted.
    line: usize,
}

impl Collector {
    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.line = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Takes bytes up to the end of the head; gives the head out once it is whole.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<&[u8]>, HttpError> {
        for (i, &byte) in bytes.iter().enumerate() {
            match byte {
                // Blank lines before the status line are skipped (RFC 9112 §2.2).
                b'\n' | b'\r' if self.raw.is_empty() => continue,
                b'\n' if self.line == 0 => {
                    self.raw.push(byte);
                    *bytes = &bytes[i + 1..];
                    return Ok(Some(&self.raw));
                }
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.raw.push(byte);
            if self.raw.len() > MAX_HEAD {
                return Err(HttpError::HeadTooLong);
            }
            if self.raw.len() <= STATUS_LINE.len() && !starts_like_http(&self.raw) {
                // The bytes that follow in this read tell more about what this server speaks.
                let rest = &bytes[i + 1..bytes.len().min(i + 40)];
                let start = String::from_utf8_lossy(&[&self.raw, rest].concat()).into_owned();
                return Err(HttpError::NotHttp { start });
            }
        }
        *bytes = &[];
        Ok(None)
    }
}

const STATUS_LINE: &[u8] = b"HTTP/1.";

fn starts_like_http(raw: &[u8]) -> bool {
    raw.starts_with(&STATUS_LINE[..raw.len().min(STATUS_LINE.len())])
}

/// Parses a whole head, blank line included.
pub(super) fn parse(raw: &[u8]) -> Result<Head, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    match config.parse_response(&mut response, raw) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(malformed("it ends early")),
        Err(error) => return Err(malformed(&error.to_string())),
    }
    let status = response.code.unwrap_or_default();
    if status < 100 {
        return Err(malformed("no status code"));
    }
    let mut reading = Reading::default();
    for header in response.headers.iter() {
        reading.header(header.name, header.value)?;
    }
    reading.head(status, response.version == Some(1))
}

fn malformed(reason: &str) -> HttpError {
    HttpError::Head { reason: reason.to_owned() }
}

/// The headers as they come, before they are weighed against each other.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is what one header said")]
struct Reading {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    content_type: Option<String>,
    content_encoding: Option<String>,
    retry_after: Option<String>,
    date: Option<String>,
    server: Option<String>,
    location: Option<String>,
    simulated: bool,
}

impl Reading {
    fn header(&mut self, name: &str, value: &[u8]) -> Result<(), HttpError> {
        let text = || String::from_utf8_lossy(value).trim().to_owned();
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("content-length") {
            self.content_length(&text())?;
        } else if is("transfer-encoding") {
            self.transfer_encoding(&text())?;
        } else if is("connection") {
            for option in text().split(',') {
                self.close |= option.trim().eq_ignore_ascii_case("close");
                self.keep_alive |= option.trim().eq_ignore_ascii_case("keep-alive");
            }
        } else if is("content-type") {
            let text = text().to_ascii_lowercase();
            self.content_type = text.split(';').next().map(|essence| essence.trim().to_owned());
        } else if is("content-encoding") {
            self.content_encoding = Some(text().to_ascii_lowercase()).filter(|c| !c.is_empty() && c != "identity");
        } else if is("retry-after") {
            self.retry_after = Some(text());
        } else if is("date") {
            self.date = Some(text());
        } else if is("server") {
            self.server = Some(text());
        } else if is("location") {
            self.location = Some(text());
        } else if is(SIMULATED_HEADER) {
            self.simulated = true;
        }
        Ok(())
    }

    /// One length; the same length several times is one length (RFC 9110 §8.6).
    fn content_length(&mut self, value: &str) -> Result<(), HttpError> {
        for item in value.split(',') {
            let item = item.trim();
            let length = Some(item)
                .filter(|item| !item.is_empty() && item.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|item| item.parse().ok())
                .ok_or(HttpError::Length { reason: "Content-Length is not a number" })?;
            if self.length.is_some_and(|other| other != length) {
                return Err(HttpError::Length { reason: "two different Content-Lengths" });
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &str) -> Result<(), HttpError> {
        for coding in value.split(',').map(str::trim) {
            if coding.eq_ignore_ascii_case("chunked") {
                if self.chunked {
                    return Err(HttpError::Length { reason: "chunked twice" });
                }
                self.chunked = true;
            } else if !coding.is_empty() && !coding.eq_ignore_ascii_case("identity") {
                return Err(HttpError::Length { reason: "a transfer coding that was not asked for" });
            }
        }
        Ok(())
    }

    fn head(self, status: u16, is_1_1: bool) -> Result<Head, HttpError> {
        let framing = match (self.chunked, self.length) {
            _ if status < 200 || status == 204 || status == 304 => Framing::None,
            (true, Some(_)) => return Err(HttpError::Length { reason: "chunked and Content-Length" }),
            (true, None) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClose,
        };
        let keep_alive = !self.close && (is_1_1 || self.keep_alive) && framing != Framing::UntilClose && status != 101;
        Ok(Head {
            status,
            framing,
            keep_alive,
            content_type: self.content_type.filter(|essence| !essence.is_empty()),
            content_encoding: self.content_encoding,
            retry_after: self.retry_after,
            date: self.date,
            server: self.server,
            location: self.location,
            simulated: self.simulated,
        })
    }
}
