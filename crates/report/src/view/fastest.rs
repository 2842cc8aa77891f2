//! Which of several platforms is the fastest at one load level, and whether their intervals allow to say so.

use kneepoint_model::summary::{PointSummary, SloSummary};

use super::comparison::{Comparison, Curve};
use super::values::{quantile, say};
use crate::messages::{Label, Language, Message as _, Sentence};

/// The latency that decides between platforms which carry the same load: one the SLO limits.
pub(super) fn deciding_metric(slo: &SloSummary) -> Deciding {
    match (slo.ttft_limit_ms, slo.tpot_limit_ms, slo.e2e_limit_ms) {
        (None, Some(_), None) => Deciding { label: Label::TpotShort, percentile: "p95" },
        (None, _, Some(_)) => Deciding { label: Label::E2eShort, percentile: "p95" },
        _ => Deciding { label: Label::TtftShort, percentile: "p95" },
    }
}

/// A percentile of a latency, to compare platforms by.
#[derive(Clone, Copy)]
pub(super) struct Deciding {
    /// The latency.
    pub(super) label: Label,
    /// Which percentile of it.
    pub(super) percentile: &'static str,
}

impl Deciding {
    /// Its name in a sentence: `TTFT p95`.
    fn name(self, language: Language) -> String {
        format!("{} {}", self.label.text(language), self.percentile)
    }
}

/// What to say where there is nothing to compare by.
pub(super) fn not_comparable(metric: Deciding, language: Language) -> String {
    say(language, Sentence::NotComparable, &[("metric", metric.name(language))])
}

/// Which of several points has the lowest latency: a winner only if its interval overlaps no other; `None` where one
/// of them has no interval.
pub(super) fn fastest(
    comparison: &Comparison<'_>,
    contenders: &[(&Curve<'_>, &PointSummary)],
    metric: Deciding,
    language: Language,
) -> Option<String> {
    let at = |p: &PointSummary| match metric.label {
        Label::TpotShort => quantile(&p.tpot_ms, metric.percentile),
        Label::E2eShort => quantile(&p.e2e_ms, metric.percentile),
        _ => quantile(&p.ttft_ms, metric.percentile),
    };
    let with_bounds: Option<Vec<_>> = contenders
        .iter()
        .map(|(curve, p)| {
            let q = at(p);
            Some((*curve, q, q.value()?, q.bounds()?))
        })
        .collect();
    let mut ranked = with_bounds?;
    ranked.sort_by(|a, b| a.2.total_cmp(&b.2));
    let &(first, value, _, (_, high)) = ranked.first()?;
    let tied = ranked.iter().filter(|(_, _, _, (low, _))| *low <= high).map(|(curve, ..)| *curve);
    if tied.clone().count() > 1 {
        let values = [("platforms", names(comparison, tied, language)), ("metric", metric.name(language))];
        return Some(say(language, Sentence::FastestTie, &values));
    }
    let values = [
        ("platform", comparison.label(first).to_owned()),
        ("metric", metric.name(language)),
        ("value", value.sentence(language)),
    ];
    Some(say(language, Sentence::Fastest, &values))
}

/// The platforms' labels as a list in a sentence.
pub(super) fn names<'c, 'a: 'c>(
    comparison: &Comparison<'_>,
    curves: impl Iterator<Item = &'c Curve<'a>>,
    language: Language,
) -> String {
    let labels: Vec<&str> = curves.map(|c| comparison.label(c)).collect();
    language.list(&labels)
}
