//! Resolution of workloads, load levels and latency limits.

use super::super::file::{
    ConcurrencyFile, HoldFile, LoadFile, PlanFile, RateFile, ShareText, SloFile, Sweep, WorkloadFile,
};
use super::super::named::Named;
use super::super::quantity;
use super::super::{EndPolicy, Hold, Level, Load, Slo, Workload};
use super::Resolver;
use crate::units::{Nanos, RatePerSec, Share, Tokens};
use crate::yaml::{Part, Path, Problem};

const DEFAULT_WINDOW: Nanos = Nanos::from_secs(60);
const DEFAULT_WARM_UP: Nanos = Nanos::from_secs(5);
/// The fewest samples that support a p95 (docs/metrics.md, section 3).
pub(super) const DEFAULT_MIN_SAMPLES: u64 = 130;
/// `at_most` is so many times `for` where the plan does not say.
const AT_MOST_FACTOR: u64 = 10;
const DEFAULT_SHARE: f64 = 0.99;

const DAY: Nanos = Nanos::from_secs(24 * 3600);
pub(super) const WEEK: Nanos = Nanos::from_secs(7 * 24 * 3600);
const MOST_TOKENS: u64 = 10_000_000;
const MOST_SAMPLES: u64 = 1_000_000_000;
const MOST_LEVELS: usize = 256;
/// Requests per second: one a day to a hundred thousand.
pub(super) const RATES: (f64, f64) = (1.0 / 86_400.0, 100_000.0);
const MOST_IN_FLIGHT: u32 = 100_000;
const CONCURRENCIES: (f64, f64) = (1.0, MOST_IN_FLIGHT as f64);

impl Resolver<'_> {
    pub(super) fn workloads(&mut self, workloads: &Named<WorkloadFile>) -> Vec<Workload> {
        let root = Path::ROOT.key("workloads");
        self.names(&root, workloads, "workload");
        let mut resolved = Vec::new();
        for (name, workload) in workloads.iter() {
            let path = root.key(name);
            for (field, tokens) in [("input", workload.input), ("output", workload.output)] {
                if !(1..=MOST_TOKENS).contains(&tokens) {
                    let problem =
                        Problem::new(path.key(field), format!("`{field}` of workload `{name}` is out of range"));
                    self.add(problem.found(tokens.to_string()).expected(format!("from 1 to {MOST_TOKENS} tokens")));
                }
            }
            resolved.push(Workload {
                name: name.to_owned(),
                input: Tokens(workload.input),
                output: Tokens(workload.output),
                stream: workload.stream.unwrap_or(true),
            });
        }
        resolved
    }

    /// The loads; `slos` are those of the plan, in its order.
    pub(super) fn loads(&mut self, loads: &[LoadFile], slos: &[Slo], longest_timeout: Nanos) -> Vec<Load> {
        let root = Path::ROOT.key("load");
        if loads.is_empty() {
            self.add_key(Problem::new(root.clone(), "`load` is empty").expected("at least one sweep or search"));
        }
        let resolve = |(i, load): (usize, &LoadFile)| {
            let path = root.index(i);
            match (&load.rate, &load.concurrency, &load.search) {
                (Some(rate), None, None) => Some(self.rate(&path.key("rate"), rate, longest_timeout)),
                (None, Some(concurrency), None) => {
                    Some(self.concurrency(&path.key("concurrency"), concurrency, longest_timeout))
                }
                (None, None, Some(search)) => self.search(&path.key("search"), search, slos, longest_timeout),
                (None, None, None) => {
                    let problem = Problem::new(path, "a load without levels");
                    self.add_about_whole(problem.expected("`rate`, `concurrency` or `search`"), Part::Value);
                    None
                }
                (rate, concurrency, search) => {
                    let given = [
                        ("rate", rate.is_some()),
                        ("concurrency", concurrency.is_some()),
                        ("search", search.is_some()),
                    ];
                    let given: Vec<String> =
                        given.iter().filter(|(_, given)| *given).map(|(key, _)| format!("`{key}`")).collect();
                    let (message, expected) = match given.as_slice() {
                        [a, b] => (format!("a load has both {a} and {b}"), "one of the two"),
                        all => (format!("a load has {} at once", all.join(", ")), "one of them"),
                    };
                    let problem = Problem::new(path, message).expected(expected);
                    self.add(problem.hint("make an entry of each, with its own dash"));
                    None
                }
            }
        };
        loads.iter().enumerate().filter_map(resolve).collect()
    }

    fn rate(&mut self, path: &Path, load: &RateFile, longest_timeout: Nanos) -> Load {
        let sweep = path.key("sweep");
        let rates = self.levels(&sweep, &load.sweep, RATES, "requests per second");
        let ascends = self.ascends(&sweep, &rates);
        let slowest = rates.iter().copied().reduce(f64::min);
        let hold = self.hold(path, &load.hold, longest_timeout, slowest, DEFAULT_MIN_SAMPLES);
        let arrival = load.arrival.unwrap_or_default();
        if let Some(slowest) = slowest {
            self.within_reach(path, &hold, slowest);
        }
        let levels = rates.into_iter().filter_map(RatePerSec::new).map(|rate| Level::Rate { rate, arrival }).collect();
        let max_in_flight = self.max_in_flight(path, load.max_in_flight);
        let stop_at_plateau = self.stop_at_plateau(path, load.stop_at_plateau.as_ref(), ascends);
        let end_when_saturated = load.end_when_saturated.unwrap_or(true);
        Load { levels, hold, max_in_flight, stop_at_plateau, end_when_saturated, search: None }
    }

    /// Whether the window can hold the samples asked for at the lowest rate.
    pub(super) fn within_reach(&mut self, path: &Path, hold: &Hold, slowest: f64) {
        let fit = slowest * hold.at_most.as_secs_f64();
        if fit < hold.min_samples as f64 {
            let message = format!(
                "at {slowest} requests per second a window of at most {} holds {} requests",
                hold.at_most,
                whole(fit)
            );
            let problem = Problem::new(path.key("min_samples"), message).found(hold.min_samples.to_string());
            self.add(problem.hint("ask for fewer samples, or set a longer `at_most`"));
        }
    }

    pub(super) fn max_in_flight(&mut self, path: &Path, given: Option<u64>) -> Option<u32> {
        let given = given?;
        let fits = u32::try_from(given).ok().filter(|most| (1..=MOST_IN_FLIGHT).contains(most));
        if fits.is_none() {
            let problem = Problem::new(path.key("max_in_flight"), "`max_in_flight` is out of range");
            self.add(
                problem.found(given.to_string()).expected(format!("requests in flight, from 1 to {MOST_IN_FLIGHT}")),
            );
        }
        fits
    }

    fn concurrency(&mut self, path: &Path, load: &ConcurrencyFile, longest_timeout: Nanos) -> Load {
        let sweep = path.key("sweep");
        let levels = self.levels(&sweep, &load.sweep, CONCURRENCIES, "requests in flight");
        let ascends = self.ascends(&sweep, &levels);
        if let Some(level) = levels.iter().find(|level| level.fract() != 0.0) {
            let problem = Problem::new(sweep, "a concurrency that is no whole number");
            self.add(problem.found(level.to_string()));
        }
        let hold = self.hold(path, &load.hold, longest_timeout, None, DEFAULT_MIN_SAMPLES);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and within CONCURRENCIES, or a problem was added"
        )]
        let levels = levels.into_iter().map(|level| Level::Concurrency(level as u32)).collect();
        let stop_at_plateau = self.stop_at_plateau(path, load.stop_at_plateau.as_ref(), ascends);
        // A closed loop waits for answers: it has no backlog that could grow.
        Load { levels, hold, max_in_flight: None, stop_at_plateau, end_when_saturated: false, search: None }
    }

    /// Whether there are levels enough to see a plateau in, each above the last. Levels that were refused are no reason
    /// to say a second thing about them.
    fn ascends(&self, sweep: &Path, levels: &[f64]) -> bool {
        let is_refused = self.source.is_blamed(sweep)
            || self.source.is_blamed_within(sweep)
            || self.problems.iter().any(|problem| sweep.leads_to(&problem.path));
        is_refused || levels.len() >= 2 && levels.is_sorted_by(|a, b| a < b)
    }

    fn stop_at_plateau(&mut self, path: &Path, given: Option<&ShareText>, ascends: bool) -> Option<Share> {
        let ShareText(text) = given?;
        let path = path.key("stop_at_plateau");
        if !ascends {
            let message = "a plateau is seen from one level to the next, and these do not ascend";
            let problem = Problem::new(path.clone(), message).found(text);
            self.add(
                problem.hint("give at least two levels in `sweep`, the lowest first, or take `stop_at_plateau` out"),
            );
        }
        quantity::share(text).map_err(|refused| self.not_a_quantity(&path, text, refused)).ok()
    }

    /// The levels of a sweep that are in range; a problem for each that is not, or is there twice.
    fn levels<T: Copy + Into<f64>>(
        &mut self,
        path: &Path,
        sweep: &Sweep<T>,
        range: (f64, f64),
        unit: &str,
    ) -> Vec<f64> {
        if let Sweep::List(levels) = sweep
            && levels.len() > MOST_LEVELS
        {
            // What else is wrong with them is not looked for: there may be any number of them.
            let problem = Problem::new(path.clone(), format!("`{}` has too many levels", path.short()));
            self.add(problem.found(levels.len().to_string()).expected(format!("at most {MOST_LEVELS}")));
            return Vec::new();
        }
        let mut levels: Vec<f64> = match sweep {
            Sweep::List(levels) => levels.iter().map(|&level| level.into()).collect(),
            Sweep::Range(text) => match quantity::range(text) {
                Ok(levels) => levels,
                Err(refused) => {
                    self.not_a_quantity(path, text, refused);
                    return Vec::new();
                }
            },
        };
        if levels.is_empty() {
            self.add(
                Problem::new(path.clone(), format!("`{}` has no levels", path.short())).expected("at least one level"),
            );
        }
        let (least, most) = range;
        for (i, &level) in levels.iter().enumerate() {
            let at = if matches!(sweep, Sweep::List(_)) { path.index(i) } else { path.clone() };
            if !(least..=most).contains(&level) {
                let expected = if level > 0.0 && least < 1.0 && level < least {
                    format!("{unit}, at least one a day")
                } else if least < 1.0 {
                    format!("{unit}, above 0 and at most {most}")
                } else {
                    format!("{unit}, from {least} to {most}")
                };
                let problem = Problem::new(at, format!("a level of `{}` is out of range", path.short()));
                let found = match sweep {
                    Sweep::List(_) => level.to_string(),
                    Sweep::Range(text) => text.clone(),
                };
                self.add(problem.found(found).expected(expected));
                if matches!(sweep, Sweep::Range(_)) {
                    break;
                }
            } else if levels[..i].iter().any(|earlier| earlier.to_bits() == level.to_bits()) {
                let problem = Problem::new(at, format!("`{}` has the level {level} twice", path.short()));
                self.add(
                    problem.hint("each level is measured once; make a second entry of `load` to measure it again"),
                );
            }
        }
        levels.retain(|level| (least..=most).contains(level));
        levels
    }

    /// How long a level is held. `slowest` is the lowest rate of an open-loop sweep: the window may by default grow
    /// until even that gives the samples asked for. `usual` is how many those are where the plan does not say.
    pub(super) fn hold(
        &mut self,
        path: &Path,
        hold: &HoldFile,
        longest_timeout: Nanos,
        slowest: Option<f64>,
        usual: u64,
    ) -> Hold {
        let least = Nanos::from_millis(10);
        let mut given =
            |field: &str, text: &Option<String>, range| self.duration(&path.key(field), text.as_deref(), range);
        let at_least = given("for", &hold.at_least, (least, WEEK));
        let warm_up = given("warm_up", &hold.warm_up, (Nanos::ZERO, DAY));
        let drain = given("drain", &hold.drain, (Nanos::ZERO, DAY));
        let at_most = given("at_most", &hold.at_most, (least, WEEK));

        let window = at_least.unwrap_or(DEFAULT_WINDOW);
        let window_known = at_least.is_some() == hold.at_least.is_some() && !self.source.is_blamed(&path.key("for"));
        if let Some(at_most) = at_most
            && window_known
            && at_most < window
        {
            let message = format!("`at_most` is shorter than `for`, which is {window}");
            self.add(Problem::new(path.key("at_most"), message).found(at_most.to_string()));
        }
        // Without a wish of the user's, no more samples than the lowest rate gives in the longest window.
        let within_reach = slowest.zip(at_most).map(|(rate, at_most)| whole(rate * at_most.as_secs_f64()));
        let default_samples = within_reach.unwrap_or(usual).clamp(1, usual);
        let min_samples = hold.min_samples.unwrap_or(default_samples);
        if !(1..=MOST_SAMPLES).contains(&min_samples) {
            let problem = Problem::new(path.key("min_samples"), "`min_samples` is out of range");
            self.add(problem.found(min_samples.to_string()).expected(format!("from 1 to {MOST_SAMPLES}")));
        }
        let enough = slowest.map(|rate| Nanos::from_secs_f64((min_samples as f64 / rate).ceil() + 1.0));
        let default_most = Nanos(window.0.saturating_mul(AT_MOST_FACTOR)).max(enough.unwrap_or_default()).min(WEEK);
        let at_end = hold.at_end.unwrap_or_default();
        let drain = match at_end {
            EndPolicy::Drain => drain.unwrap_or(longest_timeout),
            EndPolicy::Cancel => {
                if let Some(drain) = &hold.drain {
                    let message = "`drain` is given where `at_end` is `cancel`, which waits for nothing";
                    let problem = Problem::new(path.key("drain"), message).found(drain);
                    self.add(problem.hint("take out one of the two"));
                }
                Nanos::ZERO
            }
        };
        Hold {
            warm_up: warm_up.unwrap_or(DEFAULT_WARM_UP),
            at_least: window,
            min_samples,
            at_most: at_most.unwrap_or(default_most),
            drain,
            at_end,
        }
    }

    /// Limits on the times of tokens can be judged only where tokens are seen to come.
    fn needs_a_stream(&mut self, file: &PlanFile, slo: &SloFile, path: &Path) {
        let streams = file.workloads.iter().any(|(_, workload)| workload.stream.unwrap_or(true));
        if streams || file.workloads.0.is_empty() {
            return;
        }
        for (field, limit) in [("ttft", &slo.ttft), ("tpot", &slo.tpot)] {
            if let Some(limit) = limit {
                let message = format!("`{field}` can never be judged: no workload streams its answers");
                let problem = Problem::new(path.key(field), message).found(limit.clone());
                self.add(problem.hint("limit `e2e` instead, or take `stream: false` out of a workload"));
            }
        }
    }

    pub(super) fn slos(&mut self, file: &PlanFile) -> Vec<Slo> {
        let (key, slos) = match (&file.slo, &file.sla) {
            (Some(slo), None) => ("slo", slo),
            (None, Some(sla)) => ("sla", sla),
            (None, None) => return Vec::new(),
            (Some(slo), Some(_)) => {
                let problem = Problem::new(Path::ROOT.key("sla"), "both `slo` and `sla` are given");
                self.add_key(problem.hint("they mean the same: move everything into `slo`"));
                ("slo", slo)
            }
        };
        let root = Path::ROOT.key(key);
        if !slos.0.is_empty() {
            self.names(&root, slos, "limit");
        }
        let resolve = |(name, slo): (&str, &SloFile)| {
            let path = root.key(name);
            self.needs_a_stream(file, slo, &path);
            self.slo(name, slo, &path)
        };
        slos.iter().map(resolve).collect()
    }

    fn slo(&mut self, name: &str, slo: &SloFile, path: &Path) -> Slo {
        if slo.ttft.is_none() && slo.tpot.is_none() && slo.e2e.is_none() {
            let problem = Problem::new(path.clone(), format!("`{}` limits nothing", path.short()));
            self.add_about_whole(problem.expected("at least one of `ttft`, `tpot` and `e2e`"), Part::Key);
        }
        let mut limit = |field: &str, text: &Option<String>| {
            let range = (Nanos(1), DAY);
            self.duration(&path.key(field), text.as_deref(), range)
        };
        let (ttft, tpot, e2e) = (limit("ttft", &slo.ttft), limit("tpot", &slo.tpot), limit("e2e", &slo.e2e));
        if let (Some(ttft), Some(e2e)) = (ttft, e2e)
            && ttft > e2e
        {
            let message = format!("the limit on TTFT is above that on end-to-end latency, which is {e2e}");
            self.add(Problem::new(path.key("ttft"), message).found(ttft.to_string()));
        }
        let default = Share::new(DEFAULT_SHARE).expect("invariant: 0.99 is a share");
        let share = match &slo.share {
            None => default,
            Some(text) => quantity::share(&text.0).unwrap_or_else(|refused| {
                self.not_a_quantity(&path.key("share"), &text.0, refused);
                default
            }),
        };
        Slo { name: name.to_owned(), ttft, tpot, e2e, share }
    }
}

/// The whole part of a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates; rates and times are not negative"
)]
pub(super) fn whole(count: f64) -> u64 {
    count as u64
}
