//! The pacer: the thread that owns the platform's state and lets its items go when they are due.
//!
//! Every deadline is absolute (a step ends at the end of the one before plus its own length), so a late wake-up delays
//! one event and never shifts the next.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use kneepoint_model::Nanos;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::Shared;
use super::log::{LogEntry, LogOutcome};
use crate::engine::SequenceId;
use crate::platform::{Item, Pipeline, Refused, Request};

/// In a precise profile, the part of each wait that is spent in a loop instead of asleep.
const SPIN: Nanos = Nanos(200_000);

/// What the writer tells the pacer.
#[derive(Debug)]
pub(super) enum Command {
    /// A request has been read.
    Submit(Submission),
    /// An answer is over: sent, failed or its client gone.
    Closed(Closed),
    /// The server stops.
    Stop,
}

/// A request has been read.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) received: Nanos,
    pub(super) request: Request,
    pub(super) request_id: Option<String>,
    pub(super) reply: UnboundedSender<Message>,
}

/// An answer is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    pub(super) id: SequenceId,
    pub(super) first_written: Option<Nanos>,
    pub(super) last_written: Option<Nanos>,
    pub(super) sent_tokens: u64,
    pub(super) outcome: LogOutcome,
}

/// What the pacer tells the writer about one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    /// It was not taken.
    Refused(Refused),
    /// Something may be sent; it was due at `due`.
    Item {
        /// When it was due.
        due: Nanos,
        /// What.
        item: Item,
    },
}

/// Messages for several requests. They cross to the writer's thread together: waking it once for each token of a
/// step would cost more than all the rest.
pub(super) type Batch = Vec<(UnboundedSender<Message>, Message)>;

/// Hands the messages of each batch to their requests; runs on the writer's thread.
pub(super) async fn distribute(mut batches: UnboundedReceiver<Batch>) {
    while let Some(batch) = batches.recv().await {
        for (reply, message) in batch {
            // A request that is over wants nothing more.
            let _ = reply.send(message);
        }
    }
}

/// Runs until told to stop.
pub(super) fn run(shared: &Shared, inbox: &Receiver<Command>, batches: UnboundedSender<Batch>) {
    let platform = Pipeline::new(&shared.profile);
    let mut pacer = Pacer { shared, platform, open: HashMap::new(), batch: Batch::new(), batches };
    let mut first = None;
    loop {
        for command in first.take().into_iter().chain(std::iter::from_fn(|| inbox.try_recv().ok())) {
            match command {
                Command::Submit(submission) => pacer.submit(submission),
                Command::Closed(closed) => pacer.close(&closed),
                Command::Stop => return,
            }
        }
        pacer.release_due();
        first = match wait(shared, inbox, pacer.platform.next()) {
            Ok(command) => command,
            Err(()) => return,
        };
    }
}

struct Pacer<'a> {
    shared: &'a Shared,
    platform: Pipeline,
    open: HashMap<SequenceId, Open>,
    batch: Batch,
    batches: UnboundedSender<Batch>,
}

/// A request whose answer is not over.
struct Open {
    reply: UnboundedSender<Message>,
    entry: LogEntry,
}

impl Pacer<'_> {
    fn submit(&mut self, submission: Submission) {
        let Submission { received, request, request_id, reply } = submission;
        let entry = LogEntry {
            id: request.id.0,
            request_id,
            received,
            admitted: None,
            first_due: None,
            last_due: None,
            first_written: None,
            last_written: None,
            prompt_tokens: request.prompt,
            output_tokens: request.output,
            sent_tokens: 0,
            outcome: LogOutcome::Dropped,
        };
        if let Err(refused) = self.platform.submit(received, request) {
            self.batch.push((reply.clone(), Message::Refused(refused)));
        }
        self.open.insert(request.id, Open { reply, entry });
    }

    fn close(&mut self, closed: &Closed) {
        self.platform.cancel(self.shared.clock.now(), closed.id);
        let Some(Open { mut entry, .. }) = self.open.remove(&closed.id) else { return };
        entry.first_written = closed.first_written;
        entry.last_written = closed.last_written;
        entry.sent_tokens = closed.sent_tokens;
        entry.outcome = closed.outcome;
        self.shared.counters.note_end(&entry);
        self.shared.log.push(entry);
    }

    /// Lets the model run up to now and hands on all that is due.
    fn release_due(&mut self) {
        self.platform.advance(self.shared.clock.now());
        while let Some((due, id, item)) = self.platform.pop_due(self.shared.clock.now()) {
            let Some(open) = self.open.get_mut(&id) else { continue };
            match item {
                Item::Admitted => open.entry.admitted = Some(due),
                Item::Tokens { .. } => {
                    open.entry.first_due.get_or_insert(due);
                    open.entry.last_due = Some(due);
                    self.batch.push((open.reply.clone(), Message::Item { due, item }));
                }
                Item::Head | Item::Fault(_) => self.batch.push((open.reply.clone(), Message::Item { due, item })),
            }
        }
        if !self.batch.is_empty() {
            // If the writer is gone the server stops.
            let _ = self.batches.send(std::mem::take(&mut self.batch));
        }
        *self.shared.load.lock().expect("invariant: nothing panics while it holds this lock") = self.platform.load();
    }
}

/// Sleeps until `deadline` or the next command. `Err`: the server is gone.
fn wait(shared: &Shared, inbox: &Receiver<Command>, deadline: Option<Nanos>) -> Result<Option<Command>, ()> {
    let Some(deadline) = deadline else { return inbox.recv().map(Some).map_err(|_| ()) };
    let spin = if shared.profile.precise { SPIN } else { Nanos::ZERO };
    let left = deadline.saturating_sub(spin).saturating_sub(shared.clock.now());
    if left > Nanos::ZERO {
        match inbox.recv_timeout(Duration::from(left)) {
            Ok(command) => return Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(()),
        }
    }
    while shared.clock.now() < deadline && spin > Nanos::ZERO {
        match inbox.try_recv() {
            Ok(command) => return Ok(Some(command)),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return Err(()),
        }
    }
    Ok(None)
}
