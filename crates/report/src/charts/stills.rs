//! The still charts of a report, for Markdown, for print and for pages without scripts.

use kneepoint_model::summary::{Distribution, PointSummary, SeriesPoint, SloSummary};

use super::palette::on_light;
use super::plot::{Dot, Line, Plot, Ring};
use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};
use crate::view::comparison::{Comparison, Curve, load_text, same_level};
use crate::view::values::{quantile, say};

/// A still chart and where it belongs.
#[derive(Debug)]
pub(crate) struct Still {
    /// Which part of the report it belongs to.
    pub(crate) place: Place,
    /// File name, without its extension; unique in the report.
    pub(crate) name: String,
    /// What it shows.
    pub(crate) title: String,
    /// The drawing.
    pub(crate) svg: String,
}

/// Parts of a report that hold charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Latency against throughput.
    Curve,
    /// Distributions.
    Distribution,
    /// Over time.
    Series,
}

/// Percentiles of a curve and how their lines are drawn.
const PERCENTILES: [(&str, &str); 3] = [("p50", ""), ("p95", "7 4"), ("p99", "2 3")];

type OfDistribution = fn(&PointSummary) -> &Distribution;
type OfNumber = fn(&PointSummary) -> Option<f64>;
type OfCurve = fn(&PointSummary) -> &[f64];
type OfSecond = fn(&SeriesPoint) -> Option<f64>;
type Limit = fn(&SloSummary) -> Option<f64>;

/// Every still chart.
pub(crate) fn stills(comparison: &Comparison<'_>, language: Language) -> Vec<Still> {
    let groups = comparison.groups();
    let mut all = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let suffix = if groups.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        curves(comparison, group, &suffix, language, &mut all);
        // The steps of a search are held as long as the search needs, to name a rate; its chart is the curve.
        let is_search = group.iter().any(|c| c.search.is_some());
        if let Some(level) = common_level(group).filter(|_| !is_search) {
            distributions(comparison, group, level, &suffix, language, &mut all);
            over_time(comparison, group, level, &suffix, language, &mut all);
        }
    }
    all
}

fn curves(comparison: &Comparison<'_>, group: &[&Curve<'_>], suffix: &str, language: Language, all: &mut Vec<Still>) {
    let metrics: [(&str, Label, OfDistribution, Limit); 3] = [
        ("ttft", Label::TtftName, |p| &p.ttft_ms, |s| s.ttft_limit_ms),
        ("tpot", Label::TpotName, |p| &p.tpot_ms, |s| s.tpot_limit_ms),
        ("e2e", Label::E2eName, |p| &p.e2e_ms, |s| s.e2e_limit_ms),
    ];
    for (name, label, of, limit) in metrics {
        let sentences = (Sentence::CurveStill, Sentence::CurveStillIn);
        let x: (Label, OfNumber) = (Label::AchievedReqS, |p| p.throughput.req_s);
        let plot = curve_plot(comparison, group, (label, of, limit), x, sentences, language);
        push(all, Place::Curve, format!("curve-{name}{suffix}"), plot);
    }
    let x: (Label, OfNumber) = (Label::OutputTokS, |p| p.throughput.output_tok_s);
    let sentences = (Sentence::ThroughputStill, Sentence::ThroughputStillIn);
    let (_, label, of, limit) = metrics[0];
    let plot = curve_plot(comparison, group, (label, of, limit), x, sentences, language);
    push(all, Place::Curve, format!("curve-tokens{suffix}"), plot);
}

fn push(all: &mut Vec<Still>, place: Place, name: String, plot: Plot) {
    if plot.lines.iter().any(|l| l.points.iter().any(Option::is_some)) {
        all.push(Still { place, name, svg: plot.svg(), title: plot.title });
    }
}

/// A title that names the workload where there are several groups.
fn title(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    (alone, among): (Sentence, Sentence),
    values: &[(&str, String)],
    language: Language,
) -> String {
    let Some(first) = group.first().filter(|_| comparison.groups().len() > 1) else {
        return say(language, alone, values);
    };
    let kind = crate::view::comparison::kind_text(first, language);
    let mut values = values.to_vec();
    values.push(("workload", format!("{}{}{kind}", first.workload, language.comma())));
    say(language, among, &values)
}

fn curve_plot(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    (label, of, limit): (Label, OfDistribution, Limit),
    (x_label, x): (Label, OfNumber),
    sentences: (Sentence, Sentence),
    language: Language,
) -> Plot {
    let mut lines = Vec::new();
    for curve in group {
        for (percentile, dash) in PERCENTILES {
            let dot =
                |p: &&PointSummary| Some(Dot { x: x(p)?, y: quantile(of(p), percentile).value()?, hollow: !p.valid });
            lines.push(Line {
                colour: on_light(curve.platform),
                dash,
                points: curve.points.iter().map(dot).collect(),
                marks: true,
            });
        }
    }
    let rings = group.iter().flat_map(|curve| {
        let ring = |(name, p): (Label, &PointSummary)| {
            let name = name.text(language).to_owned();
            Some(Ring { name, colour: on_light(curve.platform), x: x(p)?, y: quantile(of(p), "p50").value()? })
        };
        comparison.knees(curve).into_iter().filter_map(ring)
    });
    let rings = rings.collect();
    let mut rules: Vec<(String, f64)> = Vec::new();
    for (name, value) in
        group.iter().flat_map(|c| &c.points).flat_map(|p| &p.slo).filter_map(|(n, s)| Some((n, limit(s)?)))
    {
        let text = format!("{name} ≤ {} ms", format::plain(value));
        if !rules.iter().any(|(known, _)| *known == text) {
            rules.push((text, value));
        }
    }
    let hollow = Label::HollowPoint.text(language).to_owned();
    let values = [("metric", label.text(language).to_owned())];
    Plot {
        title: title(comparison, group, sentences, &values, language),
        x_label: x_label.text(language).to_owned(),
        y_label: format!("{}{}ms", label.text(language), language.comma_in_head()),
        log_y: spans_widely(&lines),
        lines,
        rules,
        rings,
        legend: legend(comparison, group),
        note: say(language, Sentence::PercentileNote, &[("hollow", hollow)]),
        ..Plot::default()
    }
}

fn legend(comparison: &Comparison<'_>, group: &[&Curve<'_>]) -> Vec<(String, &'static str)> {
    group.iter().map(|c| (comparison.label(c).to_owned(), on_light(c.platform))).collect()
}

/// `true` if a linear axis would press the lower values to the ground.
fn spans_widely(lines: &[Line]) -> bool {
    let ys = || lines.iter().flat_map(|l| l.points.iter().flatten()).map(|d| d.y).filter(|y| *y > 0.0);
    let (min, max) = ys().fold((f64::INFINITY, 0.0f64), |(a, b), y| (a.min(y), b.max(y)));
    max / min > 20.0
}

/// A point of each curve at the highest level valid for most of them.
fn common_level<'a>(group: &[&Curve<'a>]) -> Option<&'a PointSummary> {
    let shared = |p: &PointSummary| {
        group.iter().filter(|c| c.points.iter().any(|q| q.valid && same_level(&q.load, &p.load))).count()
    };
    let candidates = group.iter().flat_map(|c| c.points.iter().copied()).filter(|p| p.ttft_ms.n > 0);
    candidates.max_by(|a, b| {
        let level = crate::view::comparison::level;
        shared(a).cmp(&shared(b)).then(level(&a.load).total_cmp(&level(&b.load)))
    })
}

fn at_level<'c, 'a>(
    group: &'c [&'c Curve<'a>],
    level: &'c PointSummary,
) -> impl Iterator<Item = (&'c Curve<'a>, &'a PointSummary)> {
    group.iter().filter_map(|c| Some((*c, *c.points.iter().find(|p| same_level(&p.load, &level.load))?)))
}

fn distributions(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    level: &PointSummary,
    suffix: &str,
    language: Language,
    all: &mut Vec<Still>,
) {
    let metrics: [(&str, Label, OfCurve); 2] =
        [("ttft", Label::TtftName, |p| &p.quantiles.ttft_ms), ("e2e", Label::E2eName, |p| &p.quantiles.e2e_ms)];
    for (name, label, of) in metrics {
        let lines: Vec<Line> = at_level(group, level)
            .map(|(curve, point)| {
                let curve_values = of(point);
                let last = curve_values.len().saturating_sub(1).max(1) as f64;
                let dot = |(i, &v): (usize, &f64)| Some(Dot { x: v, y: i as f64 / last * 100.0, hollow: false });
                Line {
                    colour: on_light(curve.platform),
                    dash: if point.valid { "" } else { "2 3" },
                    points: curve_values.iter().enumerate().map(dot).collect(),
                    marks: false,
                }
            })
            .collect();
        let values = [("metric", label.text(language).to_owned()), ("load", load_text(&level.load, language))];
        let sentences = (Sentence::DistributionStill, Sentence::DistributionStillIn);
        let xs = || lines.iter().flat_map(|l| l.points.iter().flatten()).map(|d| d.x).filter(|x| *x > 0.0);
        let (min, max) = xs().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        let plot = Plot {
            title: title(comparison, group, sentences, &values, language),
            x_label: format!("{}{}ms", label.text(language), language.comma_in_head()),
            y_label: Label::CumulativeShare.text(language).to_owned(),
            log_x: max / min > 20.0,
            lines,
            legend: legend(comparison, group),
            ..Plot::default()
        };
        push(all, Place::Distribution, format!("distribution-{name}{suffix}"), plot);
    }
}

fn over_time(
    comparison: &Comparison<'_>,
    group: &[&Curve<'_>],
    level: &PointSummary,
    suffix: &str,
    language: Language,
    all: &mut Vec<Still>,
) {
    let charts: [(&str, Label, OfSecond); 3] = [
        ("in-flight", Label::InFlight, |s| Some(s.in_flight as f64)),
        ("tokens", Label::OutputTokensPerSecond, |s| s.output_tok),
        ("ttft", Label::TtftOverTime, |s| s.ttft_p50_ms),
    ];
    for (name, label, of) in charts {
        let lines: Vec<Line> = at_level(group, level)
            .map(|(curve, point)| {
                let dot = |s: &SeriesPoint| Some(Dot { x: s.t_s, y: of(s)?, hollow: false });
                Line {
                    colour: on_light(curve.platform),
                    points: point.series.iter().map(dot).collect(),
                    ..Line::default()
                }
            })
            .collect();
        let what = label.text(language);
        let plot = Plot {
            title: say(
                language,
                Sentence::SeriesStill,
                &[("load", load_text(&level.load, language)), ("what", what.to_owned())],
            ),
            x_label: Label::SinceStart.text(language).to_owned(),
            y_label: String::new(),
            log_y: spans_widely(&lines),
            lines,
            legend: legend(comparison, group),
            ..Plot::default()
        };
        push(all, Place::Series, format!("series-{name}{suffix}"), plot);
    }
}
