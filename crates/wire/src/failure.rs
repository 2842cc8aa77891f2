//! What can go wrong on a connection, sorted by what it was and on whose side.

use std::io;

use kneepoint_model::plan::HttpVersion;
use kneepoint_model::{FailureKind, Side};

use crate::http2::{ErrorCode, Http2Error};

/// What went wrong on a connection, as far as the transport can tell.
#[derive(Debug)]
pub struct TransportFailure {
    /// What.
    pub kind: FailureKind,
    /// On whose side.
    pub side: Side,
    /// What the system, the TLS library or the protocol said.
    pub detail: String,
    /// The server refused this very request in the words of HTTP/2. Even on a kept connection it is an answer then, and
    /// to send the request again would hide a refusal.
    pub refused: bool,
}

impl TransportFailure {
    pub(crate) fn new(kind: FailureKind, side: Side, detail: String) -> Self {
        Self { kind, side, detail, refused: false }
    }
}

/// Sorts an error met while connecting.
pub fn connect_failure(error: &io::Error) -> TransportFailure {
    let (kind, side) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (FailureKind::ConnectRefused, Side::Server),
        io::ErrorKind::TimedOut => (FailureKind::ConnectTimeout, Side::Network),
        _ if is_local_shortage(error) => (FailureKind::Client, Side::Client),
        _ => (FailureKind::ConnectFailed, Side::Network),
    };
    TransportFailure::new(kind, side, error.to_string())
}

/// Sorts an error met on an open connection.
pub(crate) fn io_failure(error: &io::Error) -> TransportFailure {
    let (kind, side) = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            (FailureKind::Reset, Side::Server)
        }
        io::ErrorKind::TimedOut => (FailureKind::Timeout, Side::Network),
        _ if is_local_shortage(error) => (FailureKind::Client, Side::Client),
        _ => (FailureKind::Reset, Side::Network),
    };
    TransportFailure::new(kind, side, error.to_string())
}

pub(crate) fn tls_failure(error: &rustls::Error) -> TransportFailure {
    TransportFailure::new(FailureKind::Tls, Side::Network, error.to_string())
}

/// The server does not speak the version of HTTP that was asked for, by what it selected in the TLS handshake.
pub(crate) fn version_refused(http: HttpVersion) -> TransportFailure {
    let (this, other) = match http {
        HttpVersion::Http1 => ("HTTP/1.1 (ALPN `http/1.1`)", "HTTP/2"),
        HttpVersion::Http2 => ("HTTP/2 (ALPN `h2`)", "HTTP/1.1"),
    };
    let detail = format!("the server did not select {this}; ask it for {other} instead");
    TransportFailure::new(FailureKind::Tls, Side::Server, detail)
}

/// Sorts what ended a connection of HTTP/2.
pub(crate) fn http2_failure(error: &Http2Error) -> TransportFailure {
    let (kind, side, refused) = match error {
        Http2Error::NotHttp2 { .. } | Http2Error::Protocol { .. } | Http2Error::Malformed { .. } => {
            (FailureKind::BadHttp, Side::Server, true)
        }
        // The server was closing when the request came, and at most says that it did not take it up.
        Http2Error::Silent | Http2Error::GoneAway { code: ErrorCode::NO_ERROR } => {
            (FailureKind::ClosedEarly, Side::Server, false)
        }
        Http2Error::StreamReset { .. } | Http2Error::GoneAway { .. } => (FailureKind::Reset, Side::Server, true),
        Http2Error::Request { .. } => (FailureKind::Client, Side::Client, true),
    };
    TransportFailure { refused, ..TransportFailure::new(kind, side, error.to_string()) }
}

/// Out of descriptors, ports or memory: this machine's fault.
fn is_local_shortage(error: &io::Error) -> bool {
    // EMFILE, ENFILE, EADDRNOTAVAIL, ENOBUFS, ENOMEM; the same numbers on every Linux architecture we build for.
    const LINUX: [i32; 5] = [24, 23, 99, 105, 12];
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory)
        || (cfg!(target_os = "linux") && error.raw_os_error().is_some_and(|code| LINUX.contains(&code)))
}
