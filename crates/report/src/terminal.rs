//! A compact table of points for terminals: plain text, no colour codes, East Asian widths respected.

use kneepoint_model::bundle::{Environment, Manifest};
use kneepoint_model::summary::{Distribution, PointSummary, Reason, ReasonCode, Severity, Summary};

use crate::Run;
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence, reason_text};
use crate::view::capacity::capacity_lines;
use crate::view::comparison::{Comparison, Curve, point_text};
use crate::view::plan::limit_text;
use crate::view::values::{Quantile, quantile, say};
use crate::view::warnings::{figure_with_limit, points_done};

/// Longest a name may be in a column; longer ones are cut in the middle of nothing, at the end, with an ellipsis.
const NAME_COLUMNS: usize = 28;

/// A percentile of one of a point's distributions: where that is, and which.
type Shown = (fn(&PointSummary) -> &Distribution, &'static str);

/// The percentiles shown.
const QUANTILES: [Shown; 5] = [
    (|p| &p.ttft_ms, "p50"),
    (|p| &p.ttft_ms, "p95"),
    (|p| &p.ttft_ms, "p99"),
    (|p| &p.tpot_ms, "p50"),
    (|p| &p.e2e_ms, "p50"),
];

/// What the columns depend on.
#[derive(Clone, Copy)]
struct Shape {
    /// Workloads have a column where there are several.
    many_workloads: bool,
    /// Requests that were cut have one where there are any.
    any_cut: bool,
    /// SLOs have one where the plan sets any.
    any_slo: bool,
}

impl Shape {
    fn of(comparison: &Comparison<'_>) -> Self {
        Self {
            many_workloads: comparison.many_workloads(),
            any_cut: comparison.points().any(|(_, p)| p.requests.cut > 0),
            any_slo: comparison.points().any(|(_, p)| !p.slo.is_empty()),
        }
    }

    /// The first columns, which are words and stand to the left.
    fn n_words(self) -> usize {
        if self.many_workloads { 3 } else { 2 }
    }
}

/// One line a point: load, outcome, rates and latencies; below, what stands against them.
pub(crate) fn text_table(summary: &Summary, language: Language) -> String {
    let manifest = no_manifest(summary);
    let environment = Environment::default();
    let runs = [Run { summary, manifest: &manifest, environment: &environment, plan_yaml: "" }];
    let comparison = Comparison::new(&runs);
    let shape = Shape::of(&comparison);
    let mut rows = vec![head(shape, language)];
    rows.extend(comparison.points().map(|(curve, point)| row(shape, comparison.label(curve), curve, point, language)));
    let mut out = lay_out(&rows, shape);
    for line in notes(&comparison, summary, language) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The lines below the table.
fn notes(comparison: &Comparison<'_>, summary: &Summary, language: Language) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.simulated {
        notes.push(Label::SimulatedBanner.text(language).to_owned());
    }
    notes.extend(summary.run.limit.map(|limit| limit_text(limit, None, language)));
    notes.extend(capacity_lines(comparison, language).iter().map(|line| clean(line)));
    notes.extend(samples_needed(comparison, language).map(|text| format!("* {text}")));
    let invalid = comparison.points().filter(|(_, p)| !p.valid);
    let why: Vec<String> = invalid.map(|(curve, point)| why_invalid(comparison, curve, point, language)).collect();
    if !why.is_empty() {
        notes.push(format!("! {}", Label::Invalid.text(language)));
        notes.extend(why);
    }
    let warnings = grouped_warnings(comparison, language);
    if !warnings.is_empty() {
        notes.push(Label::TextWarnings.text(language).to_owned());
        notes.extend(warnings);
    }
    if !summary.run.skipped.is_empty() {
        notes.push(language.say(Label::TextSkipped, &[("n", &summary.run.skipped.len().to_string())]));
    }
    let done = points_done(summary);
    if done + summary.run.skipped.len() < summary.run.points_planned {
        let n = done.to_string();
        let planned = summary.run.points_planned.to_string();
        notes.push(language.say(Label::TextMore, &[("n", &n), ("planned", &planned)]));
    }
    notes
}

/// What the refused percentiles of the table would have needed: `p95 needs 130 samples, p99 662`.
fn samples_needed(comparison: &Comparison<'_>, language: Language) -> Option<String> {
    let mut needed: Vec<(&str, u64)> = Vec::new();
    let mut refused = false;
    for (_, point) in comparison.points() {
        for (of, name) in QUANTILES {
            let Quantile::TooFew { needs, .. } = quantile(of(point), name) else { continue };
            refused = true;
            needed.extend(needs.map(|needs| (name, needs)).filter(|new| !needed.contains(new)));
        }
    }
    // The names sort as the percentiles do.
    needed.sort_unstable();
    let each: Vec<String> = needed
        .iter()
        .enumerate()
        .map(|(i, (name, needs))| {
            let sentence = if i == 0 { Sentence::NeedsSamples } else { Sentence::NeedsAlso };
            say(language, sentence, &[("percentile", (*name).to_owned()), ("n", format::count(*needs))])
        })
        .collect();
    match (refused, each.is_empty()) {
        (false, _) => None,
        (true, true) => Some(Sentence::NoteNotSupported.text(language).to_owned()),
        (true, false) => Some(each.join(language.comma_in_head())),
    }
}

/// Where, and every reason with its figure, on one line.
fn why_invalid(comparison: &Comparison<'_>, curve: &Curve<'_>, point: &PointSummary, language: Language) -> String {
    let load = point_text(curve, point, language);
    let level = if comparison.many_workloads() { format!("{} · {load}", shorten(&point.workload)) } else { load };
    let values = [("platform", shorten(comparison.label(curve))), ("load", level)];
    let place = say(language, Sentence::PlatformAt, &values);
    let reasons = point.reasons.iter().filter(|r| r.severity == Severity::Invalid);
    let why: Vec<String> = reasons.map(|reason| reason_line(reason, language)).collect();
    if why.is_empty() {
        return format!("  {place}");
    }
    format!("  {place}{}{}", language.colon(), why.join(language.semicolon()))
}

/// A reason's sentence without its full stop, with its figure in brackets.
fn reason_line(reason: &Reason, language: Language) -> String {
    let figure = figure_with_limit(reason, language).map(|figure| language.in_brackets(&figure));
    format!("{}{}", without_stop(reason.code, language), figure.unwrap_or_default())
}

fn without_stop(code: ReasonCode, language: Language) -> &'static str {
    reason_text(code, language).trim_end_matches(['.', '。'])
}

/// A line a kind of warning, with the number of points that have it.
fn grouped_warnings(comparison: &Comparison<'_>, language: Language) -> Vec<String> {
    let mut groups: Vec<(ReasonCode, usize)> = Vec::new();
    for (_, point) in comparison.points() {
        for reason in point.reasons.iter().filter(|r| r.severity == Severity::Warning) {
            match groups.iter_mut().find(|(code, _)| *code == reason.code) {
                Some((_, n)) => *n += 1,
                None => groups.push((reason.code, 1)),
            }
        }
    }
    groups.sort_unstable();
    let all = comparison.points().count().to_string();
    let line = |(code, n): (ReasonCode, usize)| {
        let points = language.say(Label::TextOfPoints, &[("n", &n.to_string()), ("all", &all)]);
        format!("  {}{}", without_stop(code, language), language.in_brackets(&points))
    };
    groups.into_iter().map(line).collect()
}

/// The comparison wants a manifest; nothing here reads it.
fn no_manifest(summary: &Summary) -> Manifest {
    Manifest {
        format: String::new(),
        tool: String::new(),
        name: summary.run.name.clone(),
        seed: summary.run.seed,
        started: summary.run.started.clone(),
        started_unix_s: 0.0,
        ended: None,
        status: summary.run.status,
        host: kneepoint_model::bundle::Host::default(),
        git: None,
        clock: String::new(),
        points: summary.run.points_planned,
        skipped: Vec::new(),
        limit: None,
        calibration: None,
        sha256: std::collections::BTreeMap::new(),
    }
}

fn head(shape: Shape, language: Language) -> Vec<String> {
    let mut labels = vec![Label::Platform];
    labels.extend(shape.many_workloads.then_some(Label::Workload));
    labels.extend([Label::Load, Label::Succeeded, Label::Failed]);
    labels.extend(shape.any_cut.then_some(Label::CutCount));
    labels.extend([Label::ReqPerS, Label::OutputTokS]);
    let mut head: Vec<String> = labels.into_iter().map(|l| l.text(language).to_owned()).collect();
    head.extend(
        ["TTFT p50", "p95", "p99", "TPOT p50", "E2E p50"].map(|l| format!("{l}{}ms", language.comma_in_head())),
    );
    head.extend(shape.any_slo.then(|| Label::Slo.text(language).to_owned()));
    head
}

fn row(shape: Shape, label: &str, curve: &Curve<'_>, point: &PointSummary, language: Language) -> Vec<String> {
    let mark = if point.valid { "" } else { " !" };
    let failed: u64 = point.requests.failed.values().sum();
    let mut cells = vec![shorten(label)];
    cells.extend(shape.many_workloads.then(|| shorten(&point.workload)));
    cells.extend([
        format!("{}{mark}", point_text(curve, point, language)),
        format::count(point.requests.ok),
        format::count(failed),
    ]);
    cells.extend(shape.any_cut.then(|| format::count(point.requests.cut)));
    cells.push(point.throughput.req_s.map_or_else(|| format::NONE.to_owned(), format::number));
    cells.push(point.throughput.output_tok_s.map_or_else(|| format::NONE.to_owned(), format::number));
    cells.extend(QUANTILES.map(|(of, name)| match quantile(of(point), name) {
        Quantile::Value { value, .. } => format::number(value),
        Quantile::TooFew { .. } => "*".to_owned(),
        Quantile::Absent => format::NONE.to_owned(),
    }));
    cells.extend(shape.any_slo.then(|| slo_cell(point, language)));
    cells
}

fn slo_cell(point: &PointSummary, language: Language) -> String {
    let each: Vec<String> = point
        .slo
        .iter()
        .map(|(name, slo)| {
            let share = slo.attainment.map_or_else(|| format::NONE.to_owned(), format::percent);
            let met = match slo.met {
                Some(true) => Label::MetYes.text(language),
                Some(false) => Label::MetNo.text(language),
                None => format::NONE,
            };
            format!("{} {share} {met}", clean(name))
        })
        .collect();
    each.join(language.comma())
}

/// Names may hold anything: control characters must not reach a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn shorten(name: &str) -> String {
    let name = clean(name);
    if format::width(&name) <= NAME_COLUMNS {
        return name;
    }
    let mut kept = String::new();
    for c in name.chars() {
        if format::width(&kept) + format::width(c.encode_utf8(&mut [0; 4])) >= NAME_COLUMNS {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// Pads every column to its widest cell; names and SLOs stand to the left.
fn lay_out(rows: &[Vec<String>], shape: Shape) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| rows.iter().map(|row| format::width(&row[column])).max().unwrap_or_default())
        .collect();
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| {
                let is_words = column < shape.n_words() || (shape.any_slo && column + 1 == n_columns);
                format::pad(cell, widths[column], !is_words)
            })
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
        if i == 0 {
            let rule: usize = widths.iter().sum::<usize>() + 2 * n_columns.saturating_sub(1);
            out.push_str(&"─".repeat(rule));
            out.push('\n');
        }
    }
    out
}
