//! The body of an answer, as the pacer lets its parts go.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use kneepoint_model::Nanos;
use thiserror::Error;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Interval, MissedTickBehavior};

use super::Shared;
use super::connection::ResetSwitch;
use super::error::ApiError;
use super::events::Writer;
use super::log::LogOutcome;
use super::pacer::{Closed, Command, Message};
use crate::engine::SequenceId;
use crate::platform::{FaultKind, Item};

/// The connection is to break off here. Not an error of ours: hyper is told so that it drops the connection.
#[derive(Clone, Copy, Debug, Error)]
#[error("the simulated platform breaks the connection off")]
pub(super) struct BreakOff;

impl From<Infallible> for BreakOff {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Tells the pacer that an answer is over, however that came.
#[derive(Debug)]
pub(super) struct Ticket {
    shared: Arc<Shared>,
    closed: Closed,
}

impl Ticket {
    pub(super) fn new(shared: &Arc<Shared>, id: SequenceId) -> Self {
        let closed =
            Closed { id, first_written: None, last_written: None, sent_tokens: 0, outcome: LogOutcome::Dropped };
        Self { shared: Arc::clone(shared), closed }
    }

    /// Tokens that were due at `due` are handed to the connection now.
    pub(super) fn note_written(&mut self, due: Nanos, tokens: u64) {
        let now = self.shared.clock.now();
        self.closed.first_written.get_or_insert(now);
        self.closed.last_written = Some(now);
        self.closed.sent_tokens += tokens;
        self.shared.lag.note(due, now);
    }

    /// How it ends, if nothing comes between.
    pub(super) fn ends(&mut self, outcome: LogOutcome) {
        self.closed.outcome = outcome;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // If the pacer is gone the server stops, and nobody asks any more.
        let _ = self.shared.commands.send(Command::Closed(self.closed));
    }
}

/// What a response carries.
#[derive(Debug)]
pub(super) enum AnswerBody {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// The first half of a document, after which the connection breaks off.
    Torn(Option<Bytes>, Flush),
    /// Events as they come.
    Stream(Box<Stream>),
}

impl AnswerBody {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BreakOff;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BreakOff>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Torn(bytes, flush) => match bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => flush.poll(cx).map(|()| Some(Err(BreakOff))),
            },
            Self::Stream(stream) => stream.poll(cx),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Torn(..) | Self::Stream(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// Lets hyper write out what it has before the connection breaks off: it does so when the body has nothing ready.
#[derive(Debug, Default)]
pub(super) struct Flush {
    waited: bool,
}

impl Flush {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct Stream {
    messages: UnboundedReceiver<Message>,
    writer: Writer,
    ticket: Option<Ticket>,
    reset: ResetSwitch,
    ready: VecDeque<Bytes>,
    sent: u64,
    role_sent: bool,
    keep_alive: Option<Pin<Box<Interval>>>,
    flush: Flush,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The body ends properly once `ready` is empty.
    Ended,
    /// The connection breaks off once `ready` is empty.
    Broken,
    /// Nothing more comes.
    Stalled,
}

impl Stream {
    pub(super) fn new(
        shared: &Arc<Shared>,
        messages: UnboundedReceiver<Message>,
        writer: Writer,
        ticket: Ticket,
        reset: ResetSwitch,
    ) -> Self {
        let keep_alive = shared.profile.keep_alive.map(|every| {
            let every = every.into();
            let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Box::pin(interval)
        });
        let mut stream = Self {
            messages,
            writer,
            ticket: Some(ticket),
            reset,
            ready: VecDeque::new(),
            sent: 0,
            role_sent: false,
            keep_alive,
            flush: Flush::default(),
            state: State::Open,
        };
        if shared.profile.role_at_once {
            stream.send_role();
        }
        stream
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BreakOff>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            match self.state {
                State::Open => {}
                // The pacer learns the end as soon as the last byte is handed over, not when the client reads it.
                State::Ended => {
                    drop(self.ticket.take());
                    return Poll::Ready(None);
                }
                State::Broken => return self.flush.poll(cx).map(|()| Some(Err(BreakOff))),
                State::Stalled => return Poll::Pending,
            }
            match self.messages.poll_recv(cx) {
                Poll::Ready(Some(Message::Item { due, item })) => self.take(due, item),
                // Refusals come before a stream begins; a closed channel means that the server stops.
                Poll::Ready(Some(Message::Refused(_)) | None) => self.state = State::Broken,
                Poll::Pending => {
                    let tick = self.keep_alive.as_mut().filter(|_| self.sent == 0);
                    if tick.is_none_or(|interval| interval.poll_tick(cx).is_pending()) {
                        return Poll::Pending;
                    }
                    self.ready.push_back(Writer::comment());
                }
            }
        }
    }

    fn take(&mut self, due: Nanos, item: Item) {
        match item {
            Item::Head | Item::Admitted => {}
            Item::Tokens { count, last, .. } => {
                self.send_role();
                self.sent += count;
                self.ready.push_back(self.writer.tokens(count, self.sent, last));
                if last {
                    self.ready.extend(self.writer.usage(self.sent));
                    self.ready.push_back(Writer::done());
                    self.state = State::Ended;
                }
                if let Some(ticket) = &mut self.ticket {
                    ticket.note_written(due, count);
                    if last {
                        ticket.ends(LogOutcome::Complete);
                    }
                }
            }
            Item::Fault(kind) => self.fail(kind),
        }
    }

    fn fail(&mut self, kind: FaultKind) {
        if let Some(ticket) = &mut self.ticket {
            ticket.ends(LogOutcome::Fault);
        }
        self.state = match kind {
            FaultKind::Truncate => State::Ended,
            FaultKind::Stall => State::Stalled,
            FaultKind::ErrorEvent | FaultKind::Http500 | FaultKind::Http503 => {
                self.ready.push_back(Writer::error(&ApiError::server()));
                self.ready.push_back(Writer::done());
                State::Ended
            }
            FaultKind::Reset => {
                self.reset.set();
                State::Broken
            }
            FaultKind::Close => State::Broken,
        };
    }

    fn send_role(&mut self) {
        if !std::mem::replace(&mut self.role_sent, true) {
            self.ready.extend(self.writer.role());
        }
    }
}

/// Waits for the whole of an answer that is not streamed.
pub(super) async fn whole(
    mut messages: UnboundedReceiver<Message>,
    writer: &mut Writer,
    ticket: &mut Ticket,
    reset: &ResetSwitch,
) -> Result<Whole, BreakOff> {
    let mut tokens = 0;
    loop {
        match messages.recv().await {
            Some(Message::Item { due, item: Item::Tokens { count, last, .. } }) => {
                tokens += count;
                if last {
                    ticket.note_written(due, tokens);
                    ticket.ends(LogOutcome::Complete);
                    return Ok(Whole::Document(writer.document()));
                }
            }
            Some(Message::Item { item: Item::Fault(kind), .. }) => {
                ticket.ends(LogOutcome::Fault);
                return match kind {
                    FaultKind::Http503 => Ok(Whole::Error(ApiError::unavailable())),
                    FaultKind::Http500 | FaultKind::ErrorEvent => Ok(Whole::Error(ApiError::server())),
                    FaultKind::Truncate => Ok(Whole::Half(writer.document())),
                    FaultKind::Stall => {
                        never().await;
                        Err(BreakOff)
                    }
                    FaultKind::Reset => {
                        reset.set();
                        Err(BreakOff)
                    }
                    FaultKind::Close => Err(BreakOff),
                };
            }
            Some(Message::Item { item: Item::Head | Item::Admitted, .. }) => {}
            Some(Message::Refused(_)) | None => return Err(BreakOff),
        }
    }
}

/// An answer that is not streamed.
#[derive(Debug)]
pub(super) enum Whole {
    /// All of it.
    Document(Bytes),
    /// A document of which only the first half is to be sent.
    Half(Bytes),
    /// None.
    Error(ApiError),
}

fn never() -> impl Future<Output = ()> {
    std::future::pending()
}
