//! A failed request is data: what happened, on whose side, and how far the request had come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// Why a request has no valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened.
    #[serde(flatten)]
    pub kind: FailureKind,
    /// Whose side it happened on.
    pub side: Side,
    /// How far the request had come.
    pub at: FailurePoint,
    /// When it was noticed.
    #[serde(rename = "at_ns")]
    pub when: Nanos,
    /// What the server or the operating system said, shortened, secrets masked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What went wrong. [`FailureKind::code`] is the stable name used in `summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FailureKind {
    /// The host name did not resolve.
    Dns,
    /// Nothing listens there.
    ConnectRefused,
    /// Any other failure to connect (unreachable, reset while connecting, no route).
    ConnectFailed,
    /// The TCP connection or TLS session was not up in time.
    ConnectTimeout,
    /// The TLS handshake failed: wrong name, unknown issuer, expired, no common version.
    Tls,
    /// The connection was reset.
    Reset,
    /// The peer closed the connection before any byte of the answer.
    ClosedEarly,
    /// An HTTP status that is not a success; 3xx included, since redirects are not followed.
    Http {
        /// The status code.
        status: u16,
        /// Seconds the server asked to wait (`Retry-After`, both forms), where it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_s: Option<u64>,
    },
    /// What came is not HTTP of the version spoken.
    BadHttp,
    /// The answer is not of the type that was asked for (an HTML page with status 200, say).
    WrongContentType,
    /// The body is not what the dialect promises.
    BadBody,
    /// The server reported an error inside an answer of status 200.
    InBand {
        /// The error's HTTP status or numeric code, where the server gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    /// The stream ended with neither its end marker nor a finish reason.
    Truncated,
    /// A line or body longer than the client accepts.
    TooLarge,
    /// The request's whole time ran out.
    Timeout,
    /// The first token did not come in time.
    FirstTokenTimeout,
    /// The next piece of a streamed answer did not come in time.
    ChunkTimeout,
    /// A complete answer without a single token, by count or by text.
    Empty,
    /// The client could not send: out of descriptors, ports or memory.
    Client,
}

impl FailureKind {
    /// The stable name: the variant in snake case, with the status where there is one (`http_429`).
    pub fn code(self) -> String {
        match self {
            Self::Dns => "dns".into(),
            Self::ConnectRefused => "connect_refused".into(),
            Self::ConnectFailed => "connect_failed".into(),
            Self::ConnectTimeout => "connect_timeout".into(),
            Self::Tls => "tls".into(),
            Self::Reset => "reset".into(),
            Self::ClosedEarly => "closed_early".into(),
            Self::Http { status, .. } => format!("http_{status}"),
            Self::BadHttp => "bad_http".into(),
            Self::WrongContentType => "wrong_content_type".into(),
            Self::BadBody => "bad_body".into(),
            Self::InBand { status: Some(status) } => format!("in_band_{status}"),
            Self::InBand { status: None } => "in_band".into(),
            Self::Truncated => "truncated".into(),
            Self::TooLarge => "too_large".into(),
            Self::Timeout => "timeout".into(),
            Self::FirstTokenTimeout => "first_token_timeout".into(),
            Self::ChunkTimeout => "chunk_timeout".into(),
            Self::Empty => "empty".into(),
            Self::Client => "client".into(),
        }
    }
}

/// Whose side a failure happened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// This machine: the point is not the platform's fault.
    Client,
    /// Between the two: name resolution, connection, TLS trust.
    Network,
    /// The platform.
    Server,
}

/// How far the request had come when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailurePoint {
    /// Before the connection was up.
    Connect,
    /// While the request was being written.
    Send,
    /// After the request, before the first byte of the answer.
    Wait,
    /// In the answer, before its first token.
    FirstToken,
    /// After at least one token.
    Stream,
}
