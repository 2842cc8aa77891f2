//! A whole report in the order in which it is read, ready for any output format.

use super::capacity::{Capacity, capacity};
use super::comparison::Comparison;
use super::method::{RunMethod, methods, validity};
use super::table::Table;
use super::values::say;
use super::verdict::{Verdict, verdicts};
use super::warnings::{Warning, warnings};
use super::{phases, points, tables};
use crate::Run;
use crate::charts::stills::{Still, stills};
use crate::messages::{Label, Language, Message as _, Sentence, TERMS};

/// A report.
pub(crate) struct Document<'a> {
    /// Its language.
    pub(crate) language: Language,
    /// Title.
    pub(crate) title: String,
    /// A line a run under the title.
    pub(crate) subtitles: Vec<String>,
    /// What to say if figures are simulated.
    pub(crate) simulated: Option<String>,
    /// The verdicts.
    pub(crate) verdicts: Vec<Verdict>,
    /// Whether anything was measured.
    pub(crate) has_points: bool,
    /// Whether a remark on the reach of intervals is due.
    pub(crate) compared: bool,
    /// The warnings.
    pub(crate) warnings: Vec<Warning>,
    /// What the levels of each load show together.
    pub(crate) capacity: Option<Capacity>,
    /// Still charts.
    pub(crate) stills: Vec<Still>,
    /// The tables of figures.
    pub(crate) figures: Vec<Table>,
    /// How each run was made.
    pub(crate) methods: Vec<RunMethod<'a>>,
    /// Validity of each point.
    pub(crate) validity: Table,
    /// Metrics, a line each: name and definition.
    pub(crate) glossary: Vec<(&'static str, &'static str)>,
    /// Before the glossary.
    pub(crate) glossary_intro: String,
    /// At the end.
    pub(crate) made_with: String,
}

impl<'a> Document<'a> {
    /// The report of these runs.
    pub(crate) fn new(comparison: &Comparison<'a>, language: Language) -> Self {
        let mut figures = vec![tables::key_figures(comparison, language)];
        figures.extend(tables::slos(comparison, language));
        figures.extend([
            tables::throughput(comparison, language),
            phases::steadiness(comparison, language),
            points::outcomes(comparison, language),
            points::failures(comparison, language),
        ]);
        figures.extend(tables::percentiles(comparison, language));
        figures.extend([
            tables::with_failures(comparison, language),
            points::tokens(comparison, language),
            phases::phases(comparison, language),
        ]);
        figures.extend(phases::network(comparison, language));
        figures.extend(phases::calibration(comparison, language));
        figures.push(points::client(comparison, language));
        let first = comparison.runs.first();
        let metrics = first.map_or(kneepoint_model::summary::METRICS_VERSION, |r| r.summary.metrics);
        let tool = first.map_or("", |r| r.manifest.tool.as_str());
        Self {
            language,
            title: Label::ReportTitle.text(language).to_owned(),
            subtitles: comparison.runs.iter().map(|run| subtitle(run, language)).collect(),
            simulated: simulated(comparison, language),
            verdicts: verdicts(comparison, language),
            has_points: !comparison.curves.is_empty(),
            compared: comparison.platforms.len() > 1,
            warnings: warnings(comparison, language),
            capacity: capacity(comparison, language),
            stills: stills(comparison, language),
            figures,
            methods: methods(comparison, language),
            validity: validity(comparison, language),
            glossary: TERMS.iter().map(|term| definition(term.text(language), language)).collect(),
            glossary_intro: say(language, Sentence::MetricsDefined, &[("version", metrics.to_string())]),
            made_with: say(language, Sentence::MadeWith, &[("version", tool.to_owned())]),
        }
    }
}

/// A line of the glossary, taken apart at its first colon.
fn definition(line: &'static str, language: Language) -> (&'static str, &'static str) {
    line.split_once(language.colon()).unwrap_or((line, ""))
}

fn subtitle(run: &Run<'_>, language: Language) -> String {
    let values = [("name", run.summary.run.name.clone()), ("started", run.summary.run.started.clone())];
    say(language, Sentence::SubtitleRun, &values)
}

fn simulated(comparison: &Comparison<'_>, language: Language) -> Option<String> {
    let some = comparison.platforms.iter().filter(|p| p.simulated).map(|p| p.label.as_str()).collect::<Vec<_>>();
    let any = !some.is_empty() || comparison.runs.iter().any(|r| r.summary.simulated);
    if !any {
        return None;
    }
    if some.is_empty() || some.len() == comparison.platforms.len() {
        return Some(Sentence::SimulatedAll.text(language).to_owned());
    }
    Some(say(language, Sentence::SimulatedSome, &[("platforms", some.join(language.comma()))]))
}
