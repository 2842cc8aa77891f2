//! The data of the live charts, as JSON that may stand inside an HTML `script` element.

use kneepoint_model::summary::{Distribution, PointSummary, SloSummary};
use serde::Serialize;

use super::palette::{ON_DARK, ON_LIGHT};
use crate::format;
use crate::messages::{Label, Language, Message as _};
use crate::view::comparison::{Comparison, Curve, kind_text, level, point_text};
use crate::view::values::{Quantile, quantile};

#[derive(Serialize)]
struct Data<'a> {
    labels: serde_json::Map<String, serde_json::Value>,
    colours: Colours,
    platforms: Vec<&'a str>,
    groups: Vec<Group>,
    curves: Vec<CurveData>,
    slos: Vec<SloLines<'a>>,
    points: Vec<PointData>,
}

#[derive(Serialize)]
struct Colours {
    light: [&'static str; 8],
    dark: [&'static str; 8],
}

/// Curves that are drawn together: same workload, same kind of load.
#[derive(Serialize)]
struct Group {
    label: String,
    levels: Vec<LevelData>,
}

#[derive(Serialize)]
struct LevelData {
    label: String,
    /// Positions in `points`.
    points: Vec<usize>,
}

#[derive(Serialize)]
struct CurveData {
    platform: usize,
    group: usize,
    /// Positions in `points`.
    points: Vec<usize>,
    /// Where it bends.
    knees: Vec<KneeData>,
}

#[derive(Serialize)]
struct KneeData {
    label: &'static str,
    /// Position in `points`.
    point: usize,
}

#[derive(Serialize)]
struct SloLines<'a> {
    group: usize,
    name: &'a str,
    ttft: Option<f64>,
    tpot: Option<f64>,
    e2e: Option<f64>,
}

#[derive(Serialize)]
struct PointData {
    label: String,
    load: String,
    platform: usize,
    valid: bool,
    req_s: Option<f64>,
    tok_s: Option<f64>,
    ttft: Percentiles,
    tpot: Percentiles,
    e2e: Percentiles,
    ecdf: Ecdf,
    series: Series,
}

/// p50, p95, p99 as (value, lower bound, upper bound), or the words that say why not.
#[derive(Serialize)]
struct Percentiles {
    n: u64,
    p50: Option<[Option<f64>; 3]>,
    p95: Option<[Option<f64>; 3]>,
    p99: Option<[Option<f64>; 3]>,
    missing: Vec<String>,
}

#[derive(Serialize)]
struct Ecdf {
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
}

#[derive(Serialize)]
struct Series {
    t: Vec<f64>,
    measured: Vec<u8>,
    scheduled: Vec<u64>,
    sent: Vec<u64>,
    ok: Vec<u64>,
    failed: Vec<u64>,
    in_flight: Vec<u64>,
    tok: Vec<Option<f64>>,
    ttft_p50: Vec<Option<f64>>,
    ttft_max: Vec<Option<f64>>,
}

/// The labels the live charts show.
const LABELS: [(&str, Label); 23] = [
    ("ttft", Label::TtftName),
    ("tpot", Label::TpotName),
    ("e2e", Label::E2eName),
    ("req_s", Label::AchievedReqS),
    ("tok_s", Label::OutputTokS),
    ("invalid", Label::Invalid),
    ("interval", Label::IntervalWord),
    ("no_value", Label::NoValue),
    ("n", Label::Samples),
    ("load", Label::Load),
    ("cumulative", Label::CumulativeShare),
    ("time", Label::SinceStart),
    ("requests", Label::RequestsPerSecond),
    ("in_flight", Label::InFlight),
    ("tokens", Label::OutputTokensPerSecond),
    ("ttft_time", Label::TtftOverTime),
    ("scheduled", Label::Scheduled),
    ("sent", Label::Sent),
    ("ok", Label::Succeeded),
    ("failed", Label::Failed),
    ("p50", Label::SeriesP50),
    ("max", Label::SeriesMax),
    ("not_measured", Label::NotMeasured),
];

/// The JSON. Characters that could end a `script` element or a line of a script are escaped.
pub(crate) fn json(comparison: &Comparison<'_>, language: Language) -> String {
    let groups = comparison.groups();
    let mut points = Vec::new();
    let mut curves = Vec::new();
    let mut slos: Vec<SloLines<'_>> = Vec::new();
    let mut group_data: Vec<Group> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let mut levels: Vec<(f64, LevelData)> = Vec::new();
        for curve in group {
            let mut own = Vec::new();
            for point in &curve.points {
                own.push(points.len());
                let load = point_text(curve, point, language);
                match levels.iter_mut().find(|(_, l)| l.label == load) {
                    Some((_, known)) => known.points.push(points.len()),
                    None => levels.push((level(&point.load), LevelData { label: load, points: vec![points.len()] })),
                }
                points.push(point_data(comparison.label(curve), curve, point, language));
                slos.extend(new_slos(&slos, index, point));
            }
            let knees = comparison.knees(curve).into_iter().filter_map(|(label, point)| {
                let position = curve.points.iter().position(|p| p.point == point.point)?;
                Some(KneeData { label: label.text(language), point: *own.get(position)? })
            });
            let knees = knees.collect();
            curves.push(CurveData { platform: curve.platform, group: index, points: own, knees });
        }
        levels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let label = group
            .first()
            .map_or_else(String::new, |c| format!("{}{}{}", c.workload, language.comma(), kind_text(c, language)));
        group_data.push(Group { label, levels: levels.into_iter().map(|(_, l)| l).collect() });
    }
    let mut labels: serde_json::Map<_, _> =
        LABELS.iter().map(|(key, label)| ((*key).to_owned(), label.text(language).into())).collect();
    labels.insert("comma".to_owned(), language.comma_in_head().into());
    let data = Data {
        labels,
        colours: Colours { light: ON_LIGHT, dark: ON_DARK },
        platforms: comparison.platforms.iter().map(|p| p.label.as_str()).collect(),
        groups: group_data,
        curves,
        slos,
        points,
    };
    let text = serde_json::to_string(&data).expect("invariant: maps have string keys and no value fails to serialise");
    for_script(&text)
}

/// The SLOs of a point not yet known.
fn new_slos<'a>(known: &[SloLines<'a>], group: usize, point: &'a PointSummary) -> Vec<SloLines<'a>> {
    let lines = |(name, slo): (&'a String, &SloSummary)| SloLines {
        group,
        name,
        ttft: slo.ttft_limit_ms,
        tpot: slo.tpot_limit_ms,
        e2e: slo.e2e_limit_ms,
    };
    let is_new = |s: &SloLines<'a>| {
        !known
            .iter()
            .any(|k| k.group == s.group && k.name == s.name && [k.ttft, k.tpot, k.e2e] == [s.ttft, s.tpot, s.e2e])
    };
    point.slo.iter().map(lines).filter(is_new).collect()
}

fn point_data(label: &str, curve: &Curve<'_>, point: &PointSummary, language: Language) -> PointData {
    let load = point_text(curve, point, language);
    let series = &point.series;
    PointData {
        label: format!("{label} · {} · {load}", curve.workload),
        load,
        platform: curve.platform,
        valid: point.valid,
        req_s: point.throughput.req_s,
        tok_s: point.throughput.output_tok_s,
        ttft: percentiles(&point.ttft_ms, language),
        tpot: percentiles(&point.tpot_ms, language),
        e2e: percentiles(&point.e2e_ms, language),
        ecdf: Ecdf {
            ttft: rounded(&point.quantiles.ttft_ms),
            tpot: rounded(&point.quantiles.tpot_ms),
            e2e: rounded(&point.quantiles.e2e_ms),
        },
        series: Series {
            t: series.iter().map(|s| round(s.t_s)).collect(),
            measured: series.iter().map(|s| u8::from(s.measured)).collect(),
            scheduled: series.iter().map(|s| s.scheduled).collect(),
            sent: series.iter().map(|s| s.sent).collect(),
            ok: series.iter().map(|s| s.ok).collect(),
            failed: series.iter().map(|s| s.failed).collect(),
            in_flight: series.iter().map(|s| s.in_flight).collect(),
            tok: series.iter().map(|s| s.output_tok.map(round)).collect(),
            ttft_p50: series.iter().map(|s| s.ttft_p50_ms.map(round)).collect(),
            ttft_max: series.iter().map(|s| s.ttft_max_ms.map(round)).collect(),
        },
    }
}

fn percentiles(d: &Distribution, language: Language) -> Percentiles {
    let mut missing = Vec::new();
    let mut triple = |name: &str| match quantile(d, name) {
        Quantile::Value { value, interval } => {
            let interval = interval.map_or([None, None], |i| [i.0, i.1]);
            Some([Some(value), interval[0], interval[1]])
        }
        Quantile::TooFew { n, needs } => {
            let needs = needs.map_or_else(|| format::NONE.to_owned(), format::count);
            let why = language.say(Label::TooSmallShort, &[("n", &format::count(n)), ("needs", &needs)]);
            missing.push(format!("{name}{}{why}", language.colon()));
            None
        }
        Quantile::Absent => None,
    };
    let (p50, p95, p99) = (triple("p50"), triple("p95"), triple("p99"));
    Percentiles { n: d.n, p50, p95, p99, missing }
}

/// Six significant digits are more than a screen can show.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powf(5.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().copied().map(round).collect()
}

/// JSON stays JSON, but holds no character that ends a `script` element, opens a comment or breaks a line of a script.
fn for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_script_element_decodes_to_the_same_value() {
        let hostile = "</script><!--<script>\u{2028}\u{2029}&amp;\"'\\";
        let json = serde_json::to_string(hostile).unwrap();
        let escaped = for_script(&json);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), hostile);
    }

    #[test]
    fn rounding_keeps_six_digits() {
        for (value, kept) in [(123.456_789_1, 123.457), (0.001_234_567_8, 0.001_234_57), (0.0, 0.0)] {
            assert!((round(value) - kept).abs() < 1e-12 + kept * 1e-9, "{value}: {}", round(value));
        }
    }
}
