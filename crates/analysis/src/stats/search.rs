//! The search for the highest rate that meets an SLO: doubling, then bisection, then confirmation.
//!
//! A state machine without a clock: it names the next rate, is told what became of it, and knows the interval that the
//! capacity lies in. Source: the binary search of `MLPerf` `LoadGen` (`FindPeakPerformance`) and its rule to confirm an
//! answer and to step down from one that fails.

use super::proportion::{Z95, wilson95};

/// What one step of the search showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The SLO is met, beyond chance.
    Meets,
    /// The SLO is missed, beyond chance.
    Misses,
    /// Chance could explain either.
    Undecided,
}

/// Whether so many good requests of so many offered meet an SLO's share: its Wilson 95% interval lies at or above the share,
/// below it, or across it. Nothing offered decides nothing.
pub fn verdict(good: u64, offered: u64, share: f64) -> Verdict {
    match wilson95(good, offered) {
        Some((lower, _)) if lower >= share => Verdict::Meets,
        Some((_, upper)) if upper < share => Verdict::Misses,
        _ => Verdict::Undecided,
    }
}

/// The fewest requests with which [`verdict`] can find a share met: as many as it takes when every one is good. A share of 1
/// is never proved; it gets the number for 0.9999.
pub fn fewest_to_meet(share: f64) -> u64 {
    let share = if share.is_finite() { share.clamp(0.0, 0.9999) } else { 0.9999 };
    // With all good, Wilson's lower bound is n / (n + z²).
    let n = (Z95 * Z95 * share / (1.0 - share)).ceil().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 38,411")]
    let n = n as u64;
    n
}

/// The interval a capacity lies in: from the highest rate that meets the SLO to the lowest that misses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Highest rate that met the SLO, requests per second; `None` where not even the lowest one tried did.
    pub meets_rps: Option<f64>,
    /// Lowest rate that missed it beyond chance, requests per second; `None` where none tried did.
    pub misses_rps: Option<f64>,
    /// `true` if the highest rate allowed was met: the capacity may be larger still.
    pub at_most_met: bool,
    /// How often the rate that meets was tried again, and met again.
    pub confirmed: u32,
    /// `true` if nothing is left to try.
    pub complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// No rate has failed yet: each next one is the last times the growth.
    Growing,
    /// One rate is met and another is not: halve what lies between.
    Bisecting,
    /// Try the answer again.
    Confirming,
    Done,
}

/// The search. Ask [`RateSearch::next_rate`], measure at it, [`RateSearch::report`], until there is no next rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSearch {
    from: f64,
    at_most: f64,
    growth: f64,
    tolerance: f64,
    confirm: u32,
    stage: Stage,
    rate: f64,
    /// The last step at this rate could not tell.
    again: bool,
    met: Option<f64>,
    /// Lowest rate not met, whether missed or undecided twice.
    not_met: Option<f64>,
    missed: Option<f64>,
    confirmed: u32,
}

impl RateSearch {
    /// From the rate `from` by doubling up to `at_most`, then by bisection until the bracket is at most `tolerance` of its
    /// lower end (0.01 is a hundredth), then `confirm` more times at the answer. Rates are requests per second above 0; an
    /// `at_most` under `from` is `from`, and a tolerance is held to at least a thousandth so that every search ends.
    pub fn new(from: f64, at_most: f64, tolerance: f64, confirm: u32) -> Self {
        let from = if from.is_finite() && from > 0.0 { from } else { f64::MIN_POSITIVE };
        Self {
            from,
            at_most: at_most.max(from),
            growth: 2.0,
            tolerance: if tolerance.is_finite() { tolerance.clamp(0.001, 1.0) } else { 0.01 },
            confirm,
            stage: Stage::Growing,
            rate: from,
            again: false,
            met: None,
            not_met: None,
            missed: None,
            confirmed: 0,
        }
    }

    /// The same without doubling: the second rate is `at_most`.
    pub fn bracketed(from: f64, at_most: f64, tolerance: f64, confirm: u32) -> Self {
        Self { growth: f64::INFINITY, ..Self::new(from, at_most, tolerance, confirm) }
    }

    /// The rate to measure next, requests per second; `None` at the end. Asking changes nothing.
    pub fn next_rate(&self) -> Option<f64> {
        (self.stage != Stage::Done).then_some(self.rate)
    }

    /// `true` if the next rate was just tried and could not be decided: hold it twice as long.
    pub fn wants_longer(&self) -> bool {
        self.stage != Stage::Done && self.again
    }

    /// What the step at [`RateSearch::next_rate`] showed. A first [`Verdict::Undecided`] asks for the same rate again, held
    /// longer; a second one counts as not met, and leaves open whether that rate misses.
    ///
    /// `rate` is the rate that was measured; one that was not asked for is not an answer and changes nothing.
    pub fn report(&mut self, rate: f64, verdict: Verdict) {
        if self.stage == Stage::Done || rate.total_cmp(&self.rate).is_ne() {
            return;
        }
        match verdict {
            Verdict::Undecided if !self.again => self.again = true,
            Verdict::Meets => {
                self.again = false;
                self.note_met();
            }
            Verdict::Misses | Verdict::Undecided => {
                self.again = false;
                if verdict == Verdict::Misses {
                    self.missed = Some(self.missed.map_or(self.rate, |missed| missed.min(self.rate)));
                }
                self.note_not_met();
            }
        }
    }

    /// The interval as far as it is known.
    pub fn result(&self) -> Capacity {
        let met = |rate: &f64| *rate >= self.at_most;
        Capacity {
            meets_rps: self.met,
            misses_rps: self.missed,
            at_most_met: self.met.as_ref().is_some_and(met),
            confirmed: self.confirmed,
            complete: self.stage == Stage::Done,
        }
    }

    fn note_met(&mut self) {
        self.met = Some(self.rate);
        if self.stage == Stage::Confirming {
            self.confirmed += 1;
            self.confirm_or_end();
        } else if self.rate >= self.at_most {
            self.confirm_or_end();
        } else if self.stage == Stage::Growing {
            self.rate = (self.rate * self.growth).min(self.at_most);
        } else {
            self.halve();
        }
    }

    fn note_not_met(&mut self) {
        self.not_met = Some(self.rate);
        if self.stage == Stage::Confirming {
            self.step_down();
        } else if self.met.is_some() {
            self.stage = Stage::Bisecting;
            self.halve();
        } else {
            self.stage = Stage::Done;
        }
    }

    /// The middle of the bracket, or the confirmation once it is narrow enough.
    fn halve(&mut self) {
        let (Some(low), Some(high)) = (self.met, self.not_met) else { return };
        if high - low <= self.tolerance * low {
            self.confirm_or_end();
        } else {
            self.rate = f64::midpoint(low, high);
        }
    }

    fn confirm_or_end(&mut self) {
        self.stage = if self.confirmed < self.confirm { Stage::Confirming } else { Stage::Done };
        self.rate = self.met.unwrap_or(self.from);
    }

    /// The answer was not confirmed: what it said before was chance, and a step lower has to be shown afresh.
    fn step_down(&mut self) {
        self.met = None;
        self.confirmed = 0;
        let lower = self.rate * (1.0 - self.tolerance);
        if self.rate <= self.from {
            self.stage = Stage::Done;
        } else {
            self.rate = lower.max(self.from);
            // At least one pass is needed for the lower rate to be an answer at all; `note_met` counts it.
            self.stage = Stage::Confirming;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search to its end against a rule and gives the rates tried.
    fn run(search: &mut RateSearch, mut rule: impl FnMut(f64) -> Verdict) -> Vec<f64> {
        let mut tried = Vec::new();
        while let Some(rate) = search.next_rate() {
            tried.push(rate);
            assert!(tried.len() < 500, "does not end: {tried:?}");
            search.report(rate, rule(rate));
        }
        tried
    }

    fn below(limit: f64) -> impl Fn(f64) -> Verdict {
        move |rate| if rate <= limit { Verdict::Meets } else { Verdict::Misses }
    }

    #[test]
    fn doubles_then_halves() {
        let mut search = RateSearch::new(1.0, 100.0, 0.1, 2);
        let tried = run(&mut search, below(5.2));
        assert_eq!(tried, [1.0, 2.0, 4.0, 8.0, 6.0, 5.0, 5.5, 5.0, 5.0]);
        let found = search.result();
        assert_eq!((found.meets_rps, found.misses_rps), (Some(5.0), Some(5.5)));
        assert_eq!((found.confirmed, found.complete, found.at_most_met), (2, true, false));
    }

    /// A rate that cannot be decided is tried twice, ends no bracket as a miss, and is not called met.
    #[test]
    fn what_is_undecided_is_neither() {
        let mut search = RateSearch::new(1.0, 8.0, 0.5, 0);
        let tried = run(&mut search, |rate| match rate {
            rate if rate < 3.5 => Verdict::Meets,
            rate if rate < 7.0 => Verdict::Undecided,
            _ => Verdict::Misses,
        });
        assert_eq!(tried, [1.0, 2.0, 4.0, 4.0, 3.0]);
        assert_eq!((search.result().meets_rps, search.result().misses_rps), (Some(3.0), None));
        let mut longer = RateSearch::new(1.0, 8.0, 0.5, 0);
        longer.report(1.0, Verdict::Undecided);
        assert!(longer.wants_longer());
        longer.report(1.0, Verdict::Meets);
        assert!(!longer.wants_longer() && longer.next_rate() == Some(2.0));
    }

    /// The first three passes at 4 were luck.
    #[test]
    fn a_failed_confirmation_steps_down() {
        let mut search = RateSearch::new(4.0, 4.0, 0.25, 2);
        search.report(4.0, Verdict::Meets);
        search.report(4.0, Verdict::Misses);
        // Nothing lies below the lowest rate allowed.
        assert_eq!((search.next_rate(), search.result().meets_rps), (None, None));
        let (mut search, mut at_eight) = (RateSearch::new(4.0, 8.0, 0.25, 2), 0);
        let tried = run(&mut search, |rate| {
            at_eight += u32::from(rate >= 8.0);
            if rate >= 8.0 && at_eight > 2 { Verdict::Misses } else { Verdict::Meets }
        });
        assert_eq!(tried, [4.0, 8.0, 8.0, 8.0, 6.0, 6.0]);
        let found = search.result();
        assert_eq!((found.meets_rps, found.misses_rps, found.at_most_met), (Some(6.0), Some(8.0), false));
    }

    #[test]
    fn an_answer_to_another_question_changes_nothing() {
        let mut search = RateSearch::new(1.0, 8.0, 0.1, 0);
        let before = search.clone();
        search.report(2.0, Verdict::Misses);
        assert_eq!(search, before);
    }

    #[test]
    fn chance_decides_nothing() {
        assert_eq!(verdict(100, 100, 0.99), Verdict::Undecided);
        assert_eq!(verdict(400, 400, 0.99), Verdict::Meets);
        assert_eq!(verdict(380, 400, 0.99), Verdict::Misses);
        assert_eq!(verdict(0, 0, 0.5), Verdict::Undecided);
    }

    #[test]
    fn the_fewest_are_just_enough() {
        for share in [0.0, 0.5, 0.9, 0.95, 0.99, 0.999] {
            let fewest = fewest_to_meet(share);
            assert_eq!(verdict(fewest, fewest, share), Verdict::Meets, "{share}");
            assert!(fewest == 1 || verdict(fewest - 1, fewest - 1, share) != Verdict::Meets, "{share}");
        }
        assert_eq!((fewest_to_meet(0.99), fewest_to_meet(0.95)), (381, 73));
    }
}
