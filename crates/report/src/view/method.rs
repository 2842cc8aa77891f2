//! What was tested and how: the run, the platforms, the validity of each point.

use kneepoint_model::bundle::{Observed, RunStatus};
use kneepoint_model::plan::{EndPolicy, LengthControl};
use kneepoint_model::summary::Severity;

use super::comparison::Comparison;
use super::plan::{PlanText, limit_text};
use super::points::clock_text;
use super::table::{Cell, Table};
use super::tables::{point_cells, point_columns, push_point};
use super::values::say;
use super::warnings::{Weight, evidence_text, figure_with_limit, points_done};
use crate::messages::{Label, Language, Message as _, Sentence, reason_text};
use crate::{Run, format};

/// How a reader measures the same again …
const REPEAT_COMMAND: &str = "kneepoint run plan.yaml";
/// … and where the platforms were the demo's own.
const DEMO_COMMAND: &str = "kneepoint demo";
/// The name of the demo's plan.
const DEMO: &str = "demo";

/// How one run was made.
pub(crate) struct RunMethod<'a> {
    /// The run's name.
    pub(crate) name: &'a str,
    /// Name, times, seed, host.
    pub(crate) run: Table,
    /// Declared against observed.
    pub(crate) environment: Table,
    /// The plan, as it was.
    pub(crate) plan: &'a str,
    /// What to do before the command that repeats the run.
    pub(crate) repeat: String,
    /// That command.
    pub(crate) command: &'static str,
    /// What the seed is for.
    pub(crate) seed: String,
}

/// How every run was made.
pub(crate) fn methods<'a>(comparison: &Comparison<'a>, language: Language) -> Vec<RunMethod<'a>> {
    let describe = |(index, run): (usize, &Run<'a>)| {
        let (repeat, command) = repeat(run, language);
        RunMethod {
            name: &run.summary.run.name,
            run: run_table(index, run, language),
            environment: environment_table(comparison, index, language),
            plan: run.plan_yaml,
            repeat,
            command,
            seed: say(language, Sentence::RepeatSeed, &[("seed", run.summary.run.seed.to_string())]),
        }
    };
    comparison.runs.iter().enumerate().map(describe).collect()
}

/// How to repeat a run: simulated platforms are gone by the time a report is read.
fn repeat(run: &Run<'_>, language: Language) -> (String, &'static str) {
    let intro = Sentence::RepeatIntro.text(language);
    match (run.summary.simulated, run.summary.run.name.as_str()) {
        (true, DEMO) => (Sentence::RepeatDemo.text(language).to_owned(), DEMO_COMMAND),
        (true, _) => {
            let first = Sentence::RepeatSimulated.text(language);
            (format!("{first}{}{intro}", language.space()), REPEAT_COMMAND)
        }
        (false, _) => (intro.to_owned(), REPEAT_COMMAND),
    }
}

fn run_table(index: usize, run: &Run<'_>, language: Language) -> Table {
    let mut table = Table::new(format!("run-{index}"), Label::RunTable.text(language));
    table.words(Label::Property, language);
    table.words(Label::Value, language);
    let (summary, manifest) = (run.summary, run.manifest);
    let mut row = |label: Label, value: Option<String>| {
        let value = value.unwrap_or_else(|| format::NONE.to_owned());
        table.row(vec![Cell::text(label.text(language)), Cell::text(value)], 1);
    };
    row(Label::RunName, Some(summary.run.name.clone()));
    row(Label::RunStarted, Some(summary.run.started.clone()));
    row(Label::RunEnded, manifest.ended.clone());
    row(Label::RunStatus, Some(status_text(summary.run.status, language).to_owned()));
    row(Label::PointsMeasured, Some(points_text(run, language)));
    row(Label::RunLimit, Some(limit_row(run, language)));
    row(Label::EndPolicy, end_policies(run, language));
    row(Label::Seed, Some(summary.run.seed.to_string()));
    row(Label::ToolVersion, Some(manifest.tool.clone()));
    row(Label::MetricsVersion, Some(summary.metrics.to_string()));
    row(Label::Clock, Some(clock_text(&manifest.clock, language)));
    row(Label::HostRow, Some(host_text(run, language)));
    row(
        Label::GitRow,
        manifest.git.as_ref().map(|git| match &git.dirty_diff_sha256 {
            Some(hash) => format!("{} {}", git.commit, language.say(Label::GitDirty, &[("hash", hash)])),
            None => git.commit.clone(),
        }),
    );
    table
}

/// Points measured of those planned, and what else there is to say of their number.
fn points_text(run: &Run<'_>, language: Language) -> String {
    let summary = run.summary;
    let done = points_done(summary);
    let steps = summary.points.len() - done;
    let mut parts = vec![format!("{done} / {}", summary.run.points_planned)];
    let mut add = |label: Label, n: usize| {
        parts.extend((n > 0).then(|| language.say(label, &[("n", &n.to_string())])));
    };
    add(Label::PointsSkipped, summary.run.skipped.len());
    add(Label::PointsOfSearch, steps);
    parts.join(language.comma_in_head())
}

/// The limit that ended the run, or that none did.
fn limit_row(run: &Run<'_>, language: Language) -> String {
    let plan = PlanText::read(run.plan_yaml);
    let reached = run.summary.run.limit.map(|limit| limit_text(limit, plan.currency(), language));
    reached.unwrap_or_else(|| Label::RunLimitNone.text(language).to_owned())
}

/// What became of the requests that were open when a window ended; each policy once.
fn end_policies(run: &Run<'_>, language: Language) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for at_end in run.summary.points.iter().filter_map(|p| p.at_end) {
        let text = match at_end.policy {
            EndPolicy::Drain => language.say(Label::EndDrain, &[("n", &format::plain(at_end.drain_s))]),
            EndPolicy::Cancel => Label::EndCancel.text(language).to_owned(),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    (!said.is_empty()).then(|| said.join(language.semicolon()))
}

fn status_text(status: RunStatus, language: Language) -> &'static str {
    let label = match status {
        RunStatus::Running => Label::StatusRunning,
        RunStatus::Complete => Label::StatusComplete,
        RunStatus::LimitReached => Label::StatusLimitReached,
        RunStatus::Interrupted => Label::StatusInterrupted,
        RunStatus::Failed => Label::StatusFailed,
    };
    label.text(language)
}

fn host_text(run: &Run<'_>, language: Language) -> String {
    let host = &run.manifest.host;
    let mut parts = vec![host.os.clone(), host.arch.clone()];
    parts.extend(host.cpu.clone());
    parts.push(language.say(Label::Cores, &[("n", &host.cores.to_string())]));
    if let Some(bytes) = host.memory_bytes {
        parts.push(language.say(Label::Memory, &[("n", &format::bytes(bytes as f64))]));
    }
    parts.retain(|p| !p.is_empty());
    parts.join(language.comma())
}

/// A row a property, a column a platform, declared and observed apart.
fn environment_table(comparison: &Comparison<'_>, run: usize, language: Language) -> Table {
    let mut table = Table::new(format!("environment-{run}"), Label::EnvironmentTable.text(language));
    table.words(Label::Platform, language);
    table.words(Label::Property, language);
    table.words(Label::Declared, language);
    table.words(Label::Observed, language);
    for (index, platform) in comparison.platforms.iter().enumerate().filter(|(_, p)| p.run == run) {
        let Some(environment) = comparison.runs[run].environment.platforms.get(platform.name) else { continue };
        let mut seen = observed_rows(&environment.observed, language);
        let mut rows: Vec<(String, String, String)> = Vec::new();
        for (key, declared) in &environment.declared {
            // What the engine says of its version belongs beside what was declared of it.
            let observed = (key == "version").then(|| take(&mut seen, Label::EngineVersion.text(language))).flatten();
            rows.push((key.clone(), declared.clone(), observed.unwrap_or_default()));
        }
        rows.extend(seen.into_iter().map(|(property, value)| (property, String::new(), value)));
        for (property, declared, observed) in rows {
            let cells = [platform.label.clone(), property, declared, observed].map(Cell::text).to_vec();
            table.row(cells, 2);
            if let Some(row) = table.rows.last_mut() {
                row.platform = Some(index);
            }
        }
    }
    table
}

fn take(rows: &mut Vec<(String, String)>, property: &str) -> Option<String> {
    let position = rows.iter().position(|(p, _)| p == property)?;
    Some(rows.remove(position).1)
}

fn observed_rows(observed: &Observed, language: Language) -> Vec<(String, String)> {
    let control = match observed.length_control {
        LengthControl::Auto => format::NONE.to_owned(),
        LengthControl::IgnoreEos => format!("ignore_eos{}", evidence_text(&observed.length_control_evidence, language)),
        LengthControl::MinTokens => format!("min_tokens{}", evidence_text(&observed.length_control_evidence, language)),
        LengthControl::Natural => format!("max_tokens{}", evidence_text(&observed.length_control_evidence, language)),
    };
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(language.comma()));
    let simulated = observed.simulated.then(|| Label::Yes.text(language).to_owned());
    [
        (Label::Url, Some(observed.url.clone()).filter(|url| !url.is_empty())),
        (Label::Addresses, list(&observed.addresses)),
        (Label::EngineVersion, observed.engine_version.clone()),
        (Label::ServerHeader, observed.server_header.clone()),
        (Label::Models, list(&observed.models)),
        (Label::TcpConnect, observed.tcp_connect_ms.map(format::millis)),
        (Label::TlsVersion, observed.tls.clone()),
        (Label::LengthControl, Some(control)),
        (Label::SimulatedRow, simulated),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label.text(language).to_owned(), value?)))
    .collect()
}

/// Every point with every reason, in full.
pub(crate) fn validity(comparison: &Comparison<'_>, language: Language) -> Table {
    let mut table = Table::new("validity-table", Label::ValidityTitle.text(language));
    point_columns(&mut table, comparison, language);
    table.words(Label::Valid, language);
    table.words(Label::Notes, language);
    for (curve, point) in comparison.points() {
        let valid = if point.valid { Label::Yes } else { Label::No };
        let notes: Vec<String> = point
            .reasons
            .iter()
            .map(|reason| {
                let weight = if reason.severity == Severity::Invalid { Weight::Invalid } else { Weight::Warning };
                let text = reason_text(reason.code, language);
                let figure = figure_with_limit(reason, language).map(|f| language.in_brackets(&f)).unwrap_or_default();
                format!("{}{}{text}{figure}", weight.word(language), language.colon())
            })
            .collect();
        let notes = if notes.is_empty() { Sentence::NoReasons.text(language).to_owned() } else { notes.join("\n") };
        let rest = vec![Cell::text(valid.text(language)), Cell::text(notes)];
        push_point(&mut table, point_cells(comparison, curve, point, language), rest, curve, point);
    }
    table
}
