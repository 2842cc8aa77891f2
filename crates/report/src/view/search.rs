//! What searches for the highest rate found, and what that allows to say of platforms.

use kneepoint_model::summary::{ReasonCode, SearchResult, Severity};

use super::comparison::{Comparison, Curve, same_rate};
use super::fastest::names;
use super::values::say;
use super::verdict::{Verdict, slo_heading, usable};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// A search of one platform and what it found.
struct Found<'c, 'a> {
    curve: &'c Curve<'a>,
    result: &'a SearchResult,
}

/// The capacity of each platform by its search, and which is the largest.
pub(super) fn search_verdict(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    name_group: bool,
    language: Language,
) -> Verdict {
    let slo = group.first().and_then(|c| c.search).map_or("", |s| s.slo);
    let found: Vec<Found<'_, '_>> =
        group.iter().filter_map(|&curve| Some(Found { curve, result: comparison.search_result(curve)? })).collect();
    let sound: Vec<&Found<'_, '_>> = found.iter().filter(|f| rests_on_valid(f.curve, f.result)).collect();
    let mut conclusions = conclude(comparison, &sound, group.len(), language);
    if sound.len() < found.len() {
        conclusions.push(Sentence::SearchUnsound.text(language).to_owned());
    }
    let facts = found.iter().map(|f| capacity_text(comparison, f.curve, f.result, language)).collect();
    Verdict { heading: slo_heading(group, slo, name_group, language), conclusions, facts }
}

/// `true` if a valid step met the SLO at the rate named, or where none is named, a valid one missed it.
fn rests_on_valid(curve: &Curve<'_>, result: &SearchResult) -> bool {
    let named = result.meets_rps.or(result.misses_rps);
    let missed_only = result.meets_rps.is_none();
    // Overload makes a step invalid, and is what a missed SLO looks like.
    curve.points.iter().any(|p| same_rate(p.load.rate_rps, named) && (usable(p) || missed_only))
}

/// Who sustains the most; the first sentence is the answer.
fn conclude(comparison: &Comparison<'_>, sound: &[&Found<'_, '_>], of: usize, language: Language) -> Vec<String> {
    let met = || sound.iter().filter_map(|f| Some((*f, f.result.meets_rps?)));
    let Some((top, most)) = met().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return vec![Sentence::SearchNobody.text(language).to_owned()];
    };
    let platform = comparison.label(top.curve).to_owned();
    let low = language.say(Label::LoadRate, &[("n", &format::plain(most))]);
    let values = [("platform", platform), ("range", range_text(top.result, language)), ("low", low)];
    if of == 1 {
        return vec![say(language, Sentence::SearchOnly, &values)];
    }
    // An interval that reaches above the leader's lower end may hold the larger capacity.
    let rivals: Vec<&Found<'_, '_>> = sound
        .iter()
        .copied()
        .filter(|f| f.curve.platform != top.curve.platform && f.result.misses_rps.is_none_or(|upper| upper > most))
        .collect();
    if rivals.is_empty() && sound.len() == of {
        return vec![say(language, Sentence::SearchWinner, &values)];
    }
    if rivals.is_empty() {
        return vec![say(language, Sentence::SearchLikely, &values)];
    }
    let is_tied =
        |c: &Curve<'_>| c.platform == top.curve.platform || rivals.iter().any(|f| f.curve.platform == c.platform);
    let tied = sound.iter().map(|f| f.curve).filter(|c| is_tied(c));
    vec![say(language, Sentence::SearchTie, &[("platforms", names(comparison, tied, language))])]
}

/// The capacity as an interval: `140–160 req/s`, `≥ 160 req/s`, `< 5 req/s`.
pub(crate) fn range_text(result: &SearchResult, language: Language) -> String {
    let rate = |text: String| language.say(Label::LoadRate, &[("n", &text)]);
    match (result.meets_rps, result.misses_rps) {
        (Some(low), Some(high)) => rate(format!("{}–{}", format::plain(low), format::plain(high))),
        (Some(low), None) => rate(format!("≥ {}", format::plain(low))),
        (None, Some(high)) => rate(format!("< {}", format::plain(high))),
        (None, None) => format::NONE.to_owned(),
    }
}

/// What a platform's search found, in sentences.
pub(crate) fn capacity_text(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    result: &SearchResult,
    language: Language,
) -> String {
    let rate = |rps: f64| language.say(Label::LoadRate, &[("n", &format::plain(rps))]);
    let share = curve.points.iter().find_map(|p| p.slo.get(&result.slo)).map(|slo| format::percent(slo.share));
    let values = [
        ("platform", comparison.label(curve).to_owned()),
        ("slo", result.slo.clone()),
        ("share", share.unwrap_or_else(|| format::NONE.to_owned())),
        ("low", result.meets_rps.map(rate).unwrap_or_default()),
        ("high", result.misses_rps.map(rate).unwrap_or_default()),
        ("n", result.confirmed.to_string()),
    ];
    let sentence = match (result.meets_rps, result.misses_rps) {
        (Some(_), Some(_)) => Sentence::CapacityBetween,
        (Some(_), None) if result.at_most_met => Sentence::CapacityAtMostMet,
        (Some(_), None) => Sentence::CapacityAtLeast,
        (None, Some(_)) => Sentence::CapacityBelow,
        (None, None) => Sentence::CapacityUnknown,
    };
    let mut said = vec![say(language, sentence, &values)];
    if result.meets_rps.is_some() {
        let confirmed = match result.confirmed {
            0 => Sentence::CapacityUnconfirmed,
            1 => Sentence::CapacityConfirmedOnce,
            _ => Sentence::CapacityConfirmed,
        };
        said.push(say(language, confirmed, &values));
    }
    if !result.complete {
        said.push(Sentence::CapacityIncomplete.text(language).to_owned());
    }
    if result.meets_rps.is_some() && !rests_on_valid(curve, result) {
        said.push(say(language, Sentence::CapacityNotValid, &values));
    }
    if client_limited(curve, result.misses_rps) {
        said.push(say(language, Sentence::CapacityClientLimit, &values));
    }
    said.join(language.space())
}

/// `true` if at the rate that missed the client was late: then not the platform may have been the limit.
fn client_limited(curve: &Curve<'_>, misses_rps: Option<f64>) -> bool {
    const CLIENT: [ReasonCode; 5] = [
        ReasonCode::ClientLate,
        ReasonCode::ClientBusy,
        ReasonCode::ClientWaited,
        ReasonCode::ClientReadLate,
        ReasonCode::Dropped,
    ];
    let mut missed = curve.points.iter().filter(|p| same_rate(p.load.rate_rps, misses_rps)).peekable();
    missed.peek().is_some()
        && missed.all(|p| p.reasons.iter().any(|r| r.severity == Severity::Invalid && CLIENT.contains(&r.code)))
}
