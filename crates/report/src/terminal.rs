//! A compact table of points for terminals: plain text, no colour codes, East Asian widths respected.

use kneepoint_model::bundle::{Environment, Manifest};
use kneepoint_model::summary::{Distribution, PointSummary, Summary};

use crate::Run;
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};
use crate::view::comparison::{Comparison, load_text};
use crate::view::values::{Quantile, quantile};

/// Longest a name may be in a column; longer ones are cut in the middle of nothing, at the end, with an ellipsis.
const NAME_COLUMNS: usize = 28;

/// One line a point: load, outcome, rates and latencies.
pub(crate) fn text_table(summary: &Summary, language: Language) -> String {
    let manifest = no_manifest(summary);
    let environment = Environment::default();
    let runs = [Run { summary, manifest: &manifest, environment: &environment, plan_yaml: "" }];
    let comparison = Comparison::new(&runs);
    let mut rows = vec![head(&comparison, language)];
    rows.extend(comparison.points().map(|(curve, point)| row(&comparison, comparison.label(curve), point, language)));
    let n_words = if comparison.many_workloads() { 3 } else { 2 };
    let mut out = lay_out(&rows, n_words);
    let mut notes = Vec::new();
    if summary.simulated {
        notes.push(Label::SimulatedBanner.text(language).to_owned());
    }
    if comparison.points().any(|(_, p)| !p.valid) {
        notes.push(format!("! {}", Label::Invalid.text(language)));
    }
    if rows.iter().skip(1).flatten().any(|cell| cell.ends_with('*')) {
        notes.push(format!("* {}", Sentence::NoteNotSupported.text(language)));
    }
    if summary.points.len() < summary.run.points_planned {
        let n = summary.points.len().to_string();
        let planned = summary.run.points_planned.to_string();
        notes.push(language.say(Label::TextMore, &[("n", &n), ("planned", &planned)]));
    }
    for note in notes {
        out.push_str(&note);
        out.push('\n');
    }
    out
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
        sha256: std::collections::BTreeMap::new(),
    }
}

fn head(comparison: &Comparison<'_>, language: Language) -> Vec<String> {
    let mut labels = vec![Label::Platform.text(language)];
    if comparison.many_workloads() {
        labels.push(Label::Workload.text(language));
    }
    labels.extend(
        [Label::Load, Label::Succeeded, Label::Failed, Label::ReqPerS, Label::OutputTokS].map(|l| l.text(language)),
    );
    let mut head: Vec<String> = labels.into_iter().map(str::to_owned).collect();
    head.extend(
        ["TTFT p50", "p95", "p99", "TPOT p50", "E2E p50"].map(|l| format!("{l}{}ms", language.comma_in_head())),
    );
    if comparison.points().any(|(_, p)| !p.slo.is_empty()) {
        head.push(Label::Slo.text(language).to_owned());
    }
    head
}

fn row(comparison: &Comparison<'_>, label: &str, point: &PointSummary, language: Language) -> Vec<String> {
    let mark = if point.valid { "" } else { " !" };
    let mut cells = vec![shorten(label)];
    if comparison.many_workloads() {
        cells.push(shorten(&point.workload));
    }
    let failed: u64 = point.requests.failed.values().sum();
    cells.extend([
        format!("{}{mark}", load_text(&point.load, language)),
        format::count(point.requests.ok),
        format::count(failed),
        format::number(point.throughput.req_s),
        point.throughput.output_tok_s.map_or_else(|| format::NONE.to_owned(), format::number),
    ]);
    let quantiles: [(&Distribution, &str); 5] = [
        (&point.ttft_ms, "p50"),
        (&point.ttft_ms, "p95"),
        (&point.ttft_ms, "p99"),
        (&point.tpot_ms, "p50"),
        (&point.e2e_ms, "p50"),
    ];
    cells.extend(quantiles.map(|(d, name)| match quantile(d, name) {
        Quantile::Value { value, .. } => format::number(value),
        Quantile::TooFew { .. } => "*".to_owned(),
        Quantile::Absent => format::NONE.to_owned(),
    }));
    if comparison.points().any(|(_, p)| !p.slo.is_empty()) {
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
        cells.push(each.join(language.comma()));
    }
    cells
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

/// Pads every column to its widest cell; the first `n_words` columns and the last stand to the left.
fn lay_out(rows: &[Vec<String>], n_words: usize) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| rows.iter().map(|row| format::width(&row[column])).max().unwrap_or_default())
        .collect();
    let last_is_words = n_columns > n_words + 9;
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| {
                let is_words = column < n_words || (last_is_words && column + 1 == n_columns);
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
