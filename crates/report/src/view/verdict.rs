//! The verdict: what the numbers allow to say, and how sure it is. Points that are not valid are never used.

use kneepoint_model::summary::{Interval, PointSummary, SloSummary};

use super::comparison::{Comparison, Curve, kind_text, level, load_text, same_level};
use super::fastest::{Deciding, deciding_metric, fastest, names, not_comparable};
use super::search::search_verdict;
use super::values::{quantile, say, tokens_per_s};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// One question and its answer.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What was asked: an SLO, a workload.
    pub(crate) heading: Option<String>,
    /// The answer.
    pub(crate) conclusions: Vec<String>,
    /// What it rests on, a platform each.
    pub(crate) facts: Vec<String>,
}

/// The highest valid level at which a platform met an SLO.
struct Best<'c, 'a> {
    curve: &'c Curve<'a>,
    point: &'a PointSummary,
    slo: &'a SloSummary,
}

/// The verdicts, one a workload, kind of load and SLO.
pub(crate) fn verdicts(comparison: &Comparison<'_>, language: Language) -> Vec<Verdict> {
    let groups = comparison.groups();
    if groups.is_empty() {
        let conclusions = vec![Sentence::NoPoints.text(language).to_owned()];
        return vec![Verdict { heading: None, conclusions, facts: Vec::new() }];
    }
    let name_group = groups.len() > 1;
    // A search names the capacity itself; levels picked by hand only bound it.
    let searches = groups.iter().filter(|group| group.iter().any(|c| c.search.is_some()));
    let mut verdicts: Vec<Verdict> =
        searches.map(|group| search_verdict(comparison, group, name_group, language)).collect();
    for group in groups.iter().filter(|group| group.iter().all(|c| c.search.is_none())) {
        let mut slos: Vec<&str> = Vec::new();
        for point in group.iter().flat_map(|c| &c.points) {
            for name in point.slo.keys().filter(|n| !slos.contains(&n.as_str())).collect::<Vec<_>>() {
                slos.push(name);
            }
        }
        if slos.is_empty() {
            verdicts.push(plain_verdict(comparison, group, name_group, language));
        }
        for slo in slos {
            verdicts.push(slo_verdict(comparison, group, slo, name_group, language));
        }
    }
    verdicts
}

/// `true` if a verdict may rest on the point.
pub(super) fn usable(point: &PointSummary) -> bool {
    point.valid && point.requests.ok > 0
}

fn slo_verdict(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    slo: &str,
    name_group: bool,
    language: Language,
) -> Verdict {
    let best: Vec<Best<'_, '_>> = group.iter().filter_map(|&curve| best(curve, slo)).collect();
    let conclusions = conclude(comparison, group, &best, slo, language);
    let facts = group.iter().map(|curve| slo_fact(comparison, curve, slo, language)).collect();
    Verdict { heading: slo_heading(group, slo, name_group, language), conclusions, facts }
}

fn best<'c, 'a>(curve: &'c Curve<'a>, slo: &str) -> Option<Best<'c, 'a>> {
    let met = |p: &&&'a PointSummary| usable(p) && p.slo.get(slo).is_some_and(|s| s.met == Some(true));
    let point = *curve.points.iter().rev().find(met)?;
    Some(Best { curve, point, slo: point.slo.get(slo)? })
}

pub(super) fn slo_heading(group: &[&Curve<'_>], name: &str, name_group: bool, language: Language) -> Option<String> {
    let slo = group.iter().flat_map(|c| &c.points).find_map(|p| p.slo.get(name))?;
    let first = group.first()?;
    let values = [
        ("slo", name.to_owned()),
        ("limits", limits_text(slo, language)),
        ("share", format::percent(slo.share)),
        ("workload", first.workload.to_owned()),
        ("kind", kind_text(first, language)),
    ];
    let sentence = if name_group { Sentence::SloHeadingIn } else { Sentence::SloHeading };
    Some(say(language, sentence, &values))
}

/// An SLO's limits: `TTFT ≤ 500 ms, TPOT ≤ 40 ms`.
pub(crate) fn limits_text(slo: &SloSummary, language: Language) -> String {
    let limits = [("TTFT", slo.ttft_limit_ms), ("TPOT", slo.tpot_limit_ms), ("E2E", slo.e2e_limit_ms)];
    let each: Vec<String> = limits
        .into_iter()
        .filter_map(|(metric, limit)| {
            let value = if limit? >= 10_000.0 {
                format!("{} s", format::plain(limit? / 1000.0))
            } else {
                format!("{} ms", format::plain(limit?))
            };
            Some(say(language, Sentence::LimitAtMost, &[("metric", metric.to_owned()), ("value", value)]))
        })
        .collect();
    if each.is_empty() { format::NONE.to_owned() } else { each.join(language.comma()) }
}

/// Which platform carries the most load within an SLO, and how sure that is.
fn conclude(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    best: &[Best<'_, '_>],
    slo: &str,
    language: Language,
) -> Vec<String> {
    let Some(top) = best.iter().max_by(|a, b| level(&a.point.load).total_cmp(&level(&b.point.load))) else {
        return vec![Sentence::NobodyMet.text(language).to_owned()];
    };
    let leaders: Vec<&Best<'_, '_>> = best.iter().filter(|b| same_level(&b.point.load, &top.point.load)).collect();
    let load = load_text(&top.point.load, language);
    let mut said = Vec::new();
    if group.len() == 1 {
        let doubts = own_doubts(comparison, &leaders, language);
        let sentence = if doubts.is_empty() { Sentence::OnlyMet } else { Sentence::OnlyMetUnsure };
        let platform = comparison.label(top.curve).to_owned();
        said.push(say(language, sentence, &[("platform", platform), ("load", load), ("why", doubts)]));
    } else if let [leader] = leaders[..] {
        let others = group.iter().filter(|c| c.platform != leader.curve.platform);
        let mut doubts: Vec<String> =
            others.filter_map(|c| doubt(comparison, c, leader.point, slo, language)).collect();
        doubts.extend(own_doubt(comparison, leader, language));
        let platform = comparison.label(leader.curve).to_owned();
        let values = [("platform", platform), ("load", load), ("why", doubts.join(language.semicolon()))];
        let sentence = if doubts.is_empty() { Sentence::ClearWinner } else { Sentence::LikelyWinner };
        said.push(say(language, sentence, &values));
    } else {
        let names = names(comparison, leaders.iter().map(|b| b.curve), language);
        let doubts = own_doubts(comparison, &leaders, language);
        let sentence = if doubts.is_empty() { Sentence::LoadTie } else { Sentence::LoadTieUnsure };
        said.push(say(language, sentence, &[("platforms", names), ("load", load), ("why", doubts)]));
        let contenders: Vec<_> = leaders.iter().map(|b| (b.curve, b.point)).collect();
        said.push(Sentence::ComparedThere.text(language).to_owned());
        let deciding = deciding_metric(top.slo);
        let median = Deciding { percentile: "p50", ..deciding };
        // The tail decides; the median where n does not support intervals in the tail.
        let said_of = |metric| fastest(comparison, &contenders, metric, language);
        said.push(said_of(deciding).or_else(|| said_of(median)).unwrap_or_else(|| not_comparable(deciding, language)));
    }
    let highest_tested = leaders.iter().any(|b| b.curve.points.last().is_some_and(|p| p.point == b.point.point));
    if highest_tested {
        said.push(Sentence::HighestTested.text(language).to_owned());
    }
    said
}

/// Why a platform cannot be said to carry less than the leader, if so.
fn doubt(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    leader: &PointSummary,
    slo: &str,
    language: Language,
) -> Option<String> {
    let top = level(&leader.load);
    let label = comparison.label(curve).to_owned();
    let own_best = best(curve, slo).map_or(f64::NEG_INFINITY, |b| level(&b.point.load));
    let judged: Vec<(&PointSummary, &SloSummary)> = curve
        .points
        .iter()
        .filter(|p| usable(p) && level(&p.load) > own_best && level(&p.load) <= top * (1.0 + 1e-9))
        .filter_map(|p| p.slo.get(slo).filter(|s| s.met == Some(false)).map(|s| (*p, s)))
        .collect();
    // One level up to the leader's at which it surely missed settles it.
    if judged.iter().any(|(_, s)| surely_missed(s)) {
        return None;
    }
    if let Some((point, s)) = judged.last() {
        return Some(overlap(comparison, curve, point, s, language));
    }
    let judgeable = curve.points.iter().any(|p| p.slo.get(slo).is_some_and(|s| s.met.is_some()));
    let sentence = if judgeable { Sentence::WhyNoValid } else { Sentence::WhyNotJudged };
    Some(say(language, sentence, &[("platform", label)]))
}

/// Why it is not certain that these met the SLO at their best level; empty if it is.
fn own_doubts(comparison: &Comparison<'_>, leaders: &[&Best<'_, '_>], language: Language) -> String {
    let doubts: Vec<String> = leaders.iter().filter_map(|best| own_doubt(comparison, best, language)).collect();
    doubts.join(language.semicolon())
}

/// Why it is not certain that a platform met the SLO at its best level, if so.
fn own_doubt(comparison: &Comparison<'_>, best: &Best<'_, '_>, language: Language) -> Option<String> {
    let unsure = !surely_met(best.slo);
    unsure.then(|| doubt_text(comparison, best.curve, best.point, best.slo, Sentence::WhyMetUnsure, language))
}

fn overlap(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    point: &PointSummary,
    slo: &SloSummary,
    language: Language,
) -> String {
    doubt_text(comparison, curve, point, slo, Sentence::WhyOverlap, language)
}

fn doubt_text(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    point: &PointSummary,
    slo: &SloSummary,
    sentence: Sentence,
    language: Language,
) -> String {
    let side = |v: Option<f64>| v.map_or_else(|| format::NONE.to_owned(), format::percent);
    let Interval(low, high) = slo.ci95.unwrap_or(Interval(None, None));
    let values = [
        ("platform", comparison.label(curve).to_owned()),
        ("low", side(low)),
        ("high", side(high)),
        ("load", load_text(&point.load, language)),
        ("n", format::count(slo.offered)),
    ];
    say(language, sentence, &values)
}

fn surely_met(slo: &SloSummary) -> bool {
    slo.ci95.and_then(|i| i.0).is_some_and(|low| low >= slo.share)
}

fn surely_missed(slo: &SloSummary) -> bool {
    slo.ci95.and_then(|i| i.1).is_some_and(|high| high < slo.share)
}

/// What one platform did under an SLO.
fn slo_fact(comparison: &Comparison<'_>, curve: &Curve<'_>, slo: &str, language: Language) -> String {
    let platform = comparison.label(curve).to_owned();
    let mut said = Vec::new();
    if let Some(best) = best(curve, slo) {
        said.push(met_fact(platform, &best, language));
        if !surely_met(best.slo) {
            said.push(Sentence::FactAttainmentUnsure.text(language).to_owned());
        }
        let lower = curve.points.iter().find(|p| {
            usable(p)
                && level(&p.load) < level(&best.point.load)
                && p.slo.get(slo).is_some_and(|s| s.met == Some(false))
        });
        if let Some(lower) = lower {
            said.push(say(language, Sentence::FactLowerMissed, &[("load", load_text(&lower.load, language))]));
        }
    } else if !curve.points.iter().any(|p| usable(p)) {
        said.push(say(language, Sentence::FactNoValid, &[("platform", platform)]));
    } else {
        let judged = curve.points.iter().filter(|p| usable(p));
        let most = judged.filter_map(|p| Some((p, p.slo.get(slo)?.attainment?))).max_by(|a, b| a.1.total_cmp(&b.1));
        said.push(match most {
            Some((point, share)) => {
                let load = load_text(&point.load, language);
                let values = [("platform", platform), ("attainment", format::percent(share)), ("load", load)];
                say(language, Sentence::FactNeverMet, &values)
            }
            None => say(language, Sentence::FactNotJudged, &[("platform", platform)]),
        });
    }
    said.extend(invalid_levels(curve, language));
    said.join(language.space())
}

fn met_fact(platform: String, best: &Best<'_, '_>, language: Language) -> String {
    let interval = match best.slo.ci95 {
        Some(Interval(Some(low), Some(high))) => {
            let values = [("low", format::percent(low)), ("high", format::percent(high))];
            say(language, Sentence::AttainmentInterval, &values)
        }
        _ => String::new(),
    };
    let values = [
        ("platform", platform),
        ("load", load_text(&best.point.load, language)),
        ("attainment", best.slo.attainment.map_or_else(|| format::NONE.to_owned(), format::percent)),
        ("n", format::count(best.slo.offered)),
        ("interval", interval),
        ("p50", quantile(&best.point.ttft_ms, "p50").sentence(language)),
        ("p95", quantile(&best.point.ttft_ms, "p95").sentence(language)),
        ("tokens", tokens_per_s(best.point, language)),
    ];
    say(language, Sentence::FactMet, &values)
}

/// The levels left out because they are not valid.
fn invalid_levels(curve: &Curve<'_>, language: Language) -> Option<String> {
    let loads: Vec<String> = curve.points.iter().filter(|p| !usable(p)).map(|p| load_text(&p.load, language)).collect();
    let any_valid = curve.points.iter().any(|p| usable(p));
    (!loads.is_empty() && any_valid)
        .then(|| say(language, Sentence::FactInvalidAbove, &[("loads", loads.join(language.comma()))]))
}

/// The facts where the plan sets no SLO.
fn plain_verdict(comparison: &Comparison<'_>, group: &[&Curve<'_>], name_group: bool, language: Language) -> Verdict {
    let heading = group.first().filter(|_| name_group).map(|first| {
        let kind = kind_text(first, language);
        say(language, Sentence::PlainHeadingIn, &[("workload", first.workload.to_owned()), ("kind", kind)])
    });
    let mut conclusions = vec![Sentence::NoSlo.text(language).to_owned()];
    if group.len() > 1 {
        conclusions.extend(common_level(comparison, group, language));
    }
    let facts = group.iter().map(|curve| plain_fact(comparison, curve, language)).collect();
    Verdict { heading, conclusions, facts }
}

/// Who is fastest at the highest level that every platform measured validly.
fn common_level(comparison: &Comparison<'_>, group: &[&Curve<'_>], language: Language) -> Vec<String> {
    let at = |curve: &Curve<'_>, wanted: &PointSummary| -> bool {
        curve.points.iter().any(|p| usable(p) && same_level(&p.load, &wanted.load))
    };
    let Some((first, rest)) = group.split_first() else { return Vec::new() };
    let common = first.points.iter().rev().find(|p| usable(p) && rest.iter().all(|c| at(c, p)));
    let Some(common) = common else { return vec![Sentence::NoCommonLevel.text(language).to_owned()] };
    let contenders: Vec<_> = group
        .iter()
        .filter_map(|c| Some((*c, *c.points.iter().find(|p| usable(p) && same_level(&p.load, &common.load))?)))
        .collect();
    let compared = say(language, Sentence::ComparedAt, &[("load", load_text(&common.load, language))]);
    let metrics = [(Label::TtftShort, "p50"), (Label::TtftShort, "p95"), (Label::E2eShort, "p95")];
    let each = metrics.into_iter().map(|(label, percentile)| {
        let metric = Deciding { label, percentile };
        fastest(comparison, &contenders, metric, language).unwrap_or_else(|| not_comparable(metric, language))
    });
    [compared].into_iter().chain(each).collect()
}

fn plain_fact(comparison: &Comparison<'_>, curve: &Curve<'_>, language: Language) -> String {
    let platform = comparison.label(curve).to_owned();
    let valid: Vec<&PointSummary> = curve.points.iter().copied().filter(|p| usable(p)).collect();
    let Some(lowest) = valid.first() else {
        return say(language, Sentence::FactNoValid, &[("platform", platform)]);
    };
    let figures = |point: &PointSummary| {
        [
            ("platform", platform.clone()),
            ("load", load_text(&point.load, language)),
            ("p50", quantile(&point.ttft_ms, "p50").sentence(language)),
            ("p95", quantile(&point.ttft_ms, "p95").sentence(language)),
            ("tokens", tokens_per_s(point, language)),
        ]
    };
    let mut said = vec![say(language, Sentence::FactLowest, &figures(lowest))];
    let rate = |p: &&PointSummary| p.throughput.output_tok_s;
    let most = valid
        .iter()
        .copied()
        .filter(|p| rate(p).is_some())
        .max_by(|a, b| rate(a).unwrap_or_default().total_cmp(&rate(b).unwrap_or_default()));
    if let Some(most) = most.filter(|p| p.point != lowest.point) {
        said.push(say(language, Sentence::FactMost, &figures(most)));
    }
    said.extend(invalid_levels(curve, language));
    said.join(language.space())
}
