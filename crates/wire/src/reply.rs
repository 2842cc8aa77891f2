//! What an answer has said so far: token events, counts, text, the finish reason and reported errors.
//!
//! Fed with payloads and instants; knows nothing of HTTP. The hot path of a run: for a common chunk it parses, compares
//! a few flags and pushes one gap.

use std::sync::Arc;

use kneepoint_model::plan::Dialect;
use kneepoint_model::record::{ServerTiming, TokenEvents};
use kneepoint_model::{FailureKind, Nanos, Secret};

use crate::complaint::{complaint, masked};
use crate::cumulative::Cumulative;
use crate::dialects::openai::{self, Payload, Texts};
use crate::dialects::template::Template;
use crate::dialects::{Usage, end_marker};
use crate::sse::SseEvent;

/// Longest finish reason kept, in characters.
const LONGEST_FINISH: usize = 40;

/// The server's own report that it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) kind: FailureKind,
    pub(crate) detail: String,
}

/// What an answer has said so far.
#[derive(Debug)]
pub(crate) struct Reply {
    dialect: Dialect,
    keep_text: bool,
    /// What no word of the server's that is kept may hold.
    pub(crate) secrets: Arc<[Secret]>,
    pub(crate) events: TokenEvents,
    last_event: Nanos,
    by_usage: PerEvent,
    by_count: PerEvent,
    pub(crate) usage: Usage,
    pub(crate) timing: ServerTiming,
    pub(crate) finish: Option<String>,
    pub(crate) oddities: u32,
    /// A payload with choices came.
    pub(crate) has_choices: bool,
    texts: Texts,
    /// How chunks look that need no parsing; `None` if every payload is to be parsed.
    template: Option<Template>,
    reasoning_so_far: Cumulative,
    answer_so_far: Cumulative,
    /// The end marker came.
    pub(crate) ended: bool,
    /// The server reported an error.
    pub(crate) reported: Option<Reported>,
}

/// Tokens of each event, as long as every event tells.
#[derive(Debug, Default)]
struct PerEvent {
    tokens: Vec<u32>,
    /// An event came without a count, or the counts made no sense.
    broken: bool,
    /// Tokens counted up to the last event.
    counted: u64,
    /// Tokens counted so far.
    total: u64,
}

impl PerEvent {
    /// A payload was read: `total` tokens so far by its word, and whether it is a token event.
    fn note(&mut self, total: Option<u64>, is_event: bool) {
        if self.broken {
            return;
        }
        match total {
            Some(total) if total >= self.total => self.total = total,
            Some(_) => return self.give_up(),
            None if is_event => return self.give_up(),
            None => {}
        }
        if is_event {
            // Tokens of payloads without text (half a character, say) came out with this event's text.
            match u32::try_from(self.total - self.counted) {
                Ok(n) if n > 0 => self.tokens.push(n),
                _ => return self.give_up(),
            }
            self.counted = self.total;
        }
    }

    fn give_up(&mut self) {
        self.broken = true;
        self.tokens = Vec::new();
    }
}

impl Reply {
    pub(crate) fn new(dialect: Dialect, keep_text: bool) -> Self {
        Self {
            dialect,
            keep_text,
            secrets: Arc::default(),
            events: TokenEvents::default(),
            last_event: Nanos::ZERO,
            by_usage: PerEvent::default(),
            by_count: PerEvent::default(),
            usage: Usage::default(),
            timing: ServerTiming::default(),
            finish: None,
            oddities: 0,
            has_choices: false,
            texts: Texts::default(),
            template: Some(Template::default()),
            reasoning_so_far: Cumulative::default(),
            answer_so_far: Cumulative::default(),
            ended: false,
            reported: None,
        }
    }

    /// Forgets the answer and keeps the settings and the form of its chunks: a form holds for any answer.
    pub(crate) fn reset(&mut self) {
        let mut next = Self::new(self.dialect, self.keep_text);
        next.secrets = std::mem::take(&mut self.secrets);
        next.template = self.template.take();
        *self = next;
    }

    /// Takes one event of a stream. Nothing after the end marker or a reported error is looked at.
    pub(crate) fn event(&mut self, at: Nanos, event: SseEvent<'_>) {
        if self.ended || self.reported.is_some() {
            return;
        }
        if let Some(error) = event.error {
            self.report(error, event.status);
        } else if event.data == end_marker(self.dialect) {
            self.ended = true;
        } else if event.name == b"error" {
            self.report(event.data, event.status);
        } else if !event.data.is_empty() && event.name != b"ping" && self.payload(at, event.data, event.status).is_err()
        {
            self.odd();
        }
    }

    /// Takes one JSON payload.
    pub(crate) fn payload(&mut self, at: Nanos, json: &[u8], status: Option<u16>) -> Result<(), serde_json::Error> {
        let before = (self.texts.reasoning.text.len(), self.texts.answer.text.len());
        let payload = match self.template.as_ref().and_then(|template| template.read(json, &mut self.texts)) {
            Some(payload) => payload,
            None => self.parse(json, before)?,
        };
        self.take(at, &payload, before);
        if !self.keep_text {
            self.texts.reasoning.text.clear();
            self.texts.answer.text.clear();
        }
        if payload.is_error {
            self.report(json, status);
        } else if !payload.is_known {
            self.odd();
        }
        if let Some(word) = payload.finish {
            if self.reported.is_none() && matches!(word.as_str(), "error" | "abort") {
                let detail = format!("finish_reason is {word}");
                self.reported = Some(Reported { kind: FailureKind::InBand { status: None }, detail });
            }
            self.finish = Some(self.finish_word(word));
        }
        Ok(())
    }

    /// Reads a payload with the parser, and learns from it how to do without.
    fn parse(&mut self, json: &[u8], before: (usize, usize)) -> Result<Payload, serde_json::Error> {
        let read = match self.dialect {
            Dialect::OpenaiChat | Dialect::OpenaiCompletions => openai::read(json, &mut self.texts),
        };
        if let Ok(payload) = &read {
            if let Some(template) = &mut self.template {
                template.learn(json, payload, &self.texts);
            }
        } else {
            self.texts.reasoning.text.truncate(before.0);
            self.texts.answer.text.truncate(before.1);
        }
        read
    }

    /// Sees to it that every payload is parsed.
    pub(crate) fn parse_all(&mut self) {
        self.template = None;
    }

    fn take(&mut self, at: Nanos, payload: &Payload, before: (usize, usize)) {
        self.has_choices |= payload.choices > 0;
        self.usage.update(payload.usage);
        self.timing = ServerTiming {
            queue: payload.timing.queue.or(self.timing.queue),
            prefill: payload.timing.prefill.or(self.timing.prefill),
            decode: payload.timing.decode.or(self.timing.decode),
        };
        let is_event = payload.reasoning || payload.answer;
        self.by_usage.note(payload.usage.output, is_event);
        let counted = payload.counted.map(|n| self.by_count.total.saturating_add(u64::from(n)));
        self.by_count.note(counted, is_event);
        if !is_event {
            return;
        }
        let index = self.events.len();
        // Only a single channel of a single choice can be told to repeat itself.
        if payload.tool_call || payload.other_choice || payload.choices > 1 {
            self.answer_so_far.rule_out();
            self.reasoning_so_far.rule_out();
        }
        if payload.reasoning {
            self.reasoning_so_far.piece(&self.texts.reasoning.text[before.0..], index);
        }
        if payload.answer {
            self.answer_so_far.piece(&self.texts.answer.text[before.1..], index);
            let reasoned_first = self.events.first.is_some_and(|_| self.events.first_answer.is_none());
            if reasoned_first && !self.answered() {
                self.events.first_answer = Some(at);
            }
        }
        match self.events.first {
            None => self.events.first = Some(at),
            // Reads are stamped in order on a monotonic clock; equal instants are events of one read.
            Some(_) => self.events.gaps.push(at.saturating_sub(self.last_event).0),
        }
        self.last_event = at.max(self.last_event);
    }

    /// `true` once the answer channel had an event before the one at hand.
    fn answered(&self) -> bool {
        self.answer_so_far.pieces() > 1
    }

    /// A finish reason as it is kept: a short word, or `other`. Nothing else that a server puts there is a reason.
    fn finish_word(&self, word: String) -> String {
        let is_word = (1..=LONGEST_FINISH).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
        if is_word && masked(&word, &self.secrets) == word { word } else { "other".to_owned() }
    }

    fn report(&mut self, payload: &[u8], status: Option<u16>) {
        let said = complaint(payload, &self.secrets);
        let status = status.filter(|status| *status != 200).or(said.status);
        self.reported = Some(Reported { kind: FailureKind::InBand { status }, detail: said.message });
    }

    pub(crate) fn odd(&mut self) {
        self.oddities = self.oddities.saturating_add(1);
    }

    /// Bytes of text held.
    pub(crate) fn text_len(&self) -> usize {
        self.texts.reasoning.text.len() + self.texts.answer.text.len()
    }

    /// The events with their token counts, and the text of all channels, reasoning first.
    ///
    /// A server that sent the whole text so far in every chunk (some paths of Alibaba's `DashScope` do) is undone
    /// here: only its last piece is text, and a piece that added nothing was no event.
    pub(crate) fn conclude(&mut self) -> (TokenEvents, String) {
        let mut events = std::mem::take(&mut self.events);
        let repeated = self.reasoning_so_far.is_cumulative() || self.answer_so_far.is_cumulative();
        if repeated {
            self.odd();
            let dropped = |index: usize| {
                self.reasoning_so_far.repeats().contains(&index) || self.answer_so_far.repeats().contains(&index)
            };
            let kept = events.instants().enumerate().filter(|(index, _)| !dropped(*index)).map(|(_, at)| at);
            events = rebuild(&kept.collect::<Vec<_>>(), events.first_answer);
        }
        for counts in [&mut self.by_usage, &mut self.by_count] {
            let fits = self.usage.output.is_none_or(|all| counts.counted <= all);
            if events.tokens.is_empty() && !counts.broken && counts.tokens.len() == events.len() && fits {
                events.tokens = std::mem::take(&mut counts.tokens);
            }
        }
        let channel = |so_far: &Cumulative, text: &mut String| match so_far.last_len() {
            Some(len) => text.split_off(text.len().saturating_sub(len)),
            None => std::mem::take(text),
        };
        let mut text = channel(&self.reasoning_so_far, &mut self.texts.reasoning.text);
        text.push_str(&channel(&self.answer_so_far, &mut self.texts.answer.text));
        (events, text)
    }
}

fn rebuild(instants: &[Nanos], first_answer: Option<Nanos>) -> TokenEvents {
    let gaps = instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).0).collect();
    TokenEvents { first: instants.first().copied(), gaps, tokens: Vec::new(), first_answer }
}
