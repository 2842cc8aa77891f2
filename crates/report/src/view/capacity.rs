//! What the levels of a load show together: how much a platform sustains, where its curve bends, how it scales.

use std::collections::BTreeSet;

use kneepoint_model::bundle::SearchVerdict;
use kneepoint_model::summary::{self, FitDoubt, KneeAt, LoadAxis, NoKnee, STABLE_BY_DEFAULT, StableLevel};

use super::comparison::Comparison;
use super::search::capacity_text;
use super::table::{Cell, Column, Row, Table};
use super::values::{interval_text, say};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// The section on capacity.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// What can be said in words, a sentence or two each.
    pub(crate) facts: Vec<String>,
    /// The figures.
    pub(crate) tables: Vec<Table>,
}

/// A load of one platform under one workload, with what its levels show together.
struct Shown<'c> {
    /// Position of the platform, for its colour.
    platform: usize,
    label: &'c str,
    curve: &'c summary::Curve,
}

impl Shown<'_> {
    /// A load in the unit of this curve: `8 req/s`, `4 in flight`.
    fn load(&self, load: f64, language: Language) -> String {
        axis_text(self.curve.axis, load, language)
    }

    /// The load at which a point was held.
    fn at_point(&self, point: Option<u32>, language: Language) -> Option<String> {
        let level = self.curve.levels.iter().find(|l| Some(l.point) == point)?;
        Some(self.load(level.load, language))
    }
}

/// A load in the unit of an axis.
fn axis_text(axis: LoadAxis, load: f64, language: Language) -> String {
    let label = match axis {
        LoadAxis::RateRps => Label::LoadRate,
        LoadAxis::Concurrency => Label::LoadConcurrency,
    };
    language.say(label, &[("n", &format::plain(load))])
}

/// The section; `None` where no summary tells of curves.
pub(crate) fn capacity(comparison: &Comparison<'_>, language: Language) -> Option<Capacity> {
    let shown = shown(comparison);
    if shown.is_empty() {
        return None;
    }
    let mut facts = capacity_lines(comparison, language);
    facts.extend(shown.iter().flat_map(|s| knee_facts(comparison, s, language)));
    let mut tables = steps(comparison, &shown, language);
    tables.push(throughput(comparison, &shown, language));
    tables.extend(knees(comparison, &shown, language));
    tables.extend(scalability(comparison, &shown, language));
    tables.extend(scaling(comparison, &shown, language));
    Some(Capacity { facts, tables })
}

fn shown<'c>(comparison: &'c Comparison<'_>) -> Vec<Shown<'c>> {
    let mut all = Vec::new();
    for (platform, view) in comparison.platforms.iter().enumerate() {
        let curves = comparison.runs[view.run].summary.curves.iter();
        let own = curves.filter(|c| c.platform == view.name && !c.levels.is_empty());
        all.extend(own.map(|curve| Shown { platform, label: &view.label, curve }));
    }
    all
}

/// Adds the columns that name a load.
fn load_columns(table: &mut Table, comparison: &Comparison<'_>, language: Language) {
    table.words(Label::Platform, language);
    if comparison.many_workloads() {
        table.words(Label::Workload, language);
    }
    table.words(Label::LoadKind, language);
}

/// Adds a row of a load.
fn push(table: &mut Table, comparison: &Comparison<'_>, shown: &Shown<'_>, rest: Vec<Cell>, language: Language) {
    let mut cells = vec![Cell::text(shown.label)];
    if comparison.many_workloads() {
        cells.push(Cell::text(shown.curve.workload.as_str()));
    }
    cells.push(Cell::text(match (&shown.curve.search, shown.curve.axis) {
        (Some(search), _) => language.say(Label::SearchKind, &[("slo", &search.slo)]),
        (None, LoadAxis::RateRps) => Label::SweepRates.text(language).to_owned(),
        (None, LoadAxis::Concurrency) => Label::SweepConcurrency.text(language).to_owned(),
    }));
    let n_heads = cells.len();
    cells.extend(rest);
    table.rows.push(Row { cells, n_heads, platform: Some(shown.platform), ..Row::default() });
}

/// The steps of every search for one SLO, in the order measured; a table an SLO.
fn steps(comparison: &Comparison<'_>, shown: &[Shown<'_>], language: Language) -> Vec<Table> {
    let searched = shown.iter().filter_map(|s| s.curve.search.as_ref());
    let slos: BTreeSet<&str> = searched.map(|search| search.slo.as_str()).collect();
    slos.into_iter().enumerate().map(|(i, slo)| steps_of(comparison, shown, i, slo, language)).collect()
}

fn steps_of(comparison: &Comparison<'_>, shown: &[Shown<'_>], index: usize, slo: &str, language: Language) -> Table {
    let mut table = Table::new(format!("search-steps-{index}"), language.say(Label::SearchSteps, &[("slo", slo)]));
    table.words(Label::Platform, language);
    if comparison.many_workloads() {
        table.words(Label::Workload, language);
    }
    table.numbers(&[Label::Step, Label::Rate, Label::Window, Label::GoodOfJudged, Label::Share], language);
    table.words(Label::SearchSays, language);
    for s in shown {
        let Some(search) = s.curve.search.as_ref().filter(|search| search.slo == slo) else { continue };
        let points = &comparison.runs[comparison.platforms[s.platform].run].summary.points;
        for (i, step) in search.steps.iter().enumerate() {
            let point = points.iter().find(|p| p.point == step.point);
            let mut cells = vec![Cell::text(s.label)];
            cells.extend(comparison.many_workloads().then(|| Cell::text(s.curve.workload.as_str())));
            let n_heads = cells.len();
            let interval = point.and_then(|p| interval_text(p.slo.get(slo)?.ci95?, format::percent));
            cells.extend([
                Cell::number((i + 1).to_string()),
                Cell::number(s.load(step.rate_rps, language)),
                Cell::number(format::number(step.window_s)),
                Cell::number(format!("{} / {}", format::count(step.good), format::count(step.offered))),
                if step.offered > 0 {
                    Cell::with_sub(format::percent(step.good as f64 / step.offered as f64), interval)
                } else {
                    table.missing(Sentence::NoteNotEvaluated, language)
                },
                Cell {
                    sub: point.filter(|p| !p.valid).map(|_| Label::Invalid.text(language).to_owned()),
                    ..Cell::text(step_text(step.verdict, language))
                },
            ]);
            table.rows.push(Row { cells, n_heads, platform: Some(s.platform), ..Row::default() });
        }
    }
    table
}

/// What a step showed.
fn step_text(verdict: Option<SearchVerdict>, language: Language) -> &'static str {
    let label = match verdict {
        Some(SearchVerdict::Meets) => Label::StepMeets,
        Some(SearchVerdict::Misses) => Label::StepMisses,
        Some(SearchVerdict::Undecided) => Label::StepUndecided,
        None => Label::StepNotEnded,
    };
    label.text(language)
}

/// Most, plateau and stable throughput: a peak, what lasts, what lasts within limits.
fn throughput(comparison: &Comparison<'_>, shown: &[Shown<'_>], language: Language) -> Table {
    let mut table = Table::new("capacity-throughput", Label::CapacityThroughput.text(language));
    load_columns(&mut table, comparison, language);
    table.numbers(&[Label::MaxReqS, Label::MaxOutputTokS, Label::PlateauReqS], language);
    let rules: BTreeSet<&str> = shown
        .iter()
        .flat_map(|s| &comparison.runs[comparison.platforms[s.platform].run].summary.points)
        .flat_map(|p| p.stable.keys().map(String::as_str))
        .collect();
    for rule in &rules {
        let text = language.say(Label::StableReqS, &[("rule", &rule_text(rule, language))]);
        table.columns.push(Column { text, numeric: true });
    }
    for s in shown {
        let max = &s.curve.max_throughput;
        let mut rest = Vec::new();
        for (value, point) in [(max.req_s, max.req_point), (max.output_tok_s, max.output_tok_point)] {
            let cell = table.number_or(value, format::number, Sentence::NoteNoLevelCounts, language);
            let at = s.at_point(point, language).filter(|_| value.is_some());
            rest.push(Cell { sub: at.map(|load| language.say(Label::AtLoad, &[("load", &load)])), ..cell });
        }
        rest.push(match s.curve.plateau {
            Some(plateau) => {
                let load = s.load(plateau.load, language);
                let label = if plateau.ended_sweep { Label::FromLoadEnded } else { Label::FromLoad };
                Cell::with_sub(format::number(plateau.req_s), Some(language.say(label, &[("load", &load)])))
            }
            None => table.missing(Sentence::NoteNoPlateau, language),
        });
        for rule in &rules {
            rest.push(match s.curve.stable_throughput.get(*rule) {
                Some(stable) => stable_cell(&mut table, s, stable, language),
                None => table.missing(Sentence::NoteNothingStable, language),
            });
        }
        push(&mut table, comparison, s, rest, language);
    }
    table.remarks.push(Sentence::NoteMaxAgainstStable.text(language).to_owned());
    table
}

/// The rule by which throughput is stable.
fn rule_text(rule: &str, language: Language) -> String {
    if rule == STABLE_BY_DEFAULT { Label::StableDefaultRule.text(language).to_owned() } else { rule.to_owned() }
}

fn stable_cell(table: &mut Table, shown: &Shown<'_>, stable: &StableLevel, language: Language) -> Cell {
    let load = shown.load(stable.load, language);
    let mut cell = table.number_or(stable.req_s, format::number, Sentence::NoteNoWindow, language);
    cell.sub = Some(language.say(Label::AtLoad, &[("load", &load)]));
    let note = match (stable.beyond_chance, stable.highest_level) {
        (false, true) => Some(Sentence::NoteStableChanceHighest),
        (false, false) => Some(Sentence::NoteStableChance),
        (true, true) => Some(Sentence::NoteStableHighest),
        (true, false) => None,
    };
    if let Some(note) = note {
        cell.note = Some(table.note(note.text(language)));
    }
    cell
}

/// Where the curve of each sweep bends.
fn knees(comparison: &Comparison<'_>, shown: &[Shown<'_>], language: Language) -> Option<Table> {
    let mut table = Table::new("knees", Label::KneeTable.text(language));
    load_columns(&mut table, comparison, language);
    table.numbers(&[Label::KneeLatency, Label::KneeThroughput, Label::KneeTwoLines], language);
    for s in shown.iter().filter(|s| s.curve.search.is_none()) {
        let knee = &s.curve.knee;
        let mut rest = Vec::new();
        for (at, name) in [(&knee.latency, "latency"), (&knee.throughput, "throughput"), (&knee.two_lines, "two_lines")]
        {
            rest.push(match (at, knee.none_because.get(name)) {
                (Some(at), _) => Cell::with_sub(s.load(at.load, language), of_capacity(at, language)),
                (None, Some(NoKnee::TooFewLevels)) => table.missing(Sentence::NoteKneeFewLevels, language),
                (None, Some(NoKnee::NoBend) | None) => table.missing(Sentence::NoteKneeNoBend, language),
            });
        }
        push(&mut table, comparison, s, rest, language);
    }
    if table.rows.is_empty() {
        return None;
    }
    // Rows without a single knee say no more than their reasons do.
    if table.rows.iter().all(|row| row.cells.iter().skip(row.n_heads).all(|cell| cell.muted)) {
        table.rows.clear();
        table.remarks.append(&mut table.notes);
        return Some(table);
    }
    table.remarks.push(Sentence::NoteKneeOfSweep.text(language).to_owned());
    Some(table)
}

/// Where the knee lies relative to each SLO's capacity: `0.8 × capacity (realtime)`.
fn of_capacity(knee: &KneeAt, language: Language) -> Option<String> {
    let each: Vec<String> = knee
        .of_slo_capacity
        .iter()
        .map(|(slo, times)| language.say(Label::KneeOfCapacity, &[("n", &format::limit(*times)), ("slo", slo)]))
        .collect();
    (!each.is_empty()).then(|| each.join("\n"))
}

/// The knee of latency, else of throughput, in words, for each SLO.
fn knee_facts(comparison: &Comparison<'_>, shown: &Shown<'_>, language: Language) -> Vec<String> {
    let knee = &shown.curve.knee;
    let (at, bends) = match (&knee.latency, &knee.throughput) {
        (Some(at), _) => (at, Sentence::KneeLatencyAt),
        (None, Some(at)) => (at, Sentence::KneeThroughputAt),
        (None, None) => return Vec::new(),
    };
    let mut label = shown.label.to_owned();
    if comparison.many_workloads() {
        label = format!("{} · {label}", shown.curve.workload);
    }
    let load = shown.load(at.load, language);
    let mut said = vec![say(language, bends, &[("platform", label), ("load", load)])];
    for (slo, times) in &at.of_slo_capacity {
        let sentence = if *times > 1.0 + 1e-9 {
            Sentence::KneeAfterSlo
        } else if *times < 1.0 - 1e-9 {
            Sentence::KneeBeforeSlo
        } else {
            Sentence::KneeAtSlo
        };
        said.push(say(language, sentence, &[("slo", slo.clone()), ("n", format::limit(*times))]));
    }
    vec![said.join(language.space())]
}

/// The Universal Scalability Law fitted to each curve.
fn scalability(comparison: &Comparison<'_>, shown: &[Shown<'_>], language: Language) -> Option<Table> {
    let mut table = Table::new("scalability", Label::UslTable.text(language));
    table.open = false;
    load_columns(&mut table, comparison, language);
    table.numbers(&[Label::UslPeakInFlight, Label::UslPeakReqS, Label::UslGamma, Label::UslSigma], language);
    table.numbers(&[Label::UslKappa, Label::UslR2, Label::UslLevels], language);
    table.words(Label::UslDoubts, language);
    for s in shown {
        let Some(fit) = &s.curve.scalability else { continue };
        let doubts: Vec<&str> = fit.doubts.iter().map(|doubt| doubt_text(*doubt, language)).collect();
        let rest = vec![
            table.number_or(fit.peak_in_flight, format::number, Sentence::NoteUslNoPeak, language),
            table.number_or(fit.peak_req_s, format::number, Sentence::NoteUslNoPeak, language),
            Cell::number(format::number(fit.gamma)),
            Cell::number(format::number(fit.sigma)),
            Cell::number(format::number(fit.kappa)),
            table.number_or(fit.r2, format::number, Sentence::NoteUslNoR2, language),
            Cell::number(fit.levels.to_string()),
            Cell::text(if doubts.is_empty() { Label::UslNoDoubt.text(language).to_owned() } else { doubts.join("\n") }),
        ];
        push(&mut table, comparison, s, rest, language);
    }
    table.remarks.push(Sentence::NoteUsl.text(language).to_owned());
    (!table.rows.is_empty()).then_some(table)
}

fn doubt_text(doubt: FitDoubt, language: Language) -> &'static str {
    let label = match doubt {
        FitDoubt::FewLevels => Label::DoubtFewLevels,
        FitDoubt::PoorFit => Label::DoubtPoorFit,
        FitDoubt::BendNotReached => Label::DoubtBendNotReached,
        FitDoubt::PeakNotReached => Label::DoubtPeakNotReached,
    };
    label.text(language)
}

/// What each level brings over the one before it.
fn scaling(comparison: &Comparison<'_>, shown: &[Shown<'_>], language: Language) -> Option<Table> {
    let mut table = Table::new("scaling", Label::ScalingTable.text(language));
    table.open = false;
    load_columns(&mut table, comparison, language);
    table.numbers(&[Label::ScalingFrom, Label::ScalingTo, Label::ScalingGrowth, Label::ScalingEfficiency], language);
    for s in shown {
        for step in &s.curve.scaling {
            let rest = vec![
                Cell::number(s.load(step.from, language)),
                Cell::number(s.load(step.to, language)),
                Cell::number(format::signed_percent(step.growth)),
                Cell::number(format::percent(step.efficiency)),
            ];
            push(&mut table, comparison, s, rest, language);
        }
    }
    table.remarks.push(Sentence::NoteScaling.text(language).to_owned());
    (!table.rows.is_empty()).then_some(table)
}

/// What each search found, a line each.
pub(crate) fn capacity_lines(comparison: &Comparison<'_>, language: Language) -> Vec<String> {
    let each = comparison.curves.iter().filter_map(|curve| {
        let text = capacity_text(comparison, curve, comparison.search_result(curve)?, language);
        Some(if comparison.many_workloads() { format!("{} · {text}", curve.workload) } else { text })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use kneepoint_model::summary::LoadSummary;

    use super::*;
    use crate::view::comparison::load_text;

    #[test]
    fn an_axis_says_its_unit_as_a_point_does() {
        let rate = LoadSummary { rate_rps: Some(8.0), arrival: None, concurrency: None };
        assert_eq!(axis_text(LoadAxis::RateRps, 8.0, Language::English), load_text(&rate, Language::English));
        let closed = LoadSummary { rate_rps: None, arrival: None, concurrency: Some(4) };
        assert_eq!(axis_text(LoadAxis::Concurrency, 4.0, Language::Chinese), load_text(&closed, Language::Chinese));
    }
}
