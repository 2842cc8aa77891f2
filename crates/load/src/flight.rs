//! One request on its way: what is known before its answer, and the record it becomes.

use kneepoint_model::plan::TimeLimits;
use kneepoint_model::record::{self, Bytes, Connection, InputTokens, Outcome, OutputTokens, Phase};
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Prompt, Record, Secret, Side};
use kneepoint_wire::exchange::{Answer, Exchange};
use kneepoint_wire::transport::{Milestones, ReadDelay, TransportFailure};

use crate::account::Reserved;
use crate::journal::Finished;

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) index: u64,
    pub(crate) intended: Nanos,
    pub(crate) dispatched: Nanos,
    pub(crate) phase: Phase,
    pub(crate) reused: bool,
    /// A kept connection was tried first and was closed already.
    pub(crate) stale: bool,
    pub(crate) bytes_sent: u64,
    pub(crate) target_input: kneepoint_model::Tokens,
    pub(crate) local_input: Option<kneepoint_model::Tokens>,
    pub(crate) target_output: kneepoint_model::Tokens,
    pub(crate) exchange: Exchange,
    /// The answer is complete, and the rest of its framing is awaited until this instant, for the connection's sake.
    pub(crate) lingers_until: Option<Nanos>,
    /// When the last bytes of the answer arrived.
    pub(crate) last_piece: Option<Nanos>,
    /// Its first token has been counted for the watch over the point.
    pub(crate) first_token_told: bool,
    /// What the run's limits were charged for it.
    pub(crate) reserved: Reserved,
}

/// The time limit that a request has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    Connect,
    FirstToken,
    Chunk,
    Total,
}

/// What the connection knows of a request's way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passage {
    pub(crate) milestones: Milestones,
    /// First byte of the request handed to the socket.
    pub(crate) sent: Option<Nanos>,
    /// Last byte of the request handed to the socket.
    pub(crate) written: Option<Nanos>,
    pub(crate) delay: ReadDelay,
}

/// How a flight ended, as the worker saw it.
#[derive(Debug)]
pub(crate) enum End {
    /// The answer itself says how it ended.
    Answered,
    /// The transport failed under it.
    Broken(TransportFailure, Nanos),
    /// It passed a time limit, as was noticed then.
    Overdue(Overdue, Nanos),
    /// The test ended before it did.
    Cut,
}

impl Flight {
    /// Notes what is known of a request at its dispatch.
    pub(crate) fn new(index: u64, prompt: &Prompt, bytes_sent: usize, exchange: Exchange, times: Dispatch) -> Self {
        Self {
            index,
            intended: times.intended,
            dispatched: times.dispatched,
            phase: times.phase,
            reused: false,
            stale: false,
            bytes_sent: bytes_sent as u64,
            target_input: prompt.target_input,
            local_input: prompt.local_input,
            target_output: prompt.output,
            exchange,
            lingers_until: None,
            last_piece: None,
            first_token_told: false,
            reserved: times.reserved,
        }
    }

    /// When this request has to be ended if nothing more happens, and for passing which limit: `None` for an answer that
    /// is complete but for its framing.
    pub(crate) fn deadline(&self, is_sent: bool, limits: &TimeLimits) -> (Nanos, Option<Overdue>) {
        let total = (self.dispatched + limits.total, Some(Overdue::Total));
        if let Some(until) = self.lingers_until {
            return (until.min(total.0), None);
        }
        let next = match (is_sent, self.exchange.point()) {
            (false, _) => Some((self.dispatched + limits.connect, Overdue::Connect)),
            (true, FailurePoint::Stream) => {
                let last = self.last_piece.unwrap_or(self.dispatched);
                limits.between_chunks.map(|between| (last + between, Overdue::Chunk))
            }
            (true, _) => limits.first_token.map(|first| (self.dispatched + first, Overdue::FirstToken)),
        };
        next.map(|(at, limit)| (at, Some(limit))).filter(|(at, _)| *at <= total.0).unwrap_or(total)
    }

    /// The record of this request.
    pub(crate) fn finish(self, point: u32, end: End, passage: &Passage, secrets: &[Secret]) -> Finished {
        let Passage { milestones, sent, written, delay } = *passage;
        let how_far = how_far(&self, milestones, sent);
        let answer = self.exchange.finish();
        let outcome = outcome(end, &answer, how_far, sent, secrets);
        let connection = if self.reused {
            Connection { reused: true, ..Connection::default() }
        } else {
            let stale = self.stale;
            Connection { reused: false, stale, started: milestones.started, tcp: milestones.tcp, tls: milestones.tls }
        };
        let record = Record {
            point,
            index: self.index,
            phase: self.phase,
            intended: self.intended,
            dispatched: self.dispatched,
            connection,
            sent,
            written,
            first_byte: answer.first_byte,
            events: answer.events,
            closed: answer.closed,
            status: answer.status,
            outcome,
            finish: answer.finish.map(|finish| masked(finish, secrets)),
            input_tokens: InputTokens {
                target: self.target_input,
                local: self.local_input,
                server: answer.input_tokens,
                cached: answer.cached_tokens,
            },
            output_tokens: OutputTokens {
                target: self.target_output,
                server: answer.output_tokens,
                reasoning: answer.reasoning_tokens,
                local: None,
            },
            bytes: Bytes { sent: if sent.is_some() { self.bytes_sent } else { 0 }, received: answer.bytes_received },
            server: answer.server,
            read_delay: delay.first.map(|first| record::ReadDelay { first, longest: delay.longest }),
            oddities: answer.oddities,
        };
        Finished { record: Box::new(record), text: answer.text }
    }
}

/// When a request was wanted and when it was taken up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) intended: Nanos,
    pub(crate) dispatched: Nanos,
    pub(crate) phase: Phase,
    pub(crate) reserved: Reserved,
}

fn how_far(flight: &Flight, milestones: Milestones, sent: Option<Nanos>) -> FailurePoint {
    if sent.is_some() {
        flight.exchange.point()
    } else if flight.reused || milestones.tcp.is_some() && milestones.tls.is_some() {
        FailurePoint::Send
    } else {
        FailurePoint::Connect
    }
}

fn outcome(end: End, answer: &Answer, at: FailurePoint, sent: Option<Nanos>, secrets: &[Secret]) -> Outcome {
    let failure = match end {
        End::Cut => return Outcome::Cut,
        End::Answered => match &answer.verdict {
            Ok(()) => return Outcome::Ok,
            Err(failure) => failure.clone(),
        },
        End::Broken(broken, when) => Failure { kind: broken.kind, side: broken.side, at, when, detail: broken.detail },
        End::Overdue(limit, when) => {
            let (kind, side) = match limit {
                Overdue::Connect => (FailureKind::ConnectTimeout, Side::Network),
                Overdue::FirstToken => (FailureKind::FirstTokenTimeout, Side::Server),
                Overdue::Chunk => (FailureKind::ChunkTimeout, Side::Server),
                // Whatever the limit is called: what was never sent had no connection in time.
                Overdue::Total if sent.is_none() => (FailureKind::ConnectTimeout, Side::Network),
                Overdue::Total => (FailureKind::Timeout, Side::Server),
            };
            Failure { kind, side, at, when, detail: String::new() }
        }
    };
    let detail = masked(failure.detail, secrets);
    Outcome::Failed(Failure { detail, ..failure })
}

/// A server's words without the secrets that it may have echoed.
fn masked(text: String, secrets: &[Secret]) -> String {
    secrets.iter().fold(text, |text, secret| secret.mask_in(&text))
}
