//! How one request crosses the wire: HTTP/1.1 or HTTP/2, TLS, SSE and a file per dialect.
//!
//! All but [`transport`], [`tls`] and what reads the socket is sans-I/O: bytes and instants go in, facts come out, and no clock is read. It
//! knows one request and its answer; when requests are sent, and what the answers add up to, it does not.

mod complaint;
mod cumulative;
mod dialects;
pub mod exchange;
mod failure;
pub mod http1;
pub mod http2;
mod http_date;
mod outbox;
pub mod page;
mod receive;
mod reply;
pub mod request;
pub mod sse;
mod target;
pub mod tls;
pub mod transport;
