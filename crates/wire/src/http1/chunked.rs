//! The chunked transfer coding (RFC 9112 §7.1), read incrementally without copying.

use memchr::memchr;

use super::HttpError;

/// Longest size line with extensions, and longest trailer section, in bytes.
const MAX_LINE: usize = 16 * 1024;

/// Where in the coding the next byte stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    /// In the hexadecimal size.
    Size,
    /// Behind the size: spaces and extensions, up to the end of the line.
    Extension,
    /// In the data of a chunk: so many bytes are left.
    Data(u64),
    /// Behind the data, where a line must end.
    DataEnd,
    /// At the start of a trailer line.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    /// After the CR of the blank line that ends it all.
    LastLf,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Data of a chunk; never empty.
    Data(&'a [u8]),
    /// The coding has ended, trailers included.
    End,
}

/// The reader's place in the coding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunked {
    at: At,
    size: u64,
    digits: u32,
    /// Bytes of the current size line or of the trailers.
    line: usize,
    cr_seen: bool,
}

impl Default for Chunked {
    fn default() -> Self {
        Self { at: At::Size, size: 0, digits: 0, line: 0, cr_seen: false }
    }
}

impl Chunked {
    /// `true` once the chunk of size 0 has come: only trailers can follow.
    pub(super) fn last_chunk_seen(&self) -> bool {
        matches!(self.at, At::TrailerStart | At::Trailer | At::LastLf)
    }

    /// Takes the next piece off the front of `bytes`; `None` when `bytes` is used up.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Piece<'a>>, HttpError> {
        loop {
            if let At::Data(left) = self.at {
                if bytes.is_empty() {
                    return Ok(None);
                }
                let n = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let (data, rest) = bytes.split_at(n);
                *bytes = rest;
                let left = left - n as u64;
                self.at = if left == 0 { At::DataEnd } else { At::Data(left) };
                return Ok(Some(Piece::Data(data)));
            }
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(None) };
            match self.at {
                At::Size => self.size_byte(byte)?,
                At::Extension => {
                    // Extensions are skipped whole: no server gives them a meaning that a client must obey.
                    let end = memchr(b'\n', bytes);
                    self.count(end.unwrap_or(bytes.len()))?;
                    *bytes = end.map_or(&[][..], |end| &bytes[end + 1..]);
                    if end.is_some() {
                        self.size_line_ended();
                    }
                    continue;
                }
                At::DataEnd => match byte {
                    b'\r' if !self.cr_seen => self.cr_seen = true,
                    b'\n' => self.start_size(),
                    _ => return Err(broken("a chunk is longer than its size")),
                },
                At::TrailerStart => {
                    self.count(1)?;
                    match byte {
                        b'\r' => self.at = At::LastLf,
                        b'\n' => {
                            *bytes = rest;
                            return Ok(Some(Piece::End));
                        }
                        _ => self.at = At::Trailer,
                    }
                }
                At::Trailer => {
                    self.count(1)?;
                    if byte == b'\n' {
                        self.at = At::TrailerStart;
                    }
                }
                At::LastLf => {
                    if byte != b'\n' {
                        return Err(broken("a lone CR after the trailers"));
                    }
                    *bytes = rest;
                    return Ok(Some(Piece::End));
                }
                At::Data(_) => unreachable!("data is taken above"),
            }
            *bytes = rest;
        }
    }

    fn start_size(&mut self) {
        *self = Self::default();
    }

    fn size_byte(&mut self, byte: u8) -> Result<(), HttpError> {
        self.count(1)?;
        match (byte as char).to_digit(16) {
            Some(digit) => {
                // 15 digits are a petabyte; more can only be an attack or garbage.
                if self.digits == 15 {
                    return Err(broken("a chunk size has more than 15 digits"));
                }
                self.digits += 1;
                self.size = self.size * 16 + u64::from(digit);
            }
            None if self.digits == 0 => match byte {
                b' ' | b'\t' => {}
                _ => return Err(broken("a chunk size is missing")),
            },
            None => match byte {
                b'\n' => self.size_line_ended(),
                b'\r' | b';' | b' ' | b'\t' => self.at = At::Extension,
                _ => return Err(broken("a chunk size is not hexadecimal")),
            },
        }
        Ok(())
    }

    fn size_line_ended(&mut self) {
        self.line = 0;
        self.cr_seen = false;
        self.at = if self.size == 0 { At::TrailerStart } else { At::Data(self.size) };
    }

    fn count(&mut self, n: usize) -> Result<(), HttpError> {
        self.line += n;
        if self.line > MAX_LINE { Err(broken("a chunk's size line or the trailers are too long")) } else { Ok(()) }
    }
}

fn broken(reason: &'static str) -> HttpError {
    HttpError::Chunk { reason }
}
