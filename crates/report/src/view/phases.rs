//! The tables on what a point's latencies are made of, and how steady they are.

use kneepoint_model::summary::{Distribution, RttSource, SteadyState};

use super::comparison::Comparison;
use super::table::{Cell, Column, Table};
use super::tables::{point_cells, point_columns, push_point, quantile_cell};
use super::values::{Quantile, quantile, say};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// The median without its interval; the mean where so few samples support no median.
fn middle(table: &mut Table, d: &Distribution, none: Sentence, language: Language) -> Cell {
    match (quantile(d, "p50"), d.mean) {
        (Quantile::Value { value, .. }, _) => Cell::number(format::number(value)),
        (Quantile::TooFew { n, .. }, Some(mean)) => {
            let sub = language.say(Label::MeanOfN, &[("n", &format::count(n))]);
            Cell::with_sub(format::number(mean), Some(sub))
        }
        _ => table.missing(none, language),
    }
}

/// Adds columns of milliseconds: a name and a percentile, or a name alone.
fn ms_columns(table: &mut Table, names: &[(Label, &str)], language: Language) {
    for (name, percentile) in names {
        let space = if percentile.is_empty() { "" } else { " " };
        let text = format!("{}{space}{percentile}{}ms", name.text(language), language.comma_in_head());
        table.columns.push(Column { text, numeric: true });
    }
}

/// What a request's time went into, phase by phase, and what a new connection costs.
pub(crate) fn phases(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("phases", Label::PhasesTable.text(language));
    point_columns(&mut table, comparison, language);
    let names = [
        (Label::PhaseDns, ""),
        (Label::PhaseTcp, ""),
        (Label::PhaseTls, ""),
        (Label::PhaseSend, ""),
        (Label::PhaseWait, ""),
        (Label::PhaseFirstToken, ""),
        (Label::PhaseStream, ""),
        (Label::PhaseClose, ""),
        (Label::WarmTtft, ""),
        (Label::ColdTtft, ""),
    ];
    ms_columns(&mut table, &names, language);
    for (curve, point) in comparison.points() {
        let p = &point.phases;
        let mut rest = vec![table.number_or(p.dns_ms, format::number, Sentence::NoteNoDns, language)];
        for (d, none) in [
            (&p.tcp_connect_ms, Sentence::NoteAllKept),
            (&p.tls_handshake_ms, Sentence::NoteNoTls),
            (&p.send_ms, Sentence::NoteNoSamples),
            (&p.wait_ms, Sentence::NoteNoSamples),
            (&p.first_token_ms, Sentence::NoteNoSamples),
            (&p.stream_ms, Sentence::NoteNoSamples),
            (&p.close_ms, Sentence::NoteNoSamples),
        ] {
            rest.push(middle(&mut table, d, none, language));
        }
        for (d, none) in [(&p.warm_ms, Sentence::NoteNoneKept), (&p.cold_ms, Sentence::NoteAllKept)] {
            let cell = middle(&mut table, d, none, language);
            let count = (d.n > 0).then(|| language.say(Label::OfN, &[("n", &format::count(d.n))]));
            rest.push(Cell { sub: cell.sub.clone().or(count), ..cell });
        }
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table.remarks.push(Sentence::NotePhases.text(language).to_owned());
    table
}

/// Round trips, and end-to-end latency without them; `None` where no round trip is known.
pub(crate) fn network(comparison: &Comparison<'_>, language: Language) -> Option<Table> {
    comparison.points().find(|(_, p)| p.network.used_rtt_ms.is_some())?;
    let mut table = Table::new("network", Label::NetworkTable.text(language));
    point_columns(&mut table, comparison, language);
    let names = [
        (Label::RttHandshakes, ""),
        (Label::RttProbe, ""),
        (Label::RttUsed, ""),
        (Label::E2eWord, "p50"),
        (Label::E2eHalfRtt, "p50"),
        (Label::E2eHalfRtt, "p95"),
        (Label::E2eFullRtt, "p50"),
        (Label::E2eFullRtt, "p95"),
    ];
    ms_columns(&mut table, &names, language);
    for (curve, point) in comparison.points() {
        let n = &point.network;
        let source = n.used_rtt_source.map(|source| {
            let label = match source {
                RttSource::Probe => Label::RttFromProbe,
                RttSource::Handshakes => Label::RttFromHandshakes,
                RttSource::BeforeRun => Label::RttFromBefore,
            };
            label.text(language).to_owned()
        });
        let used = table.number_or(n.used_rtt_ms, format::number, Sentence::NoteNoRtt, language);
        let mut rest = vec![
            middle(&mut table, &n.rtt_ms, Sentence::NoteAllKept, language),
            middle(&mut table, &n.probe_rtt_ms, Sentence::NoteNoProbe, language),
            Cell { sub: source, ..used },
        ];
        let places = places(n.used_rtt_ms);
        let empty = Distribution::default();
        let without = [&n.platform_e2e_half_rtt_ms, &n.platform_e2e_full_rtt_ms].map(|d| d.as_ref().unwrap_or(&empty));
        for (d, percentile, negative) in [
            (&point.e2e_ms, "p50", 0),
            (without[0], "p50", n.negative),
            (without[0], "p95", n.negative),
            (without[1], "p50", n.negative),
            (without[1], "p95", n.negative),
        ] {
            let cell = quantile_cell(&mut table, d, percentile, language);
            let note = (negative > 0)
                .then(|| table.note(&say(language, Sentence::NoteBelowZero, &[("n", format::count(negative))])));
            rest.push(match quantile(d, percentile) {
                // The interval is that of the latency itself; here only what is taken off matters.
                Quantile::Value { value, .. } => Cell { note, ..Cell::number(format::decimals(value, places)) },
                Quantile::TooFew { .. } | Quantile::Absent => cell,
            });
        }
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table.remarks.push(Sentence::NoteNetwork.text(language).to_owned());
    Some(table)
}

/// Digits after the point with which a latency still shows what a round trip changes in it.
fn places(rtt_ms: Option<f64>) -> usize {
    match rtt_ms {
        Some(rtt) if rtt < 1.0 => 2,
        Some(rtt) if rtt < 10.0 => 1,
        Some(_) | None => 0,
    }
}

/// How steady a point was: jitter, spread from second to second, from when on latencies had settled.
pub(crate) fn steadiness(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("steadiness", Label::SteadinessTable.text(language));
    point_columns(&mut table, comparison, language);
    ms_columns(&mut table, &[(Label::JitterTtft, ""), (Label::JitterTpot, ""), (Label::JitterE2e, "")], language);
    table.numbers(&[Label::Stability], language);
    table.words(Label::SteadyState, language);
    table.numbers(&[Label::SettledAfter, Label::CutAtStart], language);
    for (curve, point) in comparison.points() {
        let (jitter, steady) = (&point.jitter_ms, &point.steady);
        let mut rest: Vec<Cell> = [jitter.ttft, jitter.tpot, jitter.e2e]
            .into_iter()
            .map(|value| table.number_or(value, format::number, Sentence::NoteNoJitter, language))
            .collect();
        rest.push(table.number_or(point.throughput.stability, format::number, Sentence::NoteShort, language));
        let state = match steady.state {
            SteadyState::Steady => Label::SteadyYes,
            SteadyState::NotSteady => Label::SteadyNo,
            SteadyState::Unknown => Label::SteadyUnknown,
        };
        rest.push(Cell::text(state.text(language)));
        rest.push(table.number_or(steady.settling_share, format::percent, Sentence::NoteTooShortToTell, language));
        let cut = language.say(Label::CutRequests, &[("n", &format::count(steady.cut_requests))]);
        rest.push(Cell::with_sub(format::number(steady.cut_s), (steady.cut_requests > 0).then_some(cut)));
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table.remarks.push(Sentence::NoteSteadiness.text(language).to_owned());
    table
}

/// What the client itself adds, as measured before each run; `None` where no run was calibrated.
pub(crate) fn calibration(comparison: &Comparison<'_>, language: Language) -> Option<Table> {
    let mut table = Table::new("calibration", Label::CalibrationTable.text(language));
    table.words(Label::RunName, language);
    table.numbers(&[Label::CalibratedStreams, Label::CalibratedEvents, Label::CalibratedAnswers], language);
    let added = [
        (Label::AddedTtft, "p50"),
        (Label::AddedTtft, "p99"),
        (Label::AddedItl, "p50"),
        (Label::AddedItl, "p99"),
        (Label::ServerLate, "p99"),
    ];
    ms_columns(&mut table, &added, language);
    for run in comparison.runs {
        let Some(c) = run.summary.run.calibration else { continue };
        let added =
            [c.ttft_added_ms.p50, c.ttft_added_ms.p99, c.itl_added_ms.p50, c.itl_added_ms.p99, c.server_late_p99_ms];
        let mut cells = vec![
            Cell::text(run.summary.run.name.as_str()),
            Cell::number(format::count(u64::from(c.streams))),
            Cell::number(format::whole(c.token_events_s)),
            Cell::number(format::count(c.samples)),
        ];
        cells.extend(added.into_iter().map(|ms| Cell::number(format::number(ms))));
        if c.server_late_p99_ms > c.ttft_added_ms.p99.max(c.itl_added_ms.p99)
            && let Some(last) = cells.last_mut()
        {
            last.note = Some(table.note(Sentence::NoteServerLate.text(language)));
        }
        table.row(cells, 1);
    }
    table.remarks.push(Sentence::NoteCalibration.text(language).to_owned());
    (!table.rows.is_empty()).then_some(table)
}
