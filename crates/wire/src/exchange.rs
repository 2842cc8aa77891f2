//! One request's answer: bytes and instants in, an [`Answer`] out.
//!
//! Sans-I/O: the caller owns the socket and the clock. An exchange decides when the answer is over, whether the
//! connection may serve another, and what the answer was worth; why a *transport* failed (reset, time-out) is for the
//! caller to say, with [`Exchange::point`] for how far the answer had come.

use std::sync::Arc;

use kneepoint_model::plan::Dialect;
use kneepoint_model::record::{ServerTiming, TokenEvents};
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Secret, Side, Tokens};

use crate::complaint::{complaint, masked, masked_start, printable};
use crate::dialects::end_marker;
use crate::http_date::parse_http_date;
use crate::http1::{Close, Framing, Head, HttpError, Part, ResponseParser};
use crate::reply::Reply;
use crate::sse::SseDecoder;

/// Longest event of a stream, body of a unary answer, or text kept, in bytes.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

/// Most of an error's body that is read for its message, and most that is read after the end marker for the sake of
/// the connection, in bytes.
const MAX_REST: usize = 64 * 1024;

/// What the caller should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read on.
    More,
    /// The answer is complete, or will not get any better. If it [is not framed](Exchange::is_framed), reading on for
    /// a short while may bring the end of the framing and so save the connection.
    Done,
}

/// What came of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// First byte.
    pub first_byte: Option<Nanos>,
    /// End of the answer: end marker, reported error, end of the body or close, whichever came first.
    pub closed: Option<Nanos>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Token-bearing events. A unary answer has one, at the end of its body.
    pub events: TokenEvents,
    /// Why the server stopped, in its own word: up to 40 letters, digits, `_`, `.` and `-`; `other` for all else.
    pub finish: Option<String>,
    /// Input tokens by the server's `usage`.
    pub input_tokens: Option<Tokens>,
    /// Of those, from a prompt cache.
    pub cached_tokens: Option<Tokens>,
    /// Output tokens by the server's `usage`.
    pub output_tokens: Option<Tokens>,
    /// Of those, reasoning.
    pub reasoning_tokens: Option<Tokens>,
    /// The server's account of its own time.
    pub server: ServerTiming,
    /// Events that were neither tokens nor anything else the dialect knows, and bytes after the end.
    pub oddities: u32,
    /// Bytes received, heads and framing included.
    pub bytes_received: u64,
    /// All output in all channels joined (reasoning, then answer), if it was to be kept.
    pub text: String,
    /// The `Server` header, up to 100 printable characters.
    pub server_header: Option<String>,
    /// The server says of itself that it is simulated.
    pub simulated: bool,
    /// A complete answer, or why not. For an exchange that was given up before it was over this says how far it had
    /// come; the caller who gave up knows the reason better.
    pub verdict: Result<(), Failure>,
}

/// How the body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The head has not come.
    Head,
    /// A success whose first visible byte will tell what it is.
    Sniff,
    /// A stream of events.
    Stream,
    /// One JSON document.
    Unary,
    /// Not a success: the body is only read for its message.
    Refusal(FailureKind),
}

/// The answer to one request on one connection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "two settings and two facts that are independent of the mode")]
pub struct Exchange {
    stream: bool,
    keep_text: bool,
    /// What no word of the server's that is kept may hold.
    secrets: Arc<[Secret]>,
    http: ResponseParser,
    sse: SseDecoder,
    /// A unary body or the start of an error's.
    body: Vec<u8>,
    mode: Mode,
    reply: Reply,
    first_byte: Option<Nanos>,
    last_byte: Nanos,
    closed: Option<Nanos>,
    bytes_received: u64,
    /// Bytes of the body after the verdict.
    drained: usize,
    verdict: Option<Result<(), Failure>>,
    /// Nothing more can come of the connection.
    abandoned: bool,
    /// Bytes came that belong to no answer.
    trailing: bool,
}

impl Exchange {
    /// An exchange for one request. `stream` is what was asked for; what came is told from the answer itself.
    pub fn new(dialect: Dialect, stream: bool, keep_text: bool) -> Self {
        Self {
            stream,
            keep_text,
            secrets: Arc::default(),
            http: ResponseParser::default(),
            sse: SseDecoder::new(MAX_BODY, end_marker(dialect)),
            body: Vec::new(),
            mode: Mode::Head,
            reply: Reply::new(dialect, keep_text),
            first_byte: None,
            last_byte: Nanos::ZERO,
            closed: None,
            bytes_received: 0,
            drained: 0,
            verdict: None,
            abandoned: false,
            trailing: false,
        }
    }

    /// Masks these secrets in whatever the answer keeps of the server's words.
    #[must_use]
    pub fn masking(mut self, secrets: Arc<[Secret]>) -> Self {
        self.reply.secrets = Arc::clone(&secrets);
        self.secrets = secrets;
        self
    }

    /// Parses every payload of a stream, also those that differ from an earlier one in their text alone. The answer is the
    /// same and costs more: for tests that say so.
    #[must_use]
    pub fn parsing_every_payload(mut self) -> Self {
        self.reply.parse_all();
        self
    }

    /// Bytes of the answer that were read at the instant `at`. Several events in one read share its instant.
    pub fn received(&mut self, at: Nanos, bytes: &[u8]) -> Step {
        if bytes.is_empty() {
            return self.step();
        }
        self.first_byte.get_or_insert(at);
        self.last_byte = at;
        self.bytes_received += bytes.len() as u64;
        let mut rest = bytes;
        while !self.abandoned {
            match self.http.next(&mut rest) {
                Ok(Some(Part::Head)) => self.head(at),
                Ok(Some(Part::Body(piece))) => self.body(at, piece),
                Ok(Some(Part::End)) => self.end(at),
                Ok(None) => break,
                // Masked before it is quoted: a quoted start no longer ends where the key in it was cut.
                Err(HttpError::NotHttp { start }) => {
                    let error = HttpError::NotHttp { start: masked(&start, &self.secrets) };
                    self.abandon(at, FailureKind::BadHttp, &error.to_string());
                }
                Err(error) => self.abandon(at, FailureKind::BadHttp, &error.to_string()),
            }
        }
        if !rest.is_empty() && !self.abandoned && !self.trailing {
            self.trailing = true;
            self.reply.odd();
        }
        self.step()
    }

    /// The peer closed its side at the instant `at`: the end of a body without a length, the loss of any other.
    pub fn closed(&mut self, at: Nanos) -> Step {
        if self.verdict.is_none() {
            match (self.http.closed(), self.mode) {
                (Close::BeforeAnything, _) => self.abandon(at, FailureKind::ClosedEarly, ""),
                (Close::InHead, _) => self.abandon(at, FailureKind::Truncated, "closed inside the response head"),
                (Close::InBody, Mode::Unary) => self.abandon(at, FailureKind::Truncated, "closed inside the body"),
                // A stream may have said all it has to say, and an error its message.
                (Close::Whole | Close::InBody, _) => self.end(at),
            }
            self.closed.get_or_insert(at);
        }
        self.abandoned = true;
        Step::Done
    }

    /// How far the answer has come.
    pub fn point(&self) -> FailurePoint {
        match self.first_byte {
            None => FailurePoint::Wait,
            Some(_) if self.reply.events.is_empty() => FailurePoint::FirstToken,
            Some(_) => FailurePoint::Stream,
        }
    }

    /// `true` if there is nothing more to read: the framing has ended, or is broken beyond use.
    pub fn is_framed(&self) -> bool {
        self.abandoned || self.http.is_complete()
    }

    /// `true` if the connection can serve another request now: framing complete, kept alive by the server, and no
    /// byte after the end.
    pub fn connection_reusable(&self) -> bool {
        !self.abandoned && !self.trailing && self.http.keeps_alive()
    }

    /// `true` once a finish reason or the end marker came: what is missing after that is framing, not output.
    pub fn has_terminal_sign(&self) -> bool {
        self.reply.ended || self.reply.finish.is_some()
    }

    /// The answer.
    pub fn finish(mut self) -> Answer {
        self.take_answer()
    }

    /// The answer; the exchange is then ready for the next request of the same kind.
    pub fn take_answer(&mut self) -> Answer {
        let verdict = match self.verdict.take() {
            Some(verdict) => verdict,
            None if self.first_byte.is_none() => Err(self.failure(self.last_byte, FailureKind::ClosedEarly, "")),
            None => match self.mode {
                Mode::Refusal(kind) => Err(self.failure(self.last_byte, kind, &self.refusal())),
                _ => Err(self.failure(self.last_byte, FailureKind::Truncated, "given up before its end")),
            },
        };
        let (events, text) = self.reply.conclude();
        let head = self.http.head();
        let usage = self.reply.usage;
        let answer = Answer {
            first_byte: self.first_byte,
            closed: self.closed,
            status: head.map(|head| head.status),
            events,
            finish: self.reply.finish.take(),
            input_tokens: usage.input.map(Tokens),
            cached_tokens: usage.cached.map(Tokens),
            output_tokens: usage.output.map(Tokens),
            reasoning_tokens: usage.reasoning.map(Tokens),
            server: self.reply.timing,
            oddities: self.reply.oddities,
            bytes_received: self.bytes_received,
            text: if self.keep_text { text } else { String::new() },
            server_header: head.and_then(|head| head.server.as_deref()).map(|server| self.server_name(server)),
            simulated: head.is_some_and(|head| head.simulated),
            verdict,
        };
        self.reset();
        answer
    }

    fn reset(&mut self) {
        self.http.reset();
        self.sse.reset();
        self.body.clear();
        self.mode = Mode::Head;
        self.reply.reset();
        self.first_byte = None;
        self.last_byte = Nanos::ZERO;
        self.closed = None;
        self.bytes_received = 0;
        self.drained = 0;
        self.verdict = None;
        self.abandoned = false;
        self.trailing = false;
    }

    fn step(&self) -> Step {
        if self.abandoned || self.verdict.is_some() { Step::Done } else { Step::More }
    }

    fn head(&mut self, at: Nanos) {
        let Some(head) = self.http.head() else { return };
        let status = head.status;
        if !(200..300).contains(&status) {
            self.mode = Mode::Refusal(FailureKind::Http { status, retry_after_s: retry_after(head) });
        } else if head.content_encoding.is_some() || !is_readable(head.content_type.as_deref()) {
            self.mode = Mode::Refusal(FailureKind::WrongContentType);
        } else {
            self.mode = Mode::Sniff;
            if matches!(head.framing, Framing::Length(n) if n > MAX_BODY as u64) {
                self.abandon(at, FailureKind::TooLarge, "the body is longer than 16 MiB by its Content-Length");
            }
        }
    }

    fn body(&mut self, at: Nanos, piece: &[u8]) {
        if self.verdict.is_some() {
            self.drained += piece.len();
            self.abandoned |= self.drained > MAX_REST;
            return;
        }
        match self.mode {
            Mode::Head => {}
            Mode::Sniff => self.sniff(at, piece),
            Mode::Stream => self.stream(at, piece),
            Mode::Unary => {
                if self.body.len() + piece.len() > MAX_BODY {
                    self.abandon(at, FailureKind::TooLarge, "the body is longer than 16 MiB");
                } else {
                    self.body.extend_from_slice(piece);
                }
            }
            Mode::Refusal(_) => {
                let room = MAX_REST - self.body.len();
                self.body.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.len() >= room {
                    self.end(at);
                    self.abandoned = true;
                }
            }
        }
    }

    /// Tells what a success is by its first visible byte, since servers mislabel their answers.
    fn sniff(&mut self, at: Nanos, piece: &[u8]) {
        let piece = piece.trim_ascii_start();
        let labelled_stream =
            self.http.head().is_some_and(|head| head.content_type.as_deref() == Some("text/event-stream"));
        self.mode = match piece.first() {
            None => return,
            Some(b'{' | b'[') => Mode::Unary,
            Some(b'<') => Mode::Refusal(FailureKind::WrongContentType),
            Some(_) if self.stream || labelled_stream => Mode::Stream,
            Some(_) => Mode::Unary,
        };
        self.body(at, piece);
    }

    fn stream(&mut self, at: Nanos, piece: &[u8]) {
        let reply = &mut self.reply;
        let fed = self.sse.feed(piece, &mut |event| reply.event(at, event));
        // What a server has said before it breaks off counts: an end marker is the end whatever follows it.
        if self.reply.ended || self.reply.reported.is_some() {
            self.settle(at);
        } else if let Err(error) = fed {
            self.abandon(at, FailureKind::TooLarge, &error.to_string());
        } else if self.reply.text_len() > MAX_BODY {
            self.abandon(at, FailureKind::TooLarge, "the text is longer than 16 MiB");
        }
    }

    /// The body has ended.
    fn end(&mut self, at: Nanos) {
        if self.verdict.is_some() {
            return;
        }
        match self.mode {
            Mode::Head => {}
            Mode::Sniff => self.settle_empty(at),
            Mode::Stream => {
                let reply = &mut self.reply;
                self.sse.finish(&mut |event| reply.event(at, event));
                self.settle(at);
            }
            Mode::Unary => self.settle_unary(at),
            Mode::Refusal(kind) => {
                let detail = self.refusal();
                self.fail(at, kind, &detail);
                self.closed = Some(at);
            }
        }
    }

    /// The verdict on a stream that has ended.
    fn settle(&mut self, at: Nanos) {
        self.closed = Some(at);
        if let Some(reported) = self.reply.reported.take() {
            self.fail(at, reported.kind, &reported.detail);
        } else if !self.has_terminal_sign() {
            self.fail(at, FailureKind::Truncated, "neither an end marker nor a finish reason");
        } else {
            self.succeed(at);
        }
    }

    /// The verdict on a body without a visible byte.
    fn settle_empty(&mut self, at: Nanos) {
        self.closed = Some(at);
        if self.stream {
            self.fail(at, FailureKind::Truncated, "an empty body");
        } else {
            self.fail(at, FailureKind::BadBody, "an empty body");
        }
    }

    fn settle_unary(&mut self, at: Nanos) {
        self.closed = Some(at);
        let body = std::mem::take(&mut self.body);
        let read = self.reply.payload(at, &body, None);
        self.body = body;
        if let Err(error) = read {
            self.fail(at, FailureKind::BadBody, &format!("not JSON of this dialect: {error}"));
        } else if let Some(reported) = self.reply.reported.take() {
            self.fail(at, reported.kind, &reported.detail);
        } else if !self.reply.has_choices {
            let start = masked_start(&self.body, &self.secrets);
            self.fail(at, FailureKind::BadBody, &format!("no choices in it: {start}"));
        } else {
            self.succeed(at);
        }
    }

    /// A complete answer; but one without a token is none.
    fn succeed(&mut self, at: Nanos) {
        if self.reply.events.is_empty() && self.reply.usage.output.is_none_or(|n| n == 0) {
            self.fail(at, FailureKind::Empty, "no output and no output tokens in usage");
        } else {
            self.verdict = Some(Ok(()));
        }
    }

    /// What a refusal says.
    fn refusal(&self) -> String {
        let said = complaint(&self.body, &self.secrets).message;
        let Some(head) = self.http.head() else { return said };
        match (&head.location, &head.content_encoding) {
            (Some(location), _) if (300..400).contains(&head.status) => format!("redirect to {location}"),
            (_, Some(coding)) => format!("content-encoding {coding} was not asked for"),
            _ if (200..300).contains(&head.status) => {
                // Masked by itself: its end, at the first semicolon, may have cut a key.
                let content_type = head.content_type.as_deref().map(|essence| masked(essence, &self.secrets));
                format!("{}: {said}", content_type.as_deref().unwrap_or("no content type"))
            }
            _ => said,
        }
    }

    fn abandon(&mut self, at: Nanos, kind: FailureKind, detail: &str) {
        self.fail(at, kind, detail);
        self.abandoned = true;
    }

    /// Sets the verdict unless there is one.
    fn fail(&mut self, at: Nanos, kind: FailureKind, detail: &str) {
        if self.verdict.is_none() {
            self.verdict = Some(Err(self.failure(at, kind, detail)));
        }
    }

    fn failure(&self, when: Nanos, kind: FailureKind, detail: &str) -> Failure {
        Failure { kind, side: Side::Server, at: self.point(), when, detail: self.fit_to_keep(detail) }
    }

    fn fit_to_keep(&self, words: &str) -> String {
        printable(&masked(words, &self.secrets))
    }

    fn server_name(&self, header: &str) -> String {
        self.fit_to_keep(header).chars().take(100).collect()
    }
}

/// Whether a success of this content type may be an answer. Servers label answers with types that say nothing.
fn is_readable(content_type: Option<&str>) -> bool {
    let Some(essence) = content_type else { return true };
    let known = ["text/event-stream", "application/json", "text/json", "text/plain", "application/octet-stream"];
    known.contains(&essence) || essence.ends_with("+json")
}

/// Seconds to wait by `Retry-After`: given as seconds, or as a date, from which the response's own date is taken, so
/// that no clock of ours is compared with theirs.
fn retry_after(head: &Head) -> Option<u64> {
    let value = head.retry_after.as_deref()?;
    if let Ok(seconds) = value.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0).then(|| Nanos::from_secs_f64(seconds.ceil()).0 / 1_000_000_000);
    }
    let wait = parse_http_date(value)? - parse_http_date(head.date.as_deref()?)?;
    u64::try_from(wait.max(0)).ok()
}
