//! Token counts and server times in OpenAI-compatible payloads.

use kneepoint_model::Nanos;
use kneepoint_model::record::ServerTiming;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::lenient::{Amount, Any, Lenient, Whole};

/// Token counts. Each is a running total wherever it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The prompt.
    pub(crate) input: Option<u64>,
    /// All that was generated, reasoning included.
    pub(crate) output: Option<u64>,
    /// Of the prompt, served from a cache.
    pub(crate) cached: Option<u64>,
    /// Of the output, reasoning.
    pub(crate) reasoning: Option<u64>,
}

impl Usage {
    /// Takes over what `later` knows: a running total's last value counts, and an absent one changes nothing.
    pub(crate) fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cached = later.cached.or(self.cached);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// The object `usage`.
pub(crate) struct UsageObject<'s> {
    pub(crate) usage: &'s mut Usage,
    pub(crate) timing: &'s mut ServerTiming,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum UsageKey {
    PromptTokens,
    CompletionTokens,
    PromptTokensDetails,
    CompletionTokensDetails,
    /// `DeepSeek`'s name for cached tokens.
    PromptCacheHitTokens,
    /// Groq: seconds.
    QueueTime,
    /// Groq: seconds.
    PromptTime,
    /// Groq: seconds.
    CompletionTime,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for UsageObject<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { usage, timing } = self;
        while let Some(key) = object.next_key()? {
            match key {
                UsageKey::PromptTokens => usage.input = object.next_value_seed(Any(Whole))?,
                UsageKey::CompletionTokens => usage.output = object.next_value_seed(Any(Whole))?,
                UsageKey::PromptCacheHitTokens => usage.cached = object.next_value_seed(Any(Whole))?.or(usage.cached),
                UsageKey::PromptTokensDetails | UsageKey::CompletionTokensDetails => {
                    object.next_value_seed(Any(Details { usage }))?;
                }
                UsageKey::QueueTime => timing.queue = seconds(object.next_value_seed(Any(Amount))?),
                UsageKey::PromptTime => timing.prefill = seconds(object.next_value_seed(Any(Amount))?),
                UsageKey::CompletionTime => timing.decode = seconds(object.next_value_seed(Any(Amount))?),
                UsageKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// `prompt_tokens_details` and `completion_tokens_details`: their fields have distinct names.
struct Details<'s> {
    usage: &'s mut Usage,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DetailKey {
    CachedTokens,
    ReasoningTokens,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Details<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { usage } = self;
        while let Some(key) = object.next_key()? {
            match key {
                DetailKey::CachedTokens => usage.cached = object.next_value_seed(Any(Whole))?.or(usage.cached),
                DetailKey::ReasoningTokens => usage.reasoning = object.next_value_seed(Any(Whole))?.or(usage.reasoning),
                DetailKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The object `timings` of llama.cpp: milliseconds.
pub(crate) struct Timings<'s> {
    pub(crate) timing: &'s mut ServerTiming,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum TimingsKey {
    PromptMs,
    PredictedMs,
    #[serde(other)]
    Other,
}

impl<'de> Lenient<'de> for Timings<'_> {
    type Out = ();

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { timing } = self;
        let millis = |ms: Option<f64>| seconds(ms.map(|ms| ms / 1e3));
        while let Some(key) = object.next_key()? {
            match key {
                TimingsKey::PromptMs => timing.prefill = millis(object.next_value_seed(Any(Amount))?),
                TimingsKey::PredictedMs => timing.decode = millis(object.next_value_seed(Any(Amount))?),
                TimingsKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn seconds(amount: Option<f64>) -> Option<Nanos> {
    amount.map(Nanos::from_secs_f64)
}
