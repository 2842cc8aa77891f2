//! One request, as observed: a line of `requests.jsonl.zst`.
//!
//! A record holds instants and counts and no judgement: percentiles, SLOs and prices come later, from records alone.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::units::{Nanos, Tokens};

/// One request. Instants are nanoseconds since the start of the run; absent means it did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Index of the point in the plan.
    pub point: u32,
    /// Index of the request within its point, warm-up included.
    pub index: u64,
    /// The part of the point in which the request was *intended*.
    pub phase: Phase,
    /// When the schedule wanted it sent. In a closed loop: when its predecessor on the same slot ended.
    #[serde(rename = "intended_ns")]
    pub intended: Nanos,
    /// When the client started on it (took it from the schedule): `dispatched − intended` is the client's own lag.
    #[serde(rename = "dispatched_ns")]
    pub dispatched: Nanos,
    /// What became of its connection.
    pub connection: Connection,
    /// First byte of the request handed to the socket.
    #[serde(rename = "sent_ns", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Nanos>,
    /// Last byte of the request handed to the socket.
    #[serde(rename = "written_ns", default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Nanos>,
    /// First byte of the answer.
    #[serde(rename = "first_byte_ns", default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Nanos>,
    /// The token-bearing events of the answer.
    #[serde(default, skip_serializing_if = "TokenEvents::is_empty")]
    pub events: TokenEvents,
    /// End of the answer: end marker, end of the body or close, whichever came first.
    #[serde(rename = "closed_ns", default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Nanos>,
    /// HTTP status, once a status line came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why the server stopped (`stop`, `length`, `tool_calls`, ...), in its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Input tokens, by each source that counted them.
    pub input_tokens: InputTokens,
    /// Output tokens, by each source that counted them.
    pub output_tokens: OutputTokens,
    /// Bytes of the request and of the answer, HTTP heads and chunk framing included, TLS excluded.
    pub bytes: Bytes,
    /// What the server said of its own time, where it said so.
    #[serde(default, skip_serializing_if = "ServerTiming::is_empty")]
    pub server: ServerTiming,
    /// How long what arrived waited in the kernel for the client to read it; absent where the kernel gave no stamps, and
    /// arrivals were then stamped right after the read.
    #[serde(rename = "read_delay_ns", default, skip_serializing_if = "Option::is_none")]
    pub read_delay: Option<ReadDelay>,
    /// Events that were neither tokens nor anything else the dialect knows (malformed JSON, foreign frames).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub oddities: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Record {
    /// First token-bearing event, if there was one.
    pub fn first_token(&self) -> Option<Nanos> {
        self.events.first
    }

    /// Last token-bearing event, if there was one.
    pub fn last_token(&self) -> Option<Nanos> {
        self.events.instants().last()
    }
}

/// The part of a point a request was intended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the measured window: sent, recorded, left out of every figure.
    WarmUp,
    /// Inside the measured window.
    Measured,
}

/// How a request came by its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// `true` if a kept-alive connection was used again.
    pub reused: bool,
    /// `true` if a kept connection was tried first and turned out to have been closed by the server before a byte of
    /// the answer; the request was then sent again on this new one. Latency still counts from the same intention.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// When the TCP connection was asked for; only on a new one.
    #[serde(rename = "started_ns", default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Nanos>,
    /// When the TCP connection was up.
    #[serde(rename = "tcp_ns", default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Nanos>,
    /// When the TLS handshake was done.
    #[serde(rename = "tls_ns", default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Nanos>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete answer.
    Ok,
    /// No valid answer.
    Failed(Failure),
    /// Still open when the drain ended or the run was stopped: neither success nor failure.
    Cut,
}

impl Outcome {
    /// `true` for a complete answer.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }
}

/// The token-bearing events of one answer: chunks with non-empty generated output in any channel.
///
/// Stored as the first instant and the gaps after it, so that `last − first` *is* the sum of the gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEvents {
    /// Instant of the first event.
    #[serde(rename = "first_ns", default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Nanos>,
    /// Gap before each later event.
    #[serde(rename = "gaps_ns", default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<u64>,
    /// Tokens in each event, the first included, where the server told (running usage, token ids or log-probabilities
    /// in every chunk); otherwise empty. Never filled in by counting chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<u32>,
    /// First event of the answer channel (content or tool call), where it differs from `first` because reasoning
    /// came before it.
    #[serde(rename = "first_answer_ns", default, skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<Nanos>,
}

impl TokenEvents {
    /// `true` if no token-bearing event came.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// How many events came.
    pub fn len(&self) -> usize {
        self.first.map_or(0, |_| 1 + self.gaps.len())
    }

    /// The instants of all events, in order.
    pub fn instants(&self) -> impl Iterator<Item = Nanos> + '_ {
        let mut at = self.first.unwrap_or_default();
        let rest = self.gaps.iter().map(move |gap| {
            at = Nanos(at.0.saturating_add(*gap));
            at
        });
        self.first.into_iter().chain(rest)
    }
}

/// How long what arrived of one answer waited for the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadDelay {
    /// Of the first read.
    pub first: Nanos,
    /// Longest of all reads.
    pub longest: Nanos,
}

/// Input tokens by source. They are kept side by side, so that a disagreement can be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputTokens {
    /// What the plan wanted.
    pub target: Tokens,
    /// By the reference tokenizer, without chat template or special tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Tokens>,
    /// By the server's `usage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Tokens>,
    /// Of those, served from a prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Tokens>,
}

/// Output tokens by source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTokens {
    /// What was asked for.
    pub target: Tokens,
    /// By the server's `usage`; reasoning tokens are part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Tokens>,
    /// Of those, reasoning tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Tokens>,
    /// By the reference tokenizer on the joined text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Tokens>,
}

impl OutputTokens {
    /// The count that figures use: the server's, else the tokenizer's, else none. Chunks are never counted as tokens.
    pub fn best(&self) -> Option<Tokens> {
        self.server.or(self.local)
    }
}

impl InputTokens {
    /// The count that figures use: the server's, else the tokenizer's, else none.
    pub fn best(&self) -> Option<Tokens> {
        self.server.or(self.local)
    }
}

/// Bytes on the wire, TLS excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Of the request.
    pub sent: u64,
    /// Of the answer.
    pub received: u64,
}

/// The server's own account of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTiming {
    /// Time in a queue before any work.
    #[serde(rename = "queue_ns", default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Nanos>,
    /// Time to process the prompt.
    #[serde(rename = "prefill_ns", default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Nanos>,
    /// Time to generate the output.
    #[serde(rename = "decode_ns", default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<Nanos>,
}

impl ServerTiming {
    /// `true` if the server said nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_first_plus_gaps() {
        let events = TokenEvents { first: Some(Nanos(100)), gaps: vec![5, 0, 7], ..TokenEvents::default() };
        assert_eq!(events.instants().map(|n| n.0).collect::<Vec<_>>(), [100, 105, 105, 112]);
        assert_eq!(events.len(), 4);
    }

    #[test]
    fn no_event_has_no_instant() {
        let events = TokenEvents::default();
        assert!(events.is_empty() && events.instants().next().is_none());
    }
}
