//! The instrument against servers that behave and servers that do not, all on loopback.

mod calibrate;
mod failures;
mod http2;
mod loops;
mod rivals;
mod scripted;
mod time_limits;
mod tls;
mod trial;
