//! The tables on what became of the requests and on the client that sent them.

use std::collections::BTreeMap;

use kneepoint_model::summary::{Distribution, PointSummary, TokenSummary};

use super::comparison::{Comparison, Curve};
use super::table::{Cell, Table};
use super::tables::{point_cells, point_columns, push_point};
use super::values::{Quantile, quantile};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence, failure_text, side_text};

/// Requests by outcome.
pub(crate) fn outcomes(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("outcomes", Label::OutcomesTable.text(language));
    point_columns(&mut table, comparison, language);
    table.numbers(&[Label::Scheduled, Label::Sent, Label::Succeeded, Label::Failed, Label::CutCount], language);
    table.numbers(&[Label::Unsent, Label::LateCount, Label::NewConnections, Label::StaleConnections], language);
    let held_back = comparison.points().any(|(_, p)| p.requests.dropped + p.requests.held_back > 0);
    if held_back {
        table.numbers(&[Label::Dropped, Label::HeldBack], language);
    }
    table.numbers(&[Label::StreamedShare], language);
    table.numbers(&[Label::WarmUp], language);
    for (curve, point) in comparison.points() {
        let r = &point.requests;
        let failed = r.failed.values().sum();
        let counts =
            [r.scheduled, r.sent, r.ok, failed, r.cut, r.unsent, r.late, r.new_connections, r.stale_connections];
        let mut rest: Vec<Cell> = counts.into_iter().map(|n| Cell::number(format::count(n))).collect();
        if held_back {
            rest.extend([r.dropped, r.held_back].map(|n| Cell::number(format::count(n))));
        }
        rest.push(table.number_or(point.streamed_share, format::percent, Sentence::NoteNoSamples, language));
        rest.push(Cell::number(format::count(r.warm_up)));
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table
}

/// Failures by kind, each with a message; and by side.
pub(crate) fn failures(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("failures", Label::FailuresTable.text(language));
    point_columns(&mut table, comparison, language);
    table.words(Label::Kind, language);
    table.numbers(&[Label::Count], language);
    table.words(Label::Side, language);
    table.words(Label::Example, language);
    for (curve, point) in comparison.points() {
        failure_rows(&mut table, comparison, curve, point, language);
    }
    if table.rows.is_empty() {
        table.remarks.push(Sentence::NoneFailed.text(language).to_owned());
    }
    table
}

fn failure_rows(
    table: &mut Table,
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    point: &PointSummary,
    language: Language,
) {
    let r = &point.requests;
    let push = |table: &mut Table, kind: Cell, n: u64, side: String, example: &str| {
        let rest = vec![kind, Cell::number(format::count(n)), Cell::text(side), Cell::text(example)];
        push_point(table, point_cells(comparison, curve, point, language), rest, curve, point);
    };
    let only_side = (r.failed_by_side.len() == 1).then(|| r.failed_by_side.keys().next()).flatten();
    let mut sides_unknown = false;
    for (code, count) in &r.failed {
        let kind = Cell { sub: Some(code.clone()), ..Cell::text(failure_text(code, language)) };
        let example = r.failure_examples.get(code).map_or("", String::as_str);
        match (r.failed_by_kind_and_side.get(code), only_side) {
            (Some(by_side), _) => {
                for (side, n) in by_side {
                    push(table, kind.clone(), *n, side_text(side, language), example);
                }
            }
            (None, Some(side)) => push(table, kind, *count, side_text(side, language), example),
            // An older summary counts kinds and sides apart: no side is guessed.
            (None, None) => {
                sides_unknown = true;
                push(table, kind, *count, format::NONE.to_owned(), example);
            }
        }
    }
    if sides_unknown {
        let total: u64 = r.failed_by_side.values().sum();
        let kind = Cell::text(Label::SidesAll.text(language));
        push(table, kind, total, sides(&r.failed_by_side, language), "");
    }
}

fn sides(by_side: &BTreeMap<String, u64>, language: Language) -> String {
    let each: Vec<String> =
        by_side.iter().map(|(side, n)| format!("{} {}", side_text(side, language), format::count(*n))).collect();
    each.join(language.comma())
}

/// What the client measured about itself.
pub(crate) fn client(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("client", Label::ClientTable.text(language));
    point_columns(&mut table, comparison, language);
    table.numbers(&[Label::LagP50, Label::LagP99, Label::LagMax, Label::QueueP50, Label::QueueP99], language);
    table.numbers(&[Label::KernelP50, Label::KernelP99, Label::MappingError], language);
    table.numbers(&[Label::BusiestThread, Label::CpuWait, Label::ProcessCpu], language);
    table.words(Label::OpenLoop, language);
    table.words(Label::Clock, language);
    table.words(Label::Calibrated, language);
    for (curve, point) in comparison.points() {
        let c = &point.client;
        let lag_max = c.schedule_lag_ms.max;
        let mut rest = Vec::new();
        rest.push(bare_quantile(&mut table, &c.schedule_lag_ms, "p50", language));
        rest.push(bare_quantile(&mut table, &c.schedule_lag_ms, "p99", language));
        rest.push(table.number_or(lag_max, format::number, Sentence::NoteNoSamples, language));
        for (d, name) in [
            (&c.client_queue_ms, "p50"),
            (&c.client_queue_ms, "p99"),
            (&c.kernel_to_user_ms, "p50"),
            (&c.kernel_to_user_ms, "p99"),
        ] {
            rest.push(bare_quantile(&mut table, d, name, language));
        }
        let micros = c.clock_mapping_error_ms.map(|ms| ms * 1000.0);
        rest.push(table.number_or(micros, format::number, Sentence::NoteNoKernelStamps, language));
        rest.push(table.number_or(c.cpu_share, format::percent, Sentence::NoteNotSeen, language));
        rest.push(table.number_or(c.cpu_wait_share, format::percent, Sentence::NoteNotSeen, language));
        rest.push(table.number_or(c.process_cpu_share, format::percent, Sentence::NoteNotSeen, language));
        rest.push(match point.open_loop {
            Some(true) => Cell::text(Label::Yes.text(language)),
            Some(false) => Cell::text(Label::No.text(language)),
            None => Cell { numeric: false, ..table.missing(Sentence::NoteClosedLoop, language) },
        });
        rest.push(Cell::text(clock_text(&c.clock, language)));
        rest.push(match c.calibrated {
            Some(true) => Cell::text(Label::CalibratedYes.text(language)),
            Some(false) => Cell::text(Label::CalibratedNo.text(language)),
            None => Cell { numeric: false, ..table.missing(Sentence::NoteNotCalibrated, language) },
        });
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table
}

/// A percentile without its interval, in a table too wide to spell out why one is missing.
fn bare_quantile(table: &mut Table, d: &Distribution, name: &str, language: Language) -> Cell {
    match quantile(d, name) {
        Quantile::Value { value, .. } => Cell::number(format::number(value)),
        Quantile::TooFew { .. } => table.missing(Sentence::NoteNotSupported, language),
        Quantile::Absent => table.missing(Sentence::NoteNoSamples, language),
    }
}

/// Where arrival times come from, in words.
pub(crate) fn clock_text(clock: &str, language: Language) -> String {
    match clock {
        "kernel" => Label::ClockKernel.text(language).to_owned(),
        "read" => Label::ClockRead.text(language).to_owned(),
        "" => format::NONE.to_owned(),
        other => other.to_owned(),
    }
}

/// Target, tokenizer's and server's counts of input and output tokens.
pub(crate) fn tokens(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("tokens", Label::TokensTable.text(language));
    point_columns(&mut table, comparison, language);
    table.words(Label::Direction, language);
    table.numbers(&[Label::Target, Label::LocalMean, Label::ServerMean, Label::Deviation], language);
    table.words(Label::CountSource, language);
    table.numbers(&[Label::Min, Label::P50, Label::Max, Label::CachedShare, Label::ReasoningShare], language);
    for (curve, point) in comparison.points() {
        for (is_input, tokens) in [(true, &point.input_tokens), (false, &point.output_tokens)] {
            let rest = token_cells(&mut table, tokens, is_input, language);
            push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
        }
    }
    table
}

fn token_cells(table: &mut Table, tokens: &TokenSummary, is_input: bool, language: Language) -> Vec<Cell> {
    let direction = if is_input { Label::Input } else { Label::Output };
    let source = match tokens.source.as_deref() {
        Some("server") => Cell::text(Label::SourceServer.text(language)),
        Some("tokenizer") => Cell::text(Label::SourceTokenizer.text(language)),
        Some("mixed") => Cell::text(Label::SourceMixed.text(language)),
        Some(other) => Cell::text(other),
        None => Cell { numeric: false, ..table.missing(Sentence::NoteNoTokens, language) },
    };
    let used = &tokens.used;
    let share = tokens.cached_or_reasoning_share;
    let (cached, reasoning) = if is_input { (share, None) } else { (None, share) };
    let mut cells = vec![
        Cell::text(direction.text(language)),
        Cell::number(format::count(tokens.target)),
        table.number_or(tokens.local_mean, format::number, Sentence::NoteNoTokenizer, language),
        table.number_or(tokens.server_mean, format::number, Sentence::NoteNotTold, language),
        table.number_or(deviation(tokens), format::signed_percent, Sentence::NoteNoTokens, language),
        source,
        table.number_or(used.min, format::number, Sentence::NoteNoSamples, language),
        table.number_or(used.p50, format::number, Sentence::NoteNoSamples, language),
        table.number_or(used.max, format::number, Sentence::NoteNoSamples, language),
    ];
    for (value, applies) in [(cached, is_input), (reasoning, !is_input)] {
        cells.push(if applies {
            table.number_or(value, format::percent, Sentence::NoteNotTold, language)
        } else {
            Cell::number("")
        });
    }
    cells
}

/// How far the mean count is off its target, relative; the server's count, else the tokenizer's.
pub(crate) fn deviation(tokens: &TokenSummary) -> Option<f64> {
    let mean = tokens.server_mean.or(tokens.local_mean)?;
    (tokens.target > 0).then(|| mean / tokens.target as f64 - 1.0)
}
