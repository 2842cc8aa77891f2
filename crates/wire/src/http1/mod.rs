//! HTTP/1.1 responses: bytes in; head, body pieces and the end of the body out.
//!
//! Owns framing. It is lenient where servers are sloppy and harm nobody (bare LF, odd spaces, HTTP/1.0, an absent
//! reason phrase) and strict where a guess could put the end of an answer, and so a latency, in the wrong place (two
//! lengths, a length together with chunking, unknown transfer codings, a chunk that does not end where it said).
//! Knows nothing of time, events or JSON.

mod chunked;
mod head;

use chunked::{Chunked, Piece};
pub use head::{Framing, Head, MAX_HEAD};

/// What came is not an HTTP/1.1 response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The first bytes are not a status line (a TLS alert, an SSH banner, HTTP/2).
    #[error("not an HTTP/1 response: it begins with {start:?}")]
    NotHttp {
        /// Its first bytes.
        start: String,
    },
    /// The head is longer than [`MAX_HEAD`].
    #[error("the response head is longer than {MAX_HEAD} bytes")]
    HeadTooLong,
    /// The head breaks the grammar.
    #[error("malformed response head: {reason}")]
    Head {
        /// How.
        reason: String,
    },
    /// The length of the body cannot be known for sure.
    #[error("ambiguous body length: {reason}")]
    Length {
        /// Why.
        reason: &'static str,
    },
    /// Chunked framing is broken.
    #[error("broken chunked framing: {reason}")]
    Chunk {
        /// How.
        reason: &'static str,
    },
}

/// What was asked, as far as it decides whether the answer has a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// GET, POST and all the others.
    #[default]
    WithBody,
    /// HEAD.
    HeadOnly,
}

/// The next thing a response brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The final head is complete: see [`ResponseParser::head`]. Interim 1xx heads are skipped.
    Head,
    /// Bytes of the body, framing removed; never empty.
    Body(&'a [u8]),
    /// The body is complete by its framing.
    End,
}

/// What the close of the connection by the peer means at this point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// Not a single byte had come.
    BeforeAnything,
    /// Inside the head.
    InHead,
    /// The body is whole: its framing had ended, or the close is its end.
    Whole,
    /// Inside the body.
    InBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    /// The end is known and not yet told.
    Ending,
    Ended,
}

/// Parses one response. [`ResponseParser::reset`] readies it for the next on the same or another connection.
#[derive(Debug)]
pub struct ResponseParser {
    asked: Asked,
    state: State,
    collector: head::Collector,
    head: Option<Head>,
    interim: bool,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new(Asked::WithBody)
    }
}

impl ResponseParser {
    /// A parser for the answer to one request.
    pub fn new(asked: Asked) -> Self {
        Self { asked, state: State::Head, collector: head::Collector::default(), head: None, interim: false }
    }

    /// Forgets the response and keeps the buffers.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.collector.clear();
        self.head = None;
        self.interim = false;
    }

    /// The final head, once it is complete.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// `true` once the body is complete by its framing.
    pub fn is_complete(&self) -> bool {
        self.state == State::Ended
    }

    /// `true` if the connection can serve another request now: this answer has ended and the server keeps it open.
    pub fn keeps_alive(&self) -> bool {
        self.is_complete() && self.head.as_ref().is_some_and(|head| head.keep_alive)
    }

    /// Takes the next part off the front of `bytes`; `None` when `bytes` is used up.
    ///
    /// After [`Part::End`] it takes nothing more: what is left in `bytes` does not belong to this answer. After an
    /// error the parser must be reset.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Part<'a>>, HttpError> {
        loop {
            match &mut self.state {
                State::Head => {
                    let Some(raw) = self.collector.take(bytes)? else { return Ok(None) };
                    let head = head::parse(raw)?;
                    self.collector.clear();
                    // 101 ends HTTP on this connection: nobody asked for it, so it is final, and not a success.
                    if (100..200).contains(&head.status) && head.status != 101 {
                        self.interim = true;
                        continue;
                    }
                    self.state = body_state(&head, self.asked);
                    self.head = Some(head);
                    return Ok(Some(Part::Head));
                }
                State::Length(left) => {
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    let (body, rest) = bytes.split_at(n);
                    *bytes = rest;
                    *left -= n as u64;
                    if *left == 0 {
                        self.state = State::Ending;
                    }
                    return Ok(Some(Part::Body(body)));
                }
                State::Chunked(chunked) => match chunked.next(bytes)? {
                    None => return Ok(None),
                    Some(Piece::Data(body)) => return Ok(Some(Part::Body(body))),
                    Some(Piece::End) => self.state = State::Ending,
                },
                State::UntilClose => {
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                    return Ok(Some(Part::Body(std::mem::take(bytes))));
                }
                State::Ending => {
                    self.state = State::Ended;
                    return Ok(Some(Part::End));
                }
                State::Ended => return Ok(None),
            }
        }
    }

    /// The peer has closed its side. [`Close::Whole`] may be said of a chunked body whose last chunk has come but
    /// whose trailer has not ended: no byte of the answer is missing.
    pub fn closed(&self) -> Close {
        match &self.state {
            State::Head if !self.interim && self.collector.is_empty() => Close::BeforeAnything,
            State::Head => Close::InHead,
            State::Length(_) => Close::InBody,
            State::Chunked(chunked) if !chunked.last_chunk_seen() => Close::InBody,
            State::Chunked(_) | State::UntilClose | State::Ending | State::Ended => Close::Whole,
        }
    }
}

fn body_state(head: &Head, asked: Asked) -> State {
    match head.framing {
        _ if asked == Asked::HeadOnly => State::Ending,
        Framing::None | Framing::Length(0) => State::Ending,
        Framing::Length(n) => State::Length(n),
        Framing::Chunked => State::Chunked(Chunked::default()),
        Framing::UntilClose => State::UntilClose,
    }
}

#[cfg(test)]
mod tests;
