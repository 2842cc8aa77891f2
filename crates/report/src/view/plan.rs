//! What a plan's text says that the summary does not: the currency of a limit, the names of points left out.

use kneepoint_model::bundle::{LimitKind, LimitReached};
use kneepoint_model::plan::PlanFile;
use kneepoint_model::plan::file::{LoadFile, Sweep};
use kneepoint_model::summary::LoadSummary;
use kneepoint_model::yaml;

use super::comparison::load_text;
use super::values::say;
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// A saved plan; one that cannot be read tells nothing, and the report does without.
pub(crate) struct PlanText(Option<PlanFile>);

impl PlanText {
    /// Reads `plan.yaml`.
    pub(crate) fn read(text: &str) -> Self {
        if text.is_empty() {
            return Self(None);
        }
        Self(yaml::from_str::<PlanFile>("plan.yaml", text).ok().map(|parsed| parsed.value))
    }

    /// The currency of the limit on spending.
    pub(crate) fn currency(&self) -> Option<&str> {
        self.0.as_ref()?.limits.as_ref()?.spend.as_deref()?.split_whitespace().nth(1)
    }

    /// A point of the plan in words: `vllm, chat, 32 req/s`; by its number where the plan does not tell.
    pub(crate) fn point_text(&self, point: u32, language: Language) -> String {
        let by_number = || say(language, Sentence::PointNumber, &[("n", (u64::from(point) + 1).to_string())]);
        self.place_of(point, language).unwrap_or_else(by_number)
    }

    /// Platform by platform, workload by workload, load by load, level by level: the order of the plan's points.
    fn place_of(&self, point: u32, language: Language) -> Option<String> {
        let plan = self.0.as_ref()?;
        let each: Option<Vec<Vec<LoadSummary>>> = plan.load.iter().map(levels).collect();
        let levels: Vec<LoadSummary> = each?.concat();
        let point = usize::try_from(point).ok()?;
        let (n_levels, n_workloads) = (levels.len(), plan.workloads.iter().count());
        let level = levels.get(point.checked_rem(n_levels)?)?;
        let (workload, _) = plan.workloads.iter().nth(point.checked_div(n_levels)?.checked_rem(n_workloads)?)?;
        let (platform, _) = plan.platforms.iter().nth(point / n_levels / n_workloads)?;
        let load = load_text(level, language);
        let load = if n_workloads > 1 { format!("{workload} · {load}") } else { load };
        Some(say(language, Sentence::PlatformAt, &[("platform", platform.to_owned()), ("load", load)]))
    }
}

/// The levels of one entry of `load`; a search has none. A range is spelled out in every saved plan.
fn levels(load: &LoadFile) -> Option<Vec<LoadSummary>> {
    match (&load.rate, &load.concurrency) {
        (Some(rate), _) => {
            let Sweep::List(rates) = &rate.sweep else { return None };
            let arrival = rate.arrival;
            Some(rates.iter().map(|&r| LoadSummary { rate_rps: Some(r), arrival, concurrency: None }).collect())
        }
        (None, Some(closed)) => {
            let Sweep::List(each) = &closed.sweep else { return None };
            Some(each.iter().map(|&n| LoadSummary { rate_rps: None, arrival: None, concurrency: Some(n) }).collect())
        }
        (None, None) => Some(Vec::new()),
    }
}

/// A limit that was reached, with its figures: `spend limit reached: 2.51 of 2.50 USD`.
pub(crate) fn limit_text(limit: LimitReached, currency: Option<&str>, language: Language) -> String {
    let name = match limit.limit {
        LimitKind::Spend => Label::LimitSpend,
        LimitKind::Tokens => Label::LimitTokens,
        LimitKind::Requests => Label::LimitRequests,
        LimitKind::Time => Label::LimitTime,
        LimitKind::Errors => Label::LimitErrors,
    };
    let show = |value: f64| match limit.limit {
        LimitKind::Spend => format::money(value),
        LimitKind::Tokens | LimitKind::Requests => format::whole(value),
        LimitKind::Time => format::plain(value),
        LimitKind::Errors => format::percent(value),
    };
    let unit = match limit.limit {
        LimitKind::Spend => currency.map(|currency| format!(" {currency}")),
        LimitKind::Time => Some(" s".to_owned()),
        LimitKind::Tokens | LimitKind::Requests | LimitKind::Errors => None,
    };
    let values = [
        ("limit", name.text(language).to_owned()),
        ("observed", show(limit.observed)),
        ("allowed", format!("{}{}", show(limit.allowed), unit.unwrap_or_default())),
    ];
    say(language, Sentence::LimitFigure, &values)
}
