//! The tables with one row a point: key figures, percentiles, throughput.

use kneepoint_model::bundle::PointEnd;
use kneepoint_model::summary::{Distribution, PointSummary, Ranked};

use super::comparison::{Comparison, Curve, load_text};
use super::table::{Cell, Row, Table};
use super::values::{METRICS, Metric, Quantile, SHOWN, interval_text, quantile, say};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// Adds the columns that name a point.
pub(crate) fn point_columns(table: &mut Table, comparison: &Comparison<'_>, language: Language) {
    table.words(Label::Platform, language);
    if comparison.many_workloads() {
        table.words(Label::Workload, language);
    }
    table.words(Label::Load, language);
}

/// The cells that name a point.
pub(crate) fn point_cells(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    point: &PointSummary,
    language: Language,
) -> Vec<Cell> {
    let mut cells = vec![Cell::text(comparison.label(curve))];
    if comparison.many_workloads() {
        cells.push(Cell::text(curve.workload));
    }
    let mut load = Cell::text(load_text(&point.load, language));
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(curve.step(point).map(|step| language.say(Label::SearchStepN, &[("step", &step.to_string())])));
    remarks.extend((!point.valid).then(|| Label::Invalid.text(language).to_owned()));
    let ended = match point.end {
        PointEnd::OverSaturated => Some(Label::EndedSaturated),
        PointEnd::Limit => Some(Label::EndedByLimit),
        PointEnd::Stopped => Some(Label::EndedByUser),
        PointEnd::Planned => None,
    };
    remarks.extend(ended.map(|label| label.text(language).to_owned()));
    load.sub = (!remarks.is_empty()).then(|| remarks.join(language.comma_in_head()));
    cells.push(load);
    cells
}

/// Adds a point's row.
pub(crate) fn push_point(
    table: &mut Table,
    heads: Vec<Cell>,
    rest: Vec<Cell>,
    curve: &Curve<'_>,
    point: &PointSummary,
) {
    let n_heads = heads.len();
    let cells = heads.into_iter().chain(rest).collect();
    table.rows.push(Row { cells, n_heads, invalid: !point.valid, platform: Some(curve.platform) });
}

/// A percentile's cell: value over interval, or why there is none.
pub(crate) fn quantile_cell(table: &mut Table, d: &Distribution, name: &str, language: Language) -> Cell {
    match quantile(d, name) {
        Quantile::Value { value, interval } => {
            Cell::with_sub(format::number(value), interval.and_then(|i| interval_text(i, format::number)))
        }
        Quantile::TooFew { n, needs } => {
            let needs = needs.map_or_else(|| format::NONE.to_owned(), format::count);
            let sub = language.say(Label::TooSmallNeeds, &[("n", &format::count(n)), ("needs", &needs)]);
            let note = table.note(Sentence::NoteRefused.text(language));
            let text = Label::TooSmallHead.text(language).to_owned();
            Cell { text, note: Some(note), numeric: true, muted: true, sub: Some(sub) }
        }
        Quantile::Absent => table.missing(Sentence::NoteNoSamples, language),
    }
}

/// The few figures most readers want, a row a point.
pub(crate) fn key_figures(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("key-figures", Label::KeyFigures.text(language));
    point_columns(&mut table, comparison, language);
    table.numbers(&[Label::Samples, Label::Failed, Label::AchievedReqS, Label::OutputTokS], language);
    for name in ["TTFT p50", "TTFT p95", "TTFT p99", "TPOT p50", "E2E p50", "E2E p95"] {
        table
            .columns
            .push(super::table::Column { text: format!("{name}{}ms", language.comma_in_head()), numeric: true });
    }
    for (curve, point) in comparison.points() {
        let failed: u64 = point.requests.failed.values().sum();
        let mut rest = vec![
            Cell::number(format::count(point.ttft_ms.n)),
            Cell::number(format::count(failed)),
            table.number_or(point.throughput.req_s, format::number, Sentence::NoteNoWindow, language),
            table.number_or(point.throughput.output_tok_s, format::number, Sentence::NoteNoTokens, language),
        ];
        for name in ["p50", "p95", "p99"] {
            rest.push(quantile_cell(&mut table, &point.ttft_ms, name, language));
        }
        let tpot = quantile_cell(&mut table, &point.tpot_ms, "p50", language);
        rest.push(Cell { note: tpot.note.or_else(|| tpot_note(&mut table, point, language)), ..tpot });
        for name in ["p50", "p95"] {
            rest.push(quantile_cell(&mut table, &point.e2e_ms, name, language));
        }
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table.remarks.push(Sentence::NoteIntervals.text(language).to_owned());
    if comparison.points().any(|(_, p)| !p.valid) {
        table.remarks.push(Sentence::NoteInvalidRows.text(language).to_owned());
    }
    table
}

/// Why TPOT has fewer samples than TTFT, where not a missing count but missing spans are the reason.
fn tpot_note(table: &mut Table, point: &PointSummary, language: Language) -> Option<usize> {
    let (n, all) = (point.tpot_ms.n, point.ttft_ms.n);
    let counted = point.output_tokens.used.n >= all;
    (0 < n && n < all && counted).then(|| {
        let values = [("n", format::count(n)), ("all", format::count(all))];
        table.note(&say(language, Sentence::NoteTpotOf, &values))
    })
}

/// Every percentile of every distribution, a table a metric; metrics nobody has a sample of are left out, except the
/// three that every report shows.
pub(crate) fn percentiles(comparison: &Comparison<'_>, language: Language) -> Vec<Table> {
    let always = 3;
    let shown = METRICS
        .iter()
        .enumerate()
        .filter(|(i, (_, _, of))| *i < always || comparison.points().any(|(_, p)| of(p).n > 0));
    shown.map(|(i, metric)| percentile_table(comparison, i, *metric, i < always, language)).collect()
}

fn percentile_table(
    comparison: &Comparison<'_>,
    position: usize,
    (name, unit, of): Metric,
    open: bool,
    language: Language,
) -> Table {
    let metric = format!("{}{}{}", name.text(language), language.comma_in_head(), unit.text(language));
    let mut table =
        Table::new(format!("percentiles-{position}"), language.say(Label::PercentilesOf, &[("metric", &metric)]));
    table.open = open;
    point_columns(&mut table, comparison, language);
    table.numbers(&[Label::Samples, Label::Mean, Label::Sd, Label::Min], language);
    table.numbers(&[Label::P50, Label::P90, Label::P95, Label::P99, Label::P999, Label::Max], language);
    for (curve, point) in comparison.points() {
        let d = of(point);
        let sd_reason = if d.n == 1 { Sentence::NoteOneSample } else { Sentence::NoteNoSamples };
        let of_tpot = matches!(name, Label::TpotName | Label::SpeedName);
        let note = of_tpot.then(|| tpot_note(&mut table, point, language)).flatten();
        let mut rest = vec![
            Cell { note, ..Cell::number(format::count(d.n)) },
            table.number_or(d.mean, format::number, Sentence::NoteNoSamples, language),
            table.number_or(d.sd, format::number, sd_reason, language),
            table.number_or(d.min, format::number, Sentence::NoteNoSamples, language),
        ];
        for name in SHOWN {
            rest.push(quantile_cell(&mut table, d, name, language));
        }
        rest.push(table.number_or(d.max, format::number, Sentence::NoteNoSamples, language));
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table.remarks.push(Sentence::NoteIntervals.text(language).to_owned());
    table
}

/// Percentiles in which failures count.
pub(crate) fn with_failures(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("with-failures", Label::WithFailures.text(language));
    table.open = false;
    point_columns(&mut table, comparison, language);
    table.words(Label::Metric, language);
    table.numbers(&[Label::Samples, Label::P50, Label::P90, Label::P95, Label::P99], language);
    for (curve, point) in comparison.points() {
        let both = [(Label::TtftName, &point.ttft_with_failures_ms), (Label::E2eName, &point.e2e_with_failures_ms)];
        for (name, w) in both {
            let metric = format!("{}{}ms", name.text(language), language.comma_in_head());
            let mut rest = vec![Cell::text(metric), Cell::number(format::count(w.n))];
            for ranked in [w.p50, w.p90, w.p95, w.p99] {
                rest.push(ranked_cell(&mut table, ranked, w.n, language));
            }
            push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
        }
    }
    table
}

fn ranked_cell(table: &mut Table, ranked: Ranked, n: u64, language: Language) -> Cell {
    match ranked {
        Ranked::Value(value) => Cell::number(format::number(value)),
        Ranked::Failed => {
            let note = table.note(Sentence::NoteFailed.text(language));
            let text = Label::FallsOnFailure.text(language).to_owned();
            Cell { text, note: Some(note), numeric: true, muted: true, sub: None }
        }
        Ranked::TooFew if n == 0 => table.missing(Sentence::NoteNoSamples, language),
        Ranked::TooFew => table.missing(Sentence::NoteNotSupported, language),
    }
}

/// Rates of requests and tokens.
pub(crate) fn throughput(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("throughput", Label::ThroughputTable.text(language));
    point_columns(&mut table, comparison, language);
    let requests = [Label::ScheduledReqS, Label::SentReqS, Label::AchievedReqS, Label::InFlightMean];
    let tokens = [Label::OutputTokS, Label::TotalTokS, Label::MaxReqS, Label::MaxOutputTokS];
    table.numbers(&requests, language);
    table.numbers(&tokens, language);
    table.numbers(&[Label::SentBytesS, Label::ReceivedBytesS, Label::Window], language);
    for (curve, point) in comparison.points() {
        let t = &point.throughput;
        let rest = vec![
            table.number_or(t.scheduled_req_s, format::number, Sentence::NoteClosedLoop, language),
            table.number_or(t.sent_req_s, format::number, Sentence::NoteNoWindow, language),
            table.number_or(t.req_s, format::number, Sentence::NoteNoWindow, language),
            table.number_or(t.in_flight_mean, format::number, Sentence::NoteNoWindow, language),
            table.number_or(t.output_tok_s, format::number, Sentence::NoteNoTokens, language),
            table.number_or(t.total_tok_s, format::number, Sentence::NoteNoTokens, language),
            table.number_or(t.max_req_s, format::number, Sentence::NoteShort, language),
            table.number_or(t.max_output_tok_s, format::number, Sentence::NoteNoTokens, language),
            table.number_or(t.sent_bytes_s, format::bytes, Sentence::NoteNoWindow, language),
            table.number_or(t.received_bytes_s, format::bytes, Sentence::NoteNoWindow, language),
            Cell::number(format::number(point.window_s)),
        ];
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table
}

/// Attainment and goodput of every SLO at every point; `None` without an SLO.
pub(crate) fn slos(comparison: &Comparison<'_>, language: Language) -> Option<Table> {
    if comparison.points().all(|(_, p)| p.slo.is_empty()) {
        return None;
    }
    let mut table = Table::new("slo", Label::SloTable.text(language));
    point_columns(&mut table, comparison, language);
    table.words(Label::Slo, language);
    table.numbers(&[Label::Good, Label::Judged, Label::Attainment, Label::Asked, Label::Goodput], language);
    table.words(Label::Met, language);
    for (curve, point) in comparison.points() {
        for (name, slo) in &point.slo {
            let attainment = match (slo.attainment, slo.ci95) {
                (Some(share), Some(interval)) => {
                    Cell::with_sub(format::percent(share), interval_text(interval, format::percent))
                }
                (Some(share), None) => Cell::number(format::percent(share)),
                (None, _) => table.missing(Sentence::NoteNotEvaluated, language),
            };
            let met = match slo.met {
                Some(true) => Cell::text(Label::MetYes.text(language)),
                Some(false) => Cell::text(Label::MetNo.text(language)),
                None => Cell { numeric: false, ..table.missing(Sentence::NoteNotEvaluated, language) },
            };
            let rest = vec![
                Cell::text(name.as_str()),
                Cell::number(format::count(slo.good)),
                Cell::number(format::count(slo.offered)),
                attainment,
                Cell::number(format::percent(slo.share)),
                table.number_or(slo.goodput_rps, format::number, Sentence::NoteNotEvaluated, language),
                met,
            ];
            push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
        }
    }
    table.remarks.push(Sentence::NoteGoodput.text(language).to_owned());
    Some(table)
}
