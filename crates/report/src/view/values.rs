//! Percentiles with their intervals, and what to say where there is none.

use kneepoint_model::summary::{Distribution, Interval, PointSummary};

use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// A percentile of a distribution, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantile {
    /// A value and its interval.
    Value {
        /// The percentile.
        value: f64,
        /// Its 95% interval, where n supports one.
        interval: Option<Interval>,
    },
    /// n cannot support it.
    TooFew {
        /// Samples there are.
        n: u64,
        /// Samples it takes.
        needs: Option<u64>,
    },
    /// No sample at all.
    Absent,
}

/// The percentiles a report shows.
pub(crate) const SHOWN: [&str; 5] = ["p50", "p90", "p95", "p99", "p999"];

/// A percentile by name.
pub(crate) fn quantile(d: &Distribution, name: &str) -> Quantile {
    let value = match name {
        "p50" => d.p50,
        "p90" => d.p90,
        "p95" => d.p95,
        "p99" => d.p99,
        _ => d.p999,
    };
    if d.n == 0 {
        return Quantile::Absent;
    }
    // A refusal wins over a value: one that n cannot support must not be shown.
    match (d.too_few.get(name), value) {
        (Some(&needs), _) => Quantile::TooFew { n: d.n, needs: Some(needs) },
        (None, Some(value)) => Quantile::Value { value, interval: d.ci95.get(name).copied() },
        (None, None) => Quantile::TooFew { n: d.n, needs: None },
    }
}

impl Quantile {
    /// In a sentence: `412 ms (95% interval 398 ms–431 ms)`.
    pub(crate) fn sentence(self, language: Language) -> String {
        match self {
            Self::Value { value, interval: Some(Interval(Some(low), Some(high))) } => {
                let (low, high) = (format::number(low), format::millis(high));
                say(
                    language,
                    Sentence::ValueWithInterval,
                    &[("value", format::millis(value)), ("low", low), ("high", high)],
                )
            }
            Self::Value { value, interval: Some(Interval(Some(low), None)) } => {
                let values = [("value", format::millis(value)), ("low", format::millis(low))];
                say(language, Sentence::ValueAtLeast, &values)
            }
            Self::Value { value, .. } => language.say(Sentence::ValueNoInterval, &[("value", &format::millis(value))]),
            Self::TooFew { n, needs } => too_small(n, needs, language),
            Self::Absent => Sentence::NotMeasured.text(language).to_owned(),
        }
    }

    /// The value, if there is one.
    pub(crate) fn value(self) -> Option<f64> {
        match self {
            Self::Value { value, .. } => Some(value),
            Self::TooFew { .. } | Self::Absent => None,
        }
    }

    /// Both bounds, if there are both.
    pub(crate) fn bounds(self) -> Option<(f64, f64)> {
        match self {
            Self::Value { interval: Some(Interval(Some(low), Some(high))), .. } => Some((low, high)),
            _ => None,
        }
    }
}

/// `n too small (n = 90, needs 662)`.
pub(crate) fn too_small(n: u64, needs: Option<u64>, language: Language) -> String {
    let needs = needs.map_or_else(|| format::NONE.to_owned(), format::count);
    language.say(Sentence::TooSmall, &[("n", &format::count(n)), ("needs", &needs)])
}

/// An interval in short: `[398–431]`, or `[≥ 398]` where n supports no upper bound.
pub(crate) fn interval_text(interval: Interval, show: impl Fn(f64) -> String) -> Option<String> {
    match interval {
        Interval(Some(low), Some(high)) => Some(format!("[{}–{}]", show(low), show(high))),
        Interval(Some(low), None) => Some(format!("[≥ {}]", show(low))),
        Interval(None, Some(high)) => Some(format!("[≤ {}]", show(high))),
        Interval(None, None) => None,
    }
}

/// A rate of output tokens in a sentence.
pub(crate) fn tokens_per_s(point: &PointSummary, language: Language) -> String {
    match point.throughput.output_tok_s {
        Some(rate) => language.say(Sentence::TokensPerS, &[("n", &format::number(rate))]),
        None => Sentence::TokensUnknown.text(language).to_owned(),
    }
}

/// [`Language::say`] for owned values.
pub(crate) fn say(language: Language, sentence: Sentence, values: &[(&str, String)]) -> String {
    let borrowed: Vec<(&str, &str)> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
    language.say(sentence, &borrowed)
}

/// A latency distribution of a point and its name.
pub(crate) type Metric = (Label, Label, fn(&PointSummary) -> &Distribution);

/// Every latency distribution of a point, in the order in which a report shows them: name, unit, where it is.
pub(crate) const METRICS: [Metric; 12] = [
    (Label::TtftName, Label::UnitMs, |p| &p.ttft_ms),
    (Label::TpotName, Label::UnitMs, |p| &p.tpot_ms),
    (Label::E2eName, Label::UnitMs, |p| &p.e2e_ms),
    (Label::TtftSentName, Label::UnitMs, |p| &p.ttft_sent_ms),
    (Label::TtfaName, Label::UnitMs, |p| &p.ttfa_ms),
    (Label::IclName, Label::UnitMs, |p| &p.icl_ms),
    (Label::ItlName, Label::UnitMs, |p| &p.itl_ms),
    (Label::E2eSentName, Label::UnitMs, |p| &p.e2e_sent_ms),
    (Label::ResponseName, Label::UnitMs, |p| &p.response_ms),
    (Label::SpeedName, Label::UnitTokS, |p| &p.output_speed_tok_s),
    (Label::TcpName, Label::UnitMs, |p| &p.phases.tcp_connect_ms),
    (Label::TlsName, Label::UnitMs, |p| &p.phases.tls_handshake_ms),
];
