//! The records of one point, folded into what its summary needs: samples, tallies and time grids, no record kept.

use kneepoint_model::bundle::PointEnded;
use kneepoint_model::record::{Outcome, Phase, Record};
use kneepoint_model::summary::RequestCounts;
use kneepoint_model::{Nanos, Tokens};

use super::grid::Grid;
use super::limits;
use super::series::Seconds;
use super::steady::{SlicedPool, Slices};
use crate::stats::timeline::{self, Timeline, output_count, server_count_is_possible, spread, token_gaps};

/// Everything folded of one point.
#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) ended: PointEnded,
    /// `true` if the workload asks for streams: only then do TTFT and what follows from it exist.
    pub(super) streamed: bool,
    /// Successful requests intended in the window.
    pub(super) samples: Vec<Sample>,
    /// All requests, warm-up included.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) counts: RequestCounts,
    pub(super) slices: Slices,
    pub(super) icl: SlicedPool,
    pub(super) itl: SlicedPool,
    pub(super) window: Window,
    pub(super) grid: Grid,
    pub(super) seconds: Seconds,
    pub(super) input: TokenTally,
    pub(super) output: TokenTally,
    pub(super) evidence: Evidence,
}

/// A successful request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) intended: Nanos,
    pub(super) index: u64,
    pub(super) line: Timeline,
    /// `true` if its connection was there before it.
    pub(super) warm: bool,
    pub(super) tcp: Option<u64>,
    pub(super) tls: Option<u64>,
    pub(super) send: Option<u64>,
    pub(super) wait: Option<u64>,
    pub(super) first_token: Option<u64>,
    pub(super) input: Option<Tokens>,
    pub(super) output: Option<Tokens>,
}

/// A request as the client sent it, whatever became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) intended: Nanos,
    pub(super) index: u64,
    pub(super) measured: bool,
    pub(super) failed: bool,
    pub(super) handshake: Option<u64>,
    pub(super) lag: u64,
    pub(super) queue: Option<u64>,
    pub(super) read_delay: Option<u64>,
}

/// What happened between the window's start and end, whichever phase the request was intended in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) output_tokens: u64,
    pub(super) output_counted: u64,
    pub(super) total_tokens: u64,
    pub(super) total_counted: u64,
    /// Token-bearing events, whatever became of their answer.
    pub(super) events: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    /// Sum over requests of the time each was in flight inside the window, nanoseconds.
    pub(super) overlap: u128,
    /// Sum over requests that ended in the window of dispatched to ended, nanoseconds.
    pub(super) residence: u128,
    /// The same from the intended instant.
    pub(super) residence_intended: u128,
}

/// Token counts of successful requests by source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenTally {
    pub(super) local: Sum,
    pub(super) server: Sum,
    /// Cached or reasoning tokens …
    pub(super) special: Sum,
    /// … and all tokens of the same answers.
    pub(super) special_of: Sum,
    /// Of answers counted by both.
    pub(super) both_local: Sum,
    /// Of answers counted by both.
    pub(super) both_server: Sum,
}

/// A count of values and their sum, in integers so that their order changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) n: u64,
    pub(super) sum: u128,
}

impl Sum {
    fn add(&mut self, value: Option<Tokens>) {
        if let Some(value) = value {
            self.n += 1;
            self.sum += u128::from(value.0);
        }
    }

    pub(super) fn mean(self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }
}

impl TokenTally {
    fn add(&mut self, local: Option<Tokens>, server: Option<Tokens>, special: Option<Tokens>) {
        self.local.add(local);
        self.server.add(server);
        if let (Some(_), Some(_)) = (special, server) {
            self.special.add(special);
            self.special_of.add(server);
        }
        self.note_both(local, server);
    }

    /// Two counts of one answer, whether figures use them or not: a wrong one is the disagreement to tell.
    fn note_both(&mut self, local: Option<Tokens>, server: Option<Tokens>) {
        if let (Some(_), Some(_)) = (local, server) {
            self.both_local.add(local);
            self.both_server.add(server);
        }
    }
}

/// Tallies over successful requests which only the validity reasons use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// Records of requests intended in the window.
    pub(super) recorded: u64,
    pub(super) streamed: u64,
    pub(super) uncounted: u64,
    pub(super) invisible: u64,
    /// Answers of more than one token …
    pub(super) several_tokens: u64,
    /// … and those of them that came in one event.
    pub(super) one_event: u64,
    pub(super) stream_judged: u64,
    pub(super) stream_in_one_piece: u64,
    pub(super) oddities: u64,
}

impl Accumulator {
    pub(super) fn new(ended: PointEnded, streamed: bool) -> Self {
        Self {
            ended,
            streamed,
            samples: Vec::new(),
            arrivals: Vec::new(),
            counts: RequestCounts::default(),
            slices: Slices::of(ended.window_start, ended.window_end),
            icl: SlicedPool::default(),
            itl: SlicedPool::default(),
            window: Window::default(),
            grid: Grid::new(ended.started, ended.window_start, ended.window_end, ended.ended),
            seconds: Seconds::new(&ended),
            input: TokenTally::default(),
            output: TokenTally::default(),
            evidence: Evidence::default(),
        }
    }

    /// Folds in one record of this point.
    pub(super) fn add(&mut self, record: &Record) {
        let line = Timeline::of(record);
        let measured = record.phase == Phase::Measured;
        self.arrivals.push(Arrival {
            intended: record.intended,
            index: record.index,
            measured,
            failed: matches!(record.outcome, Outcome::Failed(_)),
            handshake: between(record.connection.started, record.connection.tcp).filter(|_| !record.connection.reused),
            lag: record.dispatched.saturating_sub(record.intended).0,
            queue: record.sent.and_then(|sent| sent.since(record.intended)).map(|queue| queue.0),
            read_delay: record.read_delay.map(|delay| delay.longest.0),
        });
        self.add_to_time(record, &line);
        if measured {
            self.count(record);
            if record.outcome.is_ok() {
                self.add_sample(record, line);
            }
        } else {
            self.counts.warm_up += 1;
        }
    }

    fn count(&mut self, record: &Record) {
        let counts = &mut self.counts;
        self.evidence.recorded += 1;
        self.evidence.oddities += u64::from(record.oddities);
        counts.sent += u64::from(record.sent.is_some());
        counts.late += u64::from(record.dispatched.saturating_sub(record.intended) > limits::LATE);
        counts.stale_connections += u64::from(record.connection.stale);
        counts.new_connections +=
            u64::from(record.sent.is_some() && !record.connection.reused && record.connection.started.is_some());
        match &record.outcome {
            Outcome::Ok => counts.ok += 1,
            Outcome::Cut => counts.cut += 1,
            Outcome::Failed(failure) => {
                let code = failure.kind.code();
                let example = counts.failure_examples.entry(code.clone()).or_default();
                if example.is_empty() {
                    example.clone_from(&failure.detail);
                }
                let side = side_name(failure.side).to_owned();
                let by_side = counts.failed_by_kind_and_side.entry(code.clone()).or_default();
                *by_side.entry(side.clone()).or_default() += 1;
                *counts.failed.entry(code).or_default() += 1;
                *counts.failed_by_side.entry(side).or_default() += 1;
            }
        }
    }

    fn add_sample(&mut self, record: &Record, line: Timeline) {
        let (input, output) = (record.input_tokens, record.output_tokens);
        let connection = record.connection;
        self.samples.push(Sample {
            intended: record.intended,
            index: record.index,
            line,
            warm: connection.reused,
            tcp: between(connection.started, connection.tcp).filter(|_| !connection.reused),
            tls: between(connection.tcp, connection.tls).filter(|_| !connection.reused),
            send: between(record.sent, record.written),
            wait: between(record.written, record.first_byte),
            first_token: between(record.first_byte, record.first_token()),
            input: input.best(),
            output: output_count(record),
        });
        self.input.add(input.local, input.server, input.cached);
        let counted = output.server.filter(|_| server_count_is_possible(record));
        self.output.add(output.local, counted, output.reasoning);
        if counted.is_none() {
            self.output.note_both(output.local, output.server);
        }
        if self.streamed {
            let slice = self.slices.at(record.intended);
            self.icl.add_request(slice, record.events.gaps.iter().map(|gap| (*gap, 1)));
            self.itl.add_request(
                slice,
                token_gaps(&record.events).map(|(gap, tokens)| (Nanos::from_secs_f64(gap / 1e9).0, tokens)),
            );
        }
        self.evidence.note(record);
    }

    /// What counts by when it happened: grids and the window's totals.
    fn add_to_time(&mut self, record: &Record, line: &Timeline) {
        let end = end_of(record, self.ended.ended);
        let (from, until) = (self.ended.window_start, self.ended.window_end);
        let inside = |at: Nanos| at >= from && at < until;
        self.seconds.add(record, line, self.streamed, self.ended.ended);
        self.grid.add_flight(record.dispatched, end);
        let window = &mut self.window;
        window.events += record.events.instants().filter(|at| inside(*at)).count() as u64;
        window.overlap += u128::from(end.min(until).saturating_sub(record.dispatched.max(from)).0);
        if record.sent.is_some_and(inside) {
            window.sent += 1;
            window.sent_bytes = window.sent_bytes.saturating_add(record.bytes.sent);
        }
        let ended = inside(end) && record.outcome != Outcome::Cut;
        if ended {
            window.received_bytes = window.received_bytes.saturating_add(record.bytes.received);
            window.residence += u128::from(end.saturating_sub(record.dispatched).0);
            window.residence_intended += u128::from(end.saturating_sub(record.intended).0);
            window.failed += u64::from(!record.outcome.is_ok());
        }
        if !record.outcome.is_ok() {
            return;
        }
        let (input, output) = (record.input_tokens.best(), output_count(record));
        if ended {
            window.ok += 1;
            self.grid.add_completion(end);
            if let Some(output) = output {
                window.output_counted += 1;
                window.output_tokens = window.output_tokens.saturating_add(output.0);
                if let Some(input) = input {
                    window.total_counted += 1;
                    window.total_tokens = window.total_tokens.saturating_add(output.0).saturating_add(input.0);
                }
            }
        }
        if let Some(output) = output {
            for (at, tokens) in record.events.instants().zip(spread(&record.events, output.0)) {
                self.grid.add_tokens(at, tokens);
            }
        }
    }
}

impl Evidence {
    fn note(&mut self, record: &Record) {
        let events = &record.events;
        let tokens = output_count(record).map(|tokens| tokens.0);
        self.streamed += u64::from(events.len() > 1);
        self.uncounted += u64::from(tokens.is_none());
        self.invisible += u64::from(events.is_empty());
        // Where nobody counted, the length asked for is the best guess at how many there were.
        let expected = tokens.unwrap_or(record.output_tokens.target.0);
        if expected > 1 && !events.is_empty() {
            self.several_tokens += 1;
            self.one_event += u64::from(events.len() == 1);
        }
        if expected >= limits::STREAM_FEWEST_TOKENS && !events.is_empty() {
            self.stream_judged += 1;
            let burst = timeline::span(events) < (expected - 1).saturating_mul(limits::STREAM_FASTEST_TOKEN.0);
            self.stream_in_one_piece += u64::from(events.len() <= limits::STREAM_PIECES || burst);
        }
    }
}

fn between(start: Option<Nanos>, end: Option<Nanos>) -> Option<u64> {
    Some(end?.since(start?)?.0)
}

/// When a request left the system: closed, failed, or the end of the point for one that was cut.
pub(super) fn end_of(record: &Record, point_end: Nanos) -> Nanos {
    let end = match &record.outcome {
        Outcome::Ok => record.closed.or(record.last_token()).or(record.first_byte).or(record.sent),
        Outcome::Failed(failure) => Some(failure.when),
        Outcome::Cut => Some(point_end),
    };
    end.map_or(record.dispatched, |end| end.max(record.dispatched))
}

fn side_name(side: kneepoint_model::Side) -> &'static str {
    match side {
        kneepoint_model::Side::Client => "client",
        kneepoint_model::Side::Network => "network",
        kneepoint_model::Side::Server => "server",
    }
}
