//! Resolution of searches for the highest rate that meets an SLO.

use super::super::file::{HoldFile, RateText, SearchFile};
use super::super::quantity;
use super::super::{Hold, Load, Search, Slo};
use super::Resolver;
use super::load::{DEFAULT_MIN_SAMPLES, RATES, WEEK, whole};
use crate::units::{Nanos, RatePerSec, Share};
use crate::yaml::{Path, Problem};

const DEFAULT_TOLERANCE: f64 = 0.05;
/// Closer than this, a search would never end: chance alone is larger.
const LEAST_TOLERANCE: f64 = 0.001;
const DEFAULT_CONFIRM: u32 = 1;
const MOST_CONFIRM: u32 = 10;

impl Resolver<'_> {
    /// A search; `None` with a problem where what it looks for is not known.
    pub(super) fn search(
        &mut self,
        path: &Path,
        file: &SearchFile,
        slos: &[Slo],
        longest_timeout: Nanos,
    ) -> Option<Load> {
        let slo = self.slo_of(&path.key("slo"), &file.slo, slos);
        let from = self.search_rate(&path.key("from"), &file.from);
        let up_to = self.search_rate(&path.key("up_to"), &file.up_to);
        if let (Some(from), Some(up_to)) = (from, up_to)
            && up_to < from
        {
            let problem = Problem::new(path.key("up_to"), format!("`up_to` is below `from`, which is {from}/s"));
            self.add(problem.found(&file.up_to.0));
        }
        let tolerance = self.tolerance(&path.key("tolerance"), file);
        let confirm = file.confirm.unwrap_or(u64::from(DEFAULT_CONFIRM));
        let confirm = u32::try_from(confirm).ok().filter(|&times| times <= MOST_CONFIRM).unwrap_or_else(|| {
            let problem = Problem::new(path.key("confirm"), "`confirm` is out of range");
            self.add(problem.found(confirm.to_string()).expected(format!("times, from 0 to {MOST_CONFIRM}")));
            DEFAULT_CONFIRM
        });
        let window = self.with_a_window_for_a_rate(path, &file.hold);
        let fewest = slo.and_then(|slo| fewest_to_decide(slos[slo].share)).unwrap_or(1);
        let usual = fewest.max(DEFAULT_MIN_SAMPLES);
        let mut hold = self.hold(path, &window, longest_timeout, from.map(RatePerSec::get), usual);
        if let (Some(slo), Some(from)) = (slo, from)
            && !self.is_hold_refused(path)
            && !self.is_share_refused(&slos[slo].name)
        {
            if file.hold.min_samples.is_none() {
                // What a window given cannot hold is no reason to ask for less than can be decided.
                hold.min_samples = hold.min_samples.max(fewest);
            }
            self.decidable(path, file, &slos[slo], from, &hold, fewest);
        }
        let max_in_flight = self.max_in_flight(path, file.max_in_flight);
        let search = Search {
            slo: slo?,
            from: from?,
            at_most: up_to?,
            tolerance,
            arrival: file.arrival.unwrap_or_default(),
            confirm,
        };
        Some(Load {
            levels: Vec::new(),
            hold,
            max_in_flight,
            stop_at_plateau: None,
            end_when_saturated: file.end_when_saturated.unwrap_or(true),
            search: Some(search),
        })
    }

    /// The index of the SLO of that name.
    fn slo_of(&mut self, path: &Path, name: &str, slos: &[Slo]) -> Option<usize> {
        let Some(index) = slos.iter().position(|slo| slo.name == name) else {
            let problem = Problem::new(path.clone(), "a search for what meets a limit that the plan does not have");
            let problem = problem.found(name);
            let names: Vec<String> = slos.iter().map(|slo| format!("`{}`", slo.name)).collect();
            self.add(match names.as_slice() {
                [] => problem.hint(format!("add it: `slo: {{{}: {{ttft: 500ms, share: 95%}}}}`", if_a_name(name))),
                [one] => problem.expected(one.clone()),
                all => problem.expected(format!("one of {}", all.join(", "))),
            });
            return None;
        };
        if fewest_to_decide(slos[index].share).is_none() {
            let message = format!("`{name}` asks for all requests to be good, which no number of them can show");
            let problem = Problem::new(path.clone(), message).found(name);
            self.add(
                problem.hint("give it a `share` below 100%: 99% takes 381 requests at each rate, 99.9% takes 3838"),
            );
            return None;
        }
        Some(index)
    }

    fn search_rate(&mut self, path: &Path, text: &RateText) -> Option<RatePerSec> {
        let (least, most) = RATES;
        match quantity::rate(&text.0) {
            Ok(rate) if (least..=most).contains(&rate) => RatePerSec::new(rate),
            Ok(_) => {
                let problem = Problem::new(path.clone(), format!("`{}` is out of range", path.short()));
                let expected = format!("requests per second, at least one a day and at most {most}");
                self.add(problem.found(&text.0).expected(expected));
                None
            }
            Err(refused) => {
                self.not_a_quantity(path, &text.0, refused);
                None
            }
        }
    }

    fn tolerance(&mut self, path: &Path, file: &SearchFile) -> Share {
        let default = Share::new(DEFAULT_TOLERANCE).expect("invariant: 0.05 is a share");
        let Some(text) = &file.tolerance else { return default };
        match quantity::share(&text.0) {
            Ok(share) if (LEAST_TOLERANCE..1.0).contains(&share.get()) => share,
            Ok(_) => {
                let problem = Problem::new(path.clone(), "`tolerance` is out of range").found(&text.0);
                self.add(problem.expected("a share, at least 0.1% and below 100%"));
                default
            }
            Err(refused) => {
                self.not_a_quantity(path, &text.0, refused);
                default
            }
        }
    }

    /// The hold as typed. `at_most` is a time in it, as in every load; who writes a rate there means `up_to`, is told so,
    /// and not told as well that a rate is no time.
    fn with_a_window_for_a_rate(&mut self, path: &Path, hold: &HoldFile) -> HoldFile {
        match &hold.at_most {
            Some(text) if quantity::duration(text).is_err() && quantity::rate(text).is_ok() => {
                let message = "`at_most` is the longest time a rate is held, and this is a rate";
                let problem = Problem::new(path.key("at_most"), message).found(text);
                self.add(problem.hint(format!("the highest rate tried is `up_to: {text}`")));
                HoldFile { at_most: None, ..hold.clone() }
            }
            _ => hold.clone(),
        }
    }

    /// `true` if the times and counts of the hold were refused, here or in reading: nothing follows from them then.
    fn is_hold_refused(&self, path: &Path) -> bool {
        let refused = |key: &str| {
            let path = path.key(key);
            self.source.is_blamed(&path) || self.problems.iter().any(|problem| problem.path == path)
        };
        ["for", "at_most", "min_samples"].into_iter().any(refused)
    }

    /// `true` if the share of the SLO of that name was refused: another stands in for it.
    fn is_share_refused(&self, name: &str) -> bool {
        let share = |key: &str| Path::ROOT.key(key).key(name).key("share");
        [share("slo"), share("sla")]
            .iter()
            .any(|path| self.source.is_blamed(path) || self.problems.iter().any(|problem| problem.path == *path))
    }

    /// Each rate has to be held until so many requests were sent that the SLO's share can be shown to be met; the lowest
    /// is the one with the fewest, and without an answer there the search would end with none.
    fn decidable(&mut self, path: &Path, file: &SearchFile, slo: &Slo, from: RatePerSec, hold: &Hold, fewest: u64) {
        let (name, share) = (&slo.name, slo.share);
        let needs = format!("it takes {fewest} to show that {share} of them meet `{name}`");
        if let Some(given) = file.hold.min_samples.filter(|&given| given < fewest) {
            let message = format!("{given} requests are too few: {needs}");
            let problem = Problem::new(path.key("min_samples"), message).found(given.to_string());
            self.add(problem.hint("leave it out, or ask for more"));
            return;
        }
        let fit = from.get() * hold.at_most.as_secs_f64();
        if fit < fewest as f64 {
            let message =
                format!("at {from}/s a window of at most {} holds {} requests, and {needs}", hold.at_most, whole(fit));
            let at = if file.hold.at_most.is_some() { "at_most" } else { "from" };
            let problem = Problem::new(path.key(at), message).found(if at == "from" {
                file.from.0.clone()
            } else {
                hold.at_most.to_string()
            });
            let longer = Nanos::from_secs(whole((fewest as f64 / from.get()).ceil()));
            let longer = (longer <= WEEK).then(|| format!("set `at_most` to {longer} or longer, or "));
            let longer = longer.unwrap_or_default();
            self.add(problem.hint(format!("{longer}set `from` to a higher rate, or lower the `share` of `{name}`")));
            return;
        }
        self.within_reach(path, hold, from.get());
    }
}

/// The fewest requests that can show a share to be met, with every one of them good: then the lower bound of Wilson's 95%
/// interval is n / (n + z²). `None` for a share of all, which none can show.
fn fewest_to_decide(share: Share) -> Option<u64> {
    /// The standard normal deviate of a two-sided 95% interval.
    const Z: f64 = 1.959_963_984_540_054;
    let share = share.get();
    (share < 1.0).then(|| whole((Z * Z * share / (1.0 - share)).ceil()).max(1))
}

/// The name if it can be one; what is no name is not repeated as if it were.
fn if_a_name(name: &str) -> &str {
    let fits = name.starts_with(char::is_alphanumeric)
        && name.chars().count() <= super::LONGEST_NAME
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if fits { name } else { "fast" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_requests_that_can_show_a_share() {
        let fewest = |share: f64| Share::new(share).and_then(fewest_to_decide);
        assert_eq!([0.5, 0.9, 0.95, 0.99, 0.999].map(fewest), [4, 35, 73, 381, 3838].map(Some));
        assert_eq!(fewest(1.0), None);
    }
}
