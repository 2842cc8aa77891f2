//! The spans of one request: what is called TTFT, TPOT, E2E and so on, from its instants.
//!
//! Owns those definitions. A span whose end lies before its start is no span (`None`), never a negative number.

use kneepoint_model::record::TokenEvents;
use kneepoint_model::{Nanos, Record, Tokens};

/// The spans of one request, nanoseconds. They are of the events as they came; whether the request counts is not
/// judged here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeline {
    /// Intended instant to first token-bearing event.
    pub ttft: Option<u64>,
    /// Sent instant to first token-bearing event.
    pub ttft_sent: Option<u64>,
    /// Intended instant to first event of the answer channel, only where reasoning came before it.
    pub ttfa: Option<u64>,
    /// Time per output token after the first event.
    pub tpot: Tpot,
    /// Intended instant to last token-bearing event.
    pub e2e: Option<u64>,
    /// Sent instant to last token-bearing event.
    pub e2e_sent: Option<u64>,
    /// Intended instant to the end of the answer.
    pub response: Option<u64>,
}

/// Time per output token of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tpot {
    /// So many nanoseconds; above 0.
    Is(f64),
    /// There is none: a single token, or all events at one instant.
    None,
    /// It cannot be known: nobody counted the tokens, the count has none left for the events after the first, or
    /// several tokens came in one event.
    Unknown,
}

impl Tpot {
    /// The figure, nanoseconds.
    pub fn ns(self) -> Option<f64> {
        match self {
            Self::Is(ns) => Some(ns),
            Self::None | Self::Unknown => None,
        }
    }
}

impl Timeline {
    /// The spans of a record.
    pub fn of(record: &Record) -> Self {
        let from = |start: Option<Nanos>, end: Option<Nanos>| Some(end?.since(start?)?.0);
        let (first, last) = (record.first_token(), record.last_token());
        let intended = Some(record.intended);
        Self {
            ttft: from(intended, first),
            ttft_sent: from(record.sent, first),
            ttfa: from(intended, record.events.first_answer),
            tpot: tpot(&record.events, output_count(record).map(|tokens| tokens.0)),
            e2e: from(intended, last),
            e2e_sent: from(record.sent, last),
            response: from(intended, record.closed),
        }
    }
}

/// The output tokens that figures use: the server's count if it can be true, else the tokenizer's, else none.
///
/// An event with output holds a token at least, so a server that counts fewer tokens than it sent events, or none,
/// has counted wrong. Only if the tokenizer too finds fewer tokens than events did something cut tokens into pieces.
pub fn output_count(record: &Record) -> Option<Tokens> {
    let counts = record.output_tokens;
    if server_count_is_possible(record) { counts.best() } else { counts.local }
}

/// `false` if the events contradict the server's count of output tokens.
pub fn server_count_is_possible(record: &Record) -> bool {
    let events = record.events.len() as u64;
    let in_pieces = record.output_tokens.local.is_some_and(|local| local.0 < events);
    record.output_tokens.server.is_none_or(|server| server.0 >= events || (server.0 > 0 && in_pieces))
}

/// `(last − first) ÷ (n − tokens in the first event)`. Where the server did not tell how many tokens the first event
/// held, it is taken to hold one; a single event held all of them.
fn tpot(events: &TokenEvents, tokens: Option<u64>) -> Tpot {
    let span = span(events);
    if events.len() == 1 {
        return if tokens.is_some_and(|tokens| tokens <= 1) { Tpot::None } else { Tpot::Unknown };
    }
    if span == 0 {
        return Tpot::None;
    }
    let Some(tokens) = tokens else { return Tpot::Unknown };
    let in_first = counted(events).map_or(1, |counts| u64::from(counts[0]));
    match tokens.saturating_sub(in_first) {
        0 => Tpot::Unknown,
        rest => Tpot::Is(span as f64 / rest as f64),
    }
}

/// First to last token-bearing event, nanoseconds.
pub fn span(events: &TokenEvents) -> u64 {
    events.gaps.iter().fold(0, |sum, gap| sum.saturating_add(*gap))
}

/// The tokens of each event, where the server told them all.
pub fn counted(events: &TokenEvents) -> Option<&[u32]> {
    (!events.is_empty() && events.tokens.len() == events.len()).then_some(&*events.tokens)
}

/// The gap per token and the number of tokens it stands for, event by event; empty where the counts are not known.
///
/// An event without a token of its own hands its gap on to the next, so that the sum stays `last − first`.
pub fn token_gaps(events: &TokenEvents) -> impl Iterator<Item = (f64, u32)> + '_ {
    let counts = counted(events).unwrap_or_default();
    let mut carried = 0_u64;
    events.gaps.iter().zip(counts.iter().skip(1)).filter_map(move |(gap, &tokens)| {
        let gap = carried.saturating_add(*gap);
        carried = if tokens == 0 { gap } else { 0 };
        (tokens > 0).then(|| (gap as f64 / f64::from(tokens), tokens))
    })
}

/// The tokens each event is credited with, of `n` in all: in proportion to the server's counts per event where it
/// told them, else evenly. One count a request, so that every rate adds up to the same total.
pub fn spread(events: &TokenEvents, n: u64) -> impl Iterator<Item = f64> + '_ {
    let counts = counted(events).filter(|counts| counts.iter().any(|tokens| *tokens > 0));
    let total: f64 = counts.map_or(events.len() as f64, |counts| counts.iter().map(|t| f64::from(*t)).sum());
    let each = n as f64 / total.max(1.0);
    (0..events.len()).map(move |i| each * counts.map_or(1.0, |counts| f64::from(counts[i])))
}
