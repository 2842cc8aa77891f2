//! What the server itself knows: when each request was there, and when each event was written.
//!
//! Kept in memory and written once, after the load, so that no disk delays an event.
//!
//! File format, little-endian: the magic `KPTRUTH1`; `u64` × 3: number of requests, begin and end of the stall (0: none);
//! `i64` × 2: `CLOCK_REALTIME` − `CLOCK_MONOTONIC` at begin and end; then per request: `u64` × 4 instants — received
//! (the kernel's stamp of its last byte), read, written (after the last write; 0: cut off), due (when the first event
//! should have been written); `u32` × 2: connection, n-th request on it; `u16` peer port; `u8` 1 if streamed; `u8` length
//! of the key; `u32` number of events; the key; `u64` × events: the instant right before the event's write;
//! an answer that is not paced has none of these.
//! All instants are nanoseconds of `CLOCK_MONOTONIC`.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use crate::sys;

/// One request, as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The kernel's stamp of the request's last byte.
    pub received: u64,
    /// When the server had read it.
    pub read: u64,
    /// After the last write; 0 while there is none.
    pub written: u64,
    /// When the first event was due.
    pub due: u64,
    /// Which connection, counted from 0.
    pub connection: u32,
    /// Which request on that connection, counted from 0.
    pub nth: u32,
    /// The client's port.
    pub port: u16,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// How the client names the request.
    pub key: Vec<u8>,
    /// Right before each event's write.
    pub events: Vec<u64>,
}

/// The requests of a run.
#[derive(Debug)]
pub struct Truth {
    path: String,
    requests: Vec<Observed>,
    offset_at_start: i64,
}

impl Truth {
    /// To be written to `path` at the end.
    pub fn new(path: String) -> Self {
        Self { path, requests: Vec::new(), offset_at_start: offset() }
    }

    /// Keeps one request, whole or cut off.
    pub fn push(&mut self, observed: Observed) {
        self.requests.push(observed);
    }

    /// Writes the file.
    pub fn write(self, stall: (u64, u64)) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(&self.path)?);
        out.write_all(b"KPTRUTH1")?;
        for number in [self.requests.len() as u64, stall.0, stall.1] {
            out.write_all(&number.to_le_bytes())?;
        }
        out.write_all(&self.offset_at_start.to_le_bytes())?;
        out.write_all(&offset().to_le_bytes())?;
        for request in &self.requests {
            for instant in [request.received, request.read, request.written, request.due] {
                out.write_all(&instant.to_le_bytes())?;
            }
            out.write_all(&request.connection.to_le_bytes())?;
            out.write_all(&request.nth.to_le_bytes())?;
            out.write_all(&request.port.to_le_bytes())?;
            let key = &request.key[..request.key.len().min(255)];
            out.write_all(&[u8::from(request.stream), u8::try_from(key.len()).unwrap_or(255)])?;
            out.write_all(&u32::try_from(request.events.len()).unwrap_or(u32::MAX).to_le_bytes())?;
            out.write_all(key)?;
            for instant in &request.events {
                out.write_all(&instant.to_le_bytes())?;
            }
        }
        out.flush()
    }
}

/// `CLOCK_REALTIME` − `CLOCK_MONOTONIC`: of some tries the one that took the least time.
fn offset() -> i64 {
    let tries = (0..32).map(|_| {
        let (before, real, after) = (sys::monotonic(), sys::realtime(), sys::monotonic());
        let middle = before + (after - before) / 2;
        (after - before, real.cast_signed() - middle.cast_signed())
    });
    tries.min().map_or(0, |(_, offset)| offset)
}
