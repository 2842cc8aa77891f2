//! What ends things: the time limits of a request, the limits of a whole run, and what a platform costs.

use std::fmt;

use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Nanos, Share, Tokens};

/// The time limits of a request, each counted apart. A request that passes one is given up and is a failure. None is
/// longer than `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Longest a connection may take to be made ready: address, TCP and TLS together.
    pub connect: Nanos,
    /// Longest from the request's sending to the first token; `None` for no limit of its own.
    pub first_token: Option<Nanos>,
    /// Longest from one piece of a streamed answer to the next; `None` for no limit of its own.
    pub between_chunks: Option<Nanos>,
    /// Longest from the request's sending to its end.
    pub total: Nanos,
}

impl Default for TimeLimits {
    /// What a plan that gives none gets.
    fn default() -> Self {
        Self {
            connect: Nanos::from_secs(10),
            first_token: None,
            between_chunks: None,
            // Enough for a thousand tokens on a loaded server; less would count slow answers as failures.
            total: Nanos::from_secs(120),
        }
    }
}

/// A version of HTTP, chosen by the plan and never negotiated away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1: a connection carries one request at a time.
    #[default]
    #[serde(rename = "1.1")]
    Http1,
    /// HTTP/2. A connection carries one request at a time here too, so that no request waits for another of ours.
    #[serde(rename = "2")]
    Http2,
}

impl HttpVersion {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Http1, Self::Http2];

    /// As written in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http1 => "1.1",
            Self::Http2 => "2",
        }
    }
}

/// What becomes of the requests that are open when a level's window ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndPolicy {
    /// They are waited for, at most as long as the hold's `drain`; what is open then is cut.
    #[default]
    Drain,
    /// They are cut at once.
    Cancel,
}

impl EndPolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Drain, Self::Cancel];

    /// As written in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Cancel => "cancel",
        }
    }
}

/// Limits of the whole run: the first one reached ends it, and what was measured is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Most that may be spent. Every platform has a price in its currency then, and one of them is not zero.
    pub spend: Option<Spend>,
    /// Most tokens, input and output together; at least 1.
    pub tokens: Option<Tokens>,
    /// Most requests sent, warm-up included; at least 1.
    pub requests: Option<u64>,
    /// Longest the run may last, in its own time.
    pub time: Option<Nanos>,
    /// Largest share of failed requests; below 1, and 0 where none may fail.
    pub errors: Option<Share>,
}

impl Limits {
    /// `true` if nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spend {
    /// Units of the currency, above zero; exact, never a binary fraction.
    pub amount: Decimal,
    /// Which currency.
    pub currency: Currency,
}

impl fmt::Display for Spend {
    /// As in a plan: `2.50 USD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}

/// A currency by its code of three capital letters, such as `USD`, `EUR` or `CNY` (ISO 4217).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The currency of a code; `None` unless it is three capital letters.
    pub fn new(code: &str) -> Option<Self> {
        let letters: [u8; 3] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }

    /// Its code.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("invariant: three ASCII letters")
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// What a platform costs, in units of one currency; at least one of the figures. They add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The currency of every figure.
    pub currency: Currency,
    /// For an hour of the platform, whether or not requests are sent.
    pub per_hour: Option<Decimal>,
    /// For a million input tokens.
    pub per_million_input: Option<Decimal>,
    /// For a million output tokens.
    pub per_million_output: Option<Decimal>,
    /// For a request, whatever its length.
    pub per_request: Option<Decimal>,
}

impl Price {
    /// `true` if nothing costs anything.
    pub fn is_zero(&self) -> bool {
        let figures = [self.per_hour, self.per_million_input, self.per_million_output, self.per_request];
        figures.iter().flatten().all(Decimal::is_zero)
    }
}
