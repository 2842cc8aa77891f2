//! Runs taken apart into platforms, curves and points, each with the name a reader sees.

use std::collections::BTreeSet;

use kneepoint_model::plan::Arrival;
use kneepoint_model::summary::{self, LoadAxis, LoadSummary, PointSummary, RunSummary};

use crate::Run;
use crate::format;
use crate::messages::{Label, Language};

/// All runs of one report.
pub(crate) struct Comparison<'a> {
    /// As handed in.
    pub(crate) runs: &'a [Run<'a>],
    /// A platform of a run each; the position gives its colour in every chart.
    pub(crate) platforms: Vec<PlatformView<'a>>,
    /// Points of one platform, workload and kind of load, lowest load first.
    pub(crate) curves: Vec<Curve<'a>>,
    /// Workload names in order of appearance.
    pub(crate) workloads: Vec<&'a str>,
}

/// One platform of one run.
pub(crate) struct PlatformView<'a> {
    /// Unique in the report: the platform's name, with its run's where that is needed.
    pub(crate) label: String,
    /// Index into the runs.
    pub(crate) run: usize,
    /// Its name in the plan.
    pub(crate) name: &'a str,
    /// `true` if it is a simulated one.
    pub(crate) simulated: bool,
}

/// A search of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Searched<'a> {
    /// Index of its load in the plan.
    pub(crate) load: usize,
    /// The SLO searched for.
    pub(crate) slo: &'a str,
    /// How its arrivals are spaced.
    pub(crate) arrival: Option<Arrival>,
}

/// The points of one platform under one workload and one kind of load; the steps of a search stand by themselves.
pub(crate) struct Curve<'a> {
    /// Index into the platforms.
    pub(crate) platform: usize,
    /// The workload.
    pub(crate) workload: &'a str,
    /// `true` for rates, `false` for concurrency levels.
    pub(crate) open_loop: bool,
    /// The search whose steps these are; `None` for the plan's own levels.
    pub(crate) search: Option<Searched<'a>>,
    /// Lowest load first.
    pub(crate) points: Vec<&'a PointSummary>,
}

impl<'a> Comparison<'a> {
    /// Takes the runs apart.
    pub(crate) fn new(runs: &'a [Run<'a>]) -> Self {
        let platforms = platforms(runs);
        let mut workloads = Vec::new();
        let mut curves: Vec<Curve<'a>> = Vec::new();
        for (run, point) in runs.iter().enumerate().flat_map(|(i, r)| r.summary.points.iter().map(move |p| (i, p))) {
            if !workloads.contains(&point.workload.as_str()) {
                workloads.push(point.workload.as_str());
            }
            let Some(platform) = platforms.iter().position(|p| p.run == run && p.name == point.platform) else {
                continue;
            };
            let open_loop = point.load.rate_rps.is_some();
            let arrival = point.load.arrival;
            let search = point.search.as_ref().map(|s| Searched { load: s.load, slo: &s.slo, arrival });
            let same = |c: &&mut Curve<'a>| {
                c.platform == platform && c.workload == point.workload && c.open_loop == open_loop && c.search == search
            };
            match curves.iter_mut().find(same) {
                Some(curve) => curve.points.push(point),
                None => {
                    curves.push(Curve { platform, workload: &point.workload, open_loop, search, points: vec![point] });
                }
            }
        }
        for curve in &mut curves {
            curve.points.sort_by(|a, b| level(&a.load).total_cmp(&level(&b.load)));
        }
        Self { runs, platforms, curves, workloads }
    }

    /// The label of a curve's platform.
    pub(crate) fn label(&self, curve: &Curve<'_>) -> &str {
        &self.platforms[curve.platform].label
    }

    /// Every point with its curve, in the order of the curves.
    pub(crate) fn points(&self) -> impl Iterator<Item = (&Curve<'a>, &'a PointSummary)> {
        self.curves.iter().flat_map(|c| c.points.iter().map(move |p| (c, *p)))
    }

    /// `true` if workloads must be told apart.
    pub(crate) fn many_workloads(&self) -> bool {
        self.workloads.len() > 1
    }

    /// What a search found; `None` for a curve that is none.
    pub(crate) fn search_result(&self, curve: &Curve<'a>) -> Option<&'a summary::SearchResult> {
        let search = curve.search?;
        let platform = &self.platforms[curve.platform];
        let mut of_run = self.runs[platform.run].summary.curves.iter();
        let own =
            |c: &&summary::Curve| c.platform == platform.name && c.workload == curve.workload && c.load == search.load;
        of_run.find(own)?.search.as_ref()
    }

    /// The points at which a sweep bends, with the name of each knee: at most one for latency and one for throughput of
    /// each load of the plan.
    pub(crate) fn knees(&self, curve: &Curve<'a>) -> Vec<(Label, &'a PointSummary)> {
        let platform = &self.platforms[curve.platform];
        let own = |c: &&summary::Curve| {
            curve.search.is_none()
                && c.search.is_none()
                && c.platform == platform.name
                && c.workload == curve.workload
                && (c.axis == LoadAxis::RateRps) == curve.open_loop
        };
        let mut found = Vec::new();
        for c in self.runs[platform.run].summary.curves.iter().filter(own) {
            let at = |knee: &Option<summary::KneeAt>| knee.as_ref().and_then(|k| k.point);
            let (latency, throughput) = (at(&c.knee.latency), at(&c.knee.throughput));
            let both = latency.is_some() && latency == throughput;
            let named = [
                (if both { Label::MarkKnee } else { Label::MarkKneeLatency }, latency),
                (Label::MarkKneeThroughput, throughput.filter(|_| !both)),
            ];
            found.extend(
                named
                    .into_iter()
                    .filter_map(|(label, index)| Some((label, *curve.points.iter().find(|p| Some(p.point) == index)?))),
            );
        }
        found
    }

    /// Curves that may be held against each other: same workload, same kind of load, searches for one SLO.
    pub(crate) fn groups(&self) -> Vec<Vec<&Curve<'a>>> {
        let mut groups: Vec<Vec<&Curve<'a>>> = Vec::new();
        for curve in &self.curves {
            let same = |g: &&mut Vec<&Curve<'a>>| {
                g.first().is_some_and(|c| {
                    let what = |c: &Curve<'a>| c.search.map(|s| (s.slo, s.arrival));
                    c.workload == curve.workload && c.open_loop == curve.open_loop && what(c) == what(curve)
                })
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(curve),
                None => groups.push(vec![curve]),
            }
        }
        groups
    }
}

impl Curve<'_> {
    /// Which step of its search a point is, from 1; `None` for a level of the plan.
    pub(crate) fn step(&self, point: &PointSummary) -> Option<usize> {
        self.search?;
        Some(self.points.iter().filter(|p| p.point <= point.point).count())
    }
}

/// One platform of each run, in the order of its points, then those that were never measured.
fn platforms<'a>(runs: &'a [Run<'a>]) -> Vec<PlatformView<'a>> {
    let mut found: Vec<PlatformView<'a>> = Vec::new();
    for (run, r) in runs.iter().enumerate() {
        let measured = r.summary.points.iter().map(|p| (p.platform.as_str(), p.simulated));
        let seen = r.environment.platforms.iter().map(|(name, e)| (name.as_str(), e.observed.simulated));
        for (name, simulated) in measured.chain(seen) {
            if let Some(known) = found.iter_mut().find(|p| p.run == run && p.name == name) {
                known.simulated |= simulated;
            } else {
                found.push(PlatformView { label: name.to_owned(), run, name, simulated });
            }
        }
    }
    disambiguate(&mut found, runs);
    found
}

/// Where platforms of several runs share a name, adds as little of their runs as tells them apart.
fn disambiguate(found: &mut [PlatformView<'_>], runs: &[Run<'_>]) {
    let names: BTreeSet<&str> = found.iter().map(|p| p.name).collect();
    for name in names {
        let alike: Vec<usize> = (0..found.len()).filter(|i| found[*i].name == name).collect();
        if alike.len() < 2 {
            continue;
        }
        let suffixes = suffixes(&alike.iter().map(|i| &runs[found[*i].run].summary.run).collect::<Vec<_>>());
        for (position, i) in alike.into_iter().enumerate() {
            let by_position = || format!("#{}", found[i].run + 1);
            let suffix = suffixes.as_ref().map_or_else(by_position, |suffixes| suffixes[position].clone());
            found[i].label = format!("{name} · {suffix}");
        }
    }
}

/// A name each where the names differ, else the start in short; both where some names differ; `None` if not even that
/// tells the runs apart.
fn suffixes(runs: &[&RunSummary]) -> Option<Vec<String>> {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    if all_differ(&names) {
        return Some(names);
    }
    let shared = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    // Only those that share a name need their start.
    let unnamed: Vec<&str> = runs.iter().filter(|run| shared(&run.name)).map(|run| run.started.as_str()).collect();
    let mut starts = short_starts(&unnamed).into_iter();
    let one_name = names.iter().all(|name| *name == names[0]);
    let each = names.iter().map(|name| match shared(name).then(|| starts.next()).flatten() {
        None => name.clone(),
        Some(start) if one_name => start,
        Some(start) => format!("{name} {start}"),
    });
    Some(each.collect()).filter(|each: &Vec<String>| all_differ(each))
}

/// Starts (RFC 3339, UTC) as short as they still differ: the time of a day, with its seconds or its date where needed.
fn short_starts(starts: &[&str]) -> Vec<String> {
    // Ends of the parts of `2026-12-01T04:51:19Z`.
    const DATE: usize = 10;
    const MINUTE: usize = 16;
    const SECOND: usize = 19;
    let one_day = starts.iter().all(|start| start.get(..DATE) == starts[0].get(..DATE));
    let from = if one_day { DATE + 1 } else { "2026-".len() };
    let cut = |until: usize| -> Option<Vec<String>> {
        starts.iter().map(|start| Some(start.get(from..until)?.replace('T', " "))).collect()
    };
    let short = [MINUTE, SECOND].into_iter().filter_map(cut).find(|short| all_differ(short));
    short.unwrap_or_else(|| starts.iter().map(|start| (*start).to_owned()).collect())
}

fn all_differ(texts: &[String]) -> bool {
    texts.iter().collect::<BTreeSet<_>>().len() == texts.len()
}

/// A load level as one number, to order levels of one kind.
pub(crate) fn level(load: &LoadSummary) -> f64 {
    load.rate_rps.or_else(|| load.concurrency.map(f64::from)).unwrap_or(0.0)
}

/// `true` if both are the same level of the same kind.
pub(crate) fn same_level(a: &LoadSummary, b: &LoadSummary) -> bool {
    a.rate_rps.is_some() == b.rate_rps.is_some() && (level(a) - level(b)).abs() <= 1e-9 * level(a).abs().max(1.0)
}

/// `true` if both are the same rate.
pub(crate) fn same_rate(a: Option<f64>, b: Option<f64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0))
}

/// A load level in words: `8 req/s`.
pub(crate) fn load_text(load: &LoadSummary, language: Language) -> String {
    let label = match (load.rate_rps, load.arrival) {
        (Some(_), Some(Arrival::Poisson)) => Label::LoadRatePoisson,
        (Some(_), _) => Label::LoadRate,
        (None, _) => Label::LoadConcurrency,
    };
    language.say(label, &[("n", &format::plain(level(load)))])
}

/// The load of a point, and which step of a search it is: `8 req/s, search step 3`.
pub(crate) fn point_text(curve: &Curve<'_>, point: &PointSummary, language: Language) -> String {
    let load = load_text(&point.load, language);
    match curve.step(point) {
        Some(step) => language.say(Label::LoadAtStep, &[("load", &load), ("step", &step.to_string())]),
        None => load,
    }
}

/// `open loop`, `closed loop` or `search for realtime`.
pub(crate) fn kind_text(curve: &Curve<'_>, language: Language) -> String {
    match (curve.search, curve.open_loop) {
        (Some(search), _) => language.say(Label::SearchKind, &[("slo", search.slo)]),
        (None, true) => language.say(Label::OpenKind, &[]),
        (None, false) => language.say(Label::ClosedKind, &[]),
    }
}
