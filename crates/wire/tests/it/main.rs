//! Tests of the wire without a wire: captured answers, server behaviours, laws that hold for any bytes.

mod behaviours;
mod captures;
mod errors;
mod http2;
mod laws;
mod request;
mod secrecy;
mod support;
