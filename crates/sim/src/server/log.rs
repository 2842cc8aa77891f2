//! The server's own account of each request: what a client's measurement can be compared with.

use std::collections::VecDeque;
use std::sync::Mutex;

use kneepoint_model::Nanos;
use serde::Serialize;

/// Entries kept; older ones go.
const KEPT: usize = 100_000;

/// One request as the server knows it. Instants are nanoseconds since the server started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// Number of the request; the first is 0.
    pub id: u64,
    /// The client's `x-request-id`, if it sent one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The whole request had been read.
    #[serde(rename = "received_ns")]
    pub received: Nanos,
    /// Start of the first step it took part in.
    #[serde(rename = "admitted_ns", skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Nanos>,
    /// The model's first event with tokens was due to be sent.
    #[serde(rename = "first_due_ns", skip_serializing_if = "Option::is_none")]
    pub first_due: Option<Nanos>,
    /// The model's last event with tokens was due to be sent.
    #[serde(rename = "last_due_ns", skip_serializing_if = "Option::is_none")]
    pub last_due: Option<Nanos>,
    /// The first event with tokens was handed to the connection.
    #[serde(rename = "first_written_ns", skip_serializing_if = "Option::is_none")]
    pub first_written: Option<Nanos>,
    /// The last event with tokens was handed to the connection.
    #[serde(rename = "last_written_ns", skip_serializing_if = "Option::is_none")]
    pub last_written: Option<Nanos>,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Output tokens the request was to have.
    pub output_tokens: u64,
    /// Output tokens that were sent.
    pub sent_tokens: u64,
    /// How it ended.
    pub outcome: LogOutcome,
}

/// How a request ended, seen from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOutcome {
    /// The answer was complete.
    Complete,
    /// It was turned away before an answer began.
    Refused,
    /// It went wrong, as the profile wanted.
    Fault,
    /// The client went away, or the server was stopped.
    Dropped,
}

/// The log.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    entries: Mutex<VecDeque<LogEntry>>,
}

impl RequestLog {
    pub(super) fn push(&self, entry: LogEntry) {
        let mut entries = self.entries.lock().expect("invariant: nothing panics while it holds this lock");
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(super) fn entries(&self) -> Vec<LogEntry> {
        self.entries.lock().expect("invariant: nothing panics while it holds this lock").iter().cloned().collect()
    }
}
