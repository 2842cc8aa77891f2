//! What a reader must know before believing a figure.

use kneepoint_model::bundle::{LengthEvidence, PlatformEnvironment, RunStatus};
use kneepoint_model::plan::LengthControl;
use kneepoint_model::summary::{METRICS_VERSION, PointSummary, Reason, ReasonCode, Severity, Summary};

use super::comparison::{Comparison, Curve, point_text};
use super::plan::{PlanText, limit_text};
use super::points::deviation;
use super::values::say;
use crate::messages::{Label, Language, Message as _, Sentence, reason_figure, reason_limit, reason_text};
use crate::{Run, format};

/// Mean token counts further off their target than this are a warning.
const LENGTH_TOLERANCE: f64 = 0.05;

/// How much a warning matters; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Figures that cannot be relied on.
    Invalid,
    /// Figures to be read with care.
    Warning,
    /// Good to know.
    Info,
}

impl Weight {
    /// The word before the warning.
    pub(crate) fn word(self, language: Language) -> &'static str {
        let label = match self {
            Self::Invalid => Label::SeverityInvalid,
            Self::Warning => Label::SeverityWarning,
            Self::Info => Label::SeverityInfo,
        };
        label.text(language)
    }

    /// Its class in HTML.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// A warning.
#[derive(Debug)]
pub(crate) struct Warning {
    /// How much it matters.
    pub(crate) weight: Weight,
    /// The sentence.
    pub(crate) text: String,
    /// The figures, one a load level.
    pub(crate) figures: Vec<String>,
}

/// Every warning, the worst first.
pub(crate) fn warnings(comparison: &Comparison<'_>, language: Language) -> Vec<Warning> {
    let mut found = Vec::new();
    for run in comparison.runs {
        run_warnings(run, language, &mut found);
    }
    if comparison.runs.windows(2).any(|pair| pair[0].plan_yaml != pair[1].plan_yaml) {
        found.push(Warning::bare(Weight::Warning, Sentence::PlansDiffer.text(language)));
    }
    reason_warnings(comparison, language, &mut found);
    length_warnings(comparison, language, &mut found);
    for platform in &comparison.platforms {
        if let Some(environment) = comparison.runs[platform.run].environment.platforms.get(platform.name) {
            environment_warnings(&platform.label, environment, language, &mut found);
        }
    }
    found.sort_by_key(|w| w.weight);
    found
}

impl Warning {
    fn bare(weight: Weight, text: impl Into<String>) -> Self {
        Self { weight, text: text.into(), figures: Vec::new() }
    }
}

fn run_warnings(run: &Run<'_>, language: Language, found: &mut Vec<Warning>) {
    let summary = run.summary;
    let plan = PlanText::read(run.plan_yaml);
    let (done, planned) = (points_done(summary), summary.run.points_planned);
    let limit = summary.run.limit.map(|limit| limit_text(limit, plan.currency(), language));
    let ended = match summary.run.status {
        RunStatus::LimitReached if limit.is_some() => Some((Weight::Warning, Sentence::RunLimitReachedAt)),
        RunStatus::LimitReached => Some((Weight::Warning, Sentence::RunLimitReached)),
        RunStatus::Interrupted => Some((Weight::Warning, Sentence::RunInterrupted)),
        RunStatus::Failed => Some((Weight::Invalid, Sentence::RunFailed)),
        RunStatus::Running => Some((Weight::Invalid, Sentence::RunKilled)),
        RunStatus::Complete if done + summary.run.skipped.len() < planned => {
            Some((Weight::Warning, Sentence::PointsMissing))
        }
        RunStatus::Complete => None,
    };
    if let Some((weight, sentence)) = ended {
        let values = [
            ("run", summary.run.name.clone()),
            ("done", done.to_string()),
            ("planned", planned.to_string()),
            ("limit", limit.unwrap_or_default()),
        ];
        found.push(Warning::bare(weight, say(language, sentence, &values)));
    }
    if !summary.run.skipped.is_empty() {
        let figures = summary.run.skipped.iter().map(|&point| plan.point_text(point, language)).collect();
        let text = say(language, Sentence::SkippedAtPlateau, &[("run", summary.run.name.clone())]);
        found.push(Warning { weight: Weight::Info, text, figures });
    }
    if let Some(loss) = summary.run.lost {
        let values = [("run", summary.run.name.clone()), ("bytes", format::bytes(loss.bytes as f64))];
        if loss.bytes > 0 {
            found.push(Warning::bare(Weight::Warning, say(language, Sentence::JournalLost, &values)));
        }
        if loss.unflushed {
            found.push(Warning::bare(Weight::Warning, say(language, Sentence::JournalUnflushed, &values)));
        }
    }
    if summary.metrics != METRICS_VERSION {
        let values = [
            ("run", summary.run.name.clone()),
            ("found", summary.metrics.to_string()),
            ("known", METRICS_VERSION.to_string()),
        ];
        found.push(Warning::bare(Weight::Warning, say(language, Sentence::OtherMetrics, &values)));
    }
}

/// Points of the plan that were measured; steps of searches are not counted.
pub(crate) fn points_done(summary: &Summary) -> usize {
    summary.points.iter().filter(|p| p.search.is_none()).count()
}

/// The reasons of all points, put together by code and severity.
fn reason_warnings(comparison: &Comparison<'_>, language: Language, found: &mut Vec<Warning>) {
    let mut groups: Vec<(ReasonCode, Severity, Vec<String>)> = Vec::new();
    for (curve, point) in comparison.points() {
        for reason in &point.reasons {
            let figure = figure_at(comparison, curve, point, reason, language);
            match groups.iter_mut().find(|g| g.0 == reason.code && g.1 == reason.severity) {
                Some(group) => group.2.push(figure),
                None => groups.push((reason.code, reason.severity, vec![figure])),
            }
        }
    }
    found.extend(groups.into_iter().map(|(code, severity, figures)| Warning {
        weight: if severity == Severity::Invalid { Weight::Invalid } else { Weight::Warning },
        text: reason_text(code, language).to_owned(),
        figures,
    }));
}

/// Where, and how much: `vllm, 16 req/s: lag p99 12.4 ms, limit 5 ms`.
fn figure_at(
    comparison: &Comparison<'_>,
    curve: &Curve<'_>,
    point: &PointSummary,
    reason: &Reason,
    language: Language,
) -> String {
    let values =
        [("platform", comparison.label(curve).to_owned()), ("load", place(comparison, curve, point, language))];
    let load = say(language, Sentence::PlatformAt, &values);
    match figure_with_limit(reason, language) {
        Some(figure) => say(language, Sentence::FigureAt, &[("load", load), ("figure", figure)]),
        None => load,
    }
}

/// The level of a point, with its workload where there are several.
fn place(comparison: &Comparison<'_>, curve: &Curve<'_>, point: &PointSummary, language: Language) -> String {
    let load = point_text(curve, point, language);
    if comparison.many_workloads() { format!("{} · {load}", point.workload) } else { load }
}

/// `p99 of the lag 12.4 ms, limit 5 ms`.
pub(crate) fn figure_with_limit(reason: &Reason, language: Language) -> Option<String> {
    let figure = reason_figure(reason, language)?;
    let is_minimum =
        matches!(reason.code, ReasonCode::TooFewSamples | ReasonCode::RateNotKept | ReasonCode::Interrupted);
    let sentence = if is_minimum { Sentence::FigureAtLeast } else { Sentence::FigureLimit };
    Some(match reason_limit(reason) {
        Some(limit) => say(language, sentence, &[("figure", figure), ("limit", limit)]),
        None => figure,
    })
}

/// Token counts off their target at points whose reasons do not already say so.
fn length_warnings(comparison: &Comparison<'_>, language: Language, found: &mut Vec<Warning>) {
    let directions = [(ReasonCode::InputLength, Sentence::InputOff), (ReasonCode::OutputLength, Sentence::OutputOff)];
    for (code, sentence) in directions {
        for (index, platform) in comparison.platforms.iter().enumerate() {
            let mut figures = Vec::new();
            for (curve, point) in comparison.points().filter(|(c, _)| c.platform == index) {
                let tokens = if code == ReasonCode::InputLength { &point.input_tokens } else { &point.output_tokens };
                let Some(off) = deviation(tokens).filter(|off| off.abs() > LENGTH_TOLERANCE) else { continue };
                if point.reasons.iter().any(|r| r.code == code) {
                    continue;
                }
                let mean = tokens.server_mean.or(tokens.local_mean).unwrap_or_default();
                let values = [
                    ("mean", format::number(mean)),
                    ("target", format::count(tokens.target)),
                    ("deviation", format::signed_percent(off)),
                ];
                let figure = say(language, Sentence::MeanOf, &values);
                let load = place(comparison, curve, point, language);
                figures.push(say(language, Sentence::FigureAt, &[("load", load), ("figure", figure)]));
            }
            if !figures.is_empty() {
                let text = say(language, sentence, &[("platform", platform.label.clone())]);
                found.push(Warning { weight: Weight::Warning, text, figures });
            }
        }
    }
}

fn environment_warnings(label: &str, environment: &PlatformEnvironment, language: Language, found: &mut Vec<Warning>) {
    let observed = &environment.observed;
    let (weight, sentence) = match observed.length_control {
        LengthControl::Auto => (Weight::Warning, Sentence::LengthUnprobed),
        LengthControl::IgnoreEos => (Weight::Info, Sentence::LengthIgnoreEos),
        LengthControl::MinTokens => (Weight::Info, Sentence::LengthMinTokens),
        LengthControl::Natural => (Weight::Warning, Sentence::LengthNatural),
    };
    let evidence = evidence_text(&observed.length_control_evidence, language);
    found.push(Warning::bare(
        weight,
        say(language, sentence, &[("platform", label.to_owned()), ("evidence", evidence)]),
    ));
    for problem in &observed.problems {
        let values = [("platform", label.to_owned()), ("problem", problem.clone())];
        found.push(Warning::bare(Weight::Warning, say(language, Sentence::EnvironmentProblem, &values)));
    }
}

/// How the length control was found, in brackets.
pub(crate) fn evidence_text(evidence: &LengthEvidence, language: Language) -> String {
    match evidence {
        LengthEvidence::Plan => Sentence::EvidencePlan.text(language).to_owned(),
        LengthEvidence::NothingObeyed => Sentence::EvidenceNothing.text(language).to_owned(),
        LengthEvidence::Probed { asked, delivered: Some(delivered) } => say(
            language,
            Sentence::EvidenceProbed,
            &[("asked", format::count(*asked)), ("delivered", format::count(*delivered))],
        ),
        LengthEvidence::Probed { asked, delivered: None } => {
            say(language, Sentence::EvidenceProbedUncounted, &[("asked", format::count(*asked))])
        }
    }
}
