//! What a payload of an OpenAI-compatible answer means: a chunk of a stream or a whole unary body.
//!
//! One pass over the JSON, no tree, no allocation beyond the text itself (and serde's scratch buffer for strings with
//! escapes). It is lenient about everything a measurement does not hang on: unknown fields, nulls in any place, a
//! content made of parts. Chat and completions share the reader: a choice may hold `delta`, `message` or `text`.

use std::ops::Range;

use kneepoint_model::record::ServerTiming;
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess};

use super::lenient::{Any, Count, IsWord, Lenient, Truth, Whole, Word};
use super::openai_usage::{Timings, Usage, UsageObject};

/// Generated text, by channel.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The reasoning channel.
    pub(crate) reasoning: Channel,
    /// Content, refusals, names and arguments of tool calls.
    pub(crate) answer: Channel,
}

/// The text of one channel, and how the last payload brought its part.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    /// All of it so far.
    pub(crate) text: String,
    /// How many strings that are not empty the last payload gave for it.
    pub(crate) strings: u32,
    /// The last of them, if it stood in the payload as it is.
    pub(crate) verbatim: Option<Verbatim>,
}

impl Channel {
    /// `true` if the string is not empty.
    fn push(&mut self, string: &str, verbatim: Option<Verbatim>) -> bool {
        if string.is_empty() {
            return false;
        }
        self.text.push_str(string);
        self.strings = self.strings.saturating_add(1);
        self.verbatim = verbatim;
        true
    }

    fn next_payload(&mut self) {
        self.strings = 0;
        self.verbatim = None;
    }
}

/// A string that is a part of a payload's bytes: held by its address, so that no payload is borrowed for longer than it
/// is read.
#[derive(Debug)]
pub(crate) struct Verbatim {
    address: usize,
    len: usize,
}

impl Verbatim {
    fn of(string: &str) -> Self {
        Self { address: string.as_ptr().addr(), len: string.len() }
    }

    /// Where in the payload it stands.
    pub(crate) fn within(&self, payload: &[u8]) -> Option<Range<usize>> {
        let start = self.address.checked_sub(payload.as_ptr().addr())?;
        let end = start.checked_add(self.len)?;
        (end <= payload.len()).then_some(start..end)
    }
}

/// What one payload says.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one payload, not states")]
pub(crate) struct Payload {
    /// Non-empty output in the reasoning channel.
    pub(crate) reasoning: bool,
    /// Non-empty output in the answer channel.
    pub(crate) answer: bool,
    /// Some of the output is a tool call.
    pub(crate) tool_call: bool,
    /// How many choices it has.
    pub(crate) choices: u32,
    /// A choice other than the first is in it.
    pub(crate) other_choice: bool,
    /// `finish_reason`, once there is one.
    pub(crate) finish: Option<String>,
    /// Tokens in this payload by its log-probabilities or token ids.
    pub(crate) counted: Option<u32>,
    /// Running totals, where it has them.
    pub(crate) usage: Usage,
    /// What the server says of its own time.
    pub(crate) timing: ServerTiming,
    /// It reports an error: [`crate::complaint`] reads what it is.
    pub(crate) is_error: bool,
    /// It has a field that this dialect knows.
    pub(crate) is_known: bool,
}

/// Reads one payload; the text it brings is pushed onto `texts`. After an error `texts` may hold a part of it.
pub(crate) fn read(json: &[u8], texts: &mut Texts) -> Result<Payload, serde_json::Error> {
    texts.reasoning.next_payload();
    texts.answer.next_payload();
    let mut payload = Payload::default();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    Any(Root { payload: &mut payload, texts }).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(payload)
}

/// The whole payload.
struct Root<'s> {
    payload: &'s mut Payload,
    texts: &'s mut Texts,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum PayloadKey {
    Choices,
    Usage,
    Timings,
    Error,
    ErrorCode,
    Object,
    Type,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Root<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { payload, texts } = self;
        while let Some(key) = object.next_key()? {
            match key {
                PayloadKey::Choices => {
                    payload.is_known = true;
                    object.next_value_seed(Any(Choices { payload, texts }))?;
                }
                PayloadKey::Usage => {
                    payload.is_known = true;
                    object
                        .next_value_seed(Any(UsageObject { usage: &mut payload.usage, timing: &mut payload.timing }))?;
                }
                PayloadKey::Timings => object.next_value_seed(Any(Timings { timing: &mut payload.timing }))?,
                PayloadKey::Error | PayloadKey::ErrorCode => payload.is_error |= object.next_value_seed(Any(Truth))?,
                PayloadKey::Object | PayloadKey::Type => {
                    payload.is_error |= object.next_value_seed(Any(IsWord("error")))?;
                }
                PayloadKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The array `choices`.
struct Choices<'s> {
    payload: &'s mut Payload,
    texts: &'s mut Texts,
}

impl<'de> Lenient<'de> for Choices<'_> {
    type Out = ();

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let Self { payload, texts } = self;
        while array.next_element_seed(Any(Choice { payload, texts }))?.is_some() {
            payload.choices = payload.choices.saturating_add(1);
        }
        Ok(())
    }
}

/// One choice.
struct Choice<'s> {
    payload: &'s mut Payload,
    texts: &'s mut Texts,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ChoiceKey {
    Index,
    Delta,
    Message,
    Text,
    FinishReason,
    Logprobs,
    TokenIds,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Choice<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { payload, texts } = self;
        let (mut by_logprobs, mut by_ids) = (None, None);
        while let Some(key) = object.next_key()? {
            match key {
                ChoiceKey::Index => {
                    payload.other_choice |= object.next_value_seed(Any(Whole))?.is_some_and(|index| index > 0);
                }
                ChoiceKey::Delta | ChoiceKey::Message => object.next_value_seed(Any(Delta { payload, texts }))?,
                ChoiceKey::Text => payload.answer |= object.next_value_seed(Any(Text { to: &mut texts.answer }))?,
                ChoiceKey::FinishReason => {
                    payload.finish = object.next_value_seed(Any(FinishReason))?.or(payload.finish.take());
                }
                ChoiceKey::Logprobs => by_logprobs = object.next_value_seed(Any(Logprobs))?,
                ChoiceKey::TokenIds => by_ids = object.next_value_seed(Any(Count))?,
                ChoiceKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        if let Some(n) = by_ids.or(by_logprobs) {
            payload.counted = Some(payload.counted.unwrap_or(0).saturating_add(n));
        }
        Ok(())
    }
}

/// A `delta` or a `message`.
struct Delta<'s> {
    payload: &'s mut Payload,
    texts: &'s mut Texts,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaKey {
    Content,
    Refusal,
    Reasoning,
    ReasoningContent,
    ToolCalls,
    FunctionCall,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Delta<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { payload, texts } = self;
        let mut reasoned = false;
        while let Some(key) = object.next_key()? {
            match key {
                DeltaKey::Content | DeltaKey::Refusal => {
                    payload.answer |= object.next_value_seed(Any(Text { to: &mut texts.answer }))?;
                }
                // Some servers give the same reasoning under both names: it counts once.
                DeltaKey::Reasoning | DeltaKey::ReasoningContent if !reasoned => {
                    reasoned = object.next_value_seed(Any(Text { to: &mut texts.reasoning }))?;
                    payload.reasoning |= reasoned;
                }
                DeltaKey::ToolCalls | DeltaKey::FunctionCall => {
                    let called = object.next_value_seed(Any(ToolCalls { to: &mut texts.answer }))?;
                    payload.answer |= called;
                    payload.tool_call |= called;
                }
                DeltaKey::Reasoning | DeltaKey::ReasoningContent | DeltaKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Text: a string, or an array of parts with a `text` (or `thinking`) each. `true` if it is not empty.
struct Text<'s> {
    to: &'s mut Channel,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum PartKey {
    Text,
    Thinking,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Text<'_> {
    type Out = bool;

    fn text(self, text: &str) -> bool {
        self.to.push(text, None)
    }

    fn verbatim_text(self, text: &'de str) -> bool {
        self.to.push(text, Some(Verbatim::of(text)))
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some(part) = array.next_element_seed(Any(Text { to: &mut *self.to }))? {
            any |= part;
        }
        Ok(any)
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some(key) = object.next_key()? {
            match key {
                PartKey::Text | PartKey::Thinking => any |= object.next_value_seed(Any(Text { to: &mut *self.to }))?,
                PartKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(any)
    }
}

/// Tool calls, one or many, with the function inside or flat. `true` if a name or an argument is in them.
struct ToolCalls<'s> {
    to: &'s mut Channel,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ToolKey {
    Function,
    Name,
    Arguments,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for ToolCalls<'_> {
    type Out = bool;

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some(call) = array.next_element_seed(Any(ToolCalls { to: &mut *self.to }))? {
            any |= call;
        }
        Ok(any)
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some(key) = object.next_key()? {
            match key {
                ToolKey::Function => any |= object.next_value_seed(Any(ToolCalls { to: &mut *self.to }))?,
                ToolKey::Name => any |= object.next_value_seed(Any(Text { to: &mut *self.to }))?,
                ToolKey::Arguments => any |= object.next_value_seed(Any(Arguments { to: &mut *self.to }))?,
                ToolKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(any)
    }
}

/// Arguments of a tool call: JSON in a string, or (not by the book) the object itself.
struct Arguments<'s> {
    to: &'s mut Channel,
}

impl<'de> Lenient<'de> for Arguments<'_> {
    type Out = bool;

    fn text(self, text: &str) -> bool {
        self.to.push(text, None)
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some((key, value)) = object.next_entry::<String, serde_json::Value>()? {
            any = true;
            self.to.push(&key, None);
            self.to.push(&value.to_string(), None);
        }
        Ok(any)
    }
}

/// A finish reason: a word, or (`SGLang`) an object whose `type` is the word.
struct FinishReason;

impl<'de> Lenient<'de> for FinishReason {
    type Out = Option<String>;

    fn text(self, text: &str) -> Option<String> {
        Word.text(text)
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Option<String>, A::Error> {
        let mut word = None;
        while let Some(key) = object.next_key()? {
            match key {
                PayloadKey::Type => word = object.next_value_seed(Any(Word))?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(word)
    }
}

/// Log-probabilities: `content` (chat) or `tokens` (completions) has an entry a token.
struct Logprobs;

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum LogprobsKey {
    Content,
    Tokens,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Logprobs {
    type Out = Option<u32>;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Option<u32>, A::Error> {
        let mut n = None;
        while let Some(key) = object.next_key()? {
            match key {
                LogprobsKey::Content | LogprobsKey::Tokens => n = object.next_value_seed(Any(Count))?.or(n),
                LogprobsKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(n)
    }
}
