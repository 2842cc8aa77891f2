//! Resolution of what ends things: the time limits of a request, the limits of a whole run, and prices.

use rust_decimal::Decimal;

use super::super::file::{DecimalText, LimitsFile, PlanFile, PlatformFile, PriceFile, TimeLimitsFile};
use super::super::quantity;
use super::super::{Limits, Platform, Price, Spend, TimeLimits};
use super::Resolver;
use crate::units::{Nanos, Share, Tokens};
use crate::yaml::{Part, Path, Problem};

const SHORTEST_TIMEOUT: Nanos = Nanos::from_millis(1);
const LONGEST_TIMEOUT: Nanos = Nanos::from_secs(24 * 3600);
const SHORTEST_RUN: Nanos = Nanos::from_secs(1);
const LONGEST_RUN: Nanos = Nanos::from_secs(365 * 24 * 3600);
/// Of tokens or requests: more than any run sends.
const MOST: u64 = 1_000_000_000_000_000;

impl Resolver<'_> {
    /// The time limits of the platform at a path.
    pub(super) fn time_limits(&mut self, platform: &Path, file: &PlatformFile) -> TimeLimits {
        let none = TimeLimitsFile::default();
        let limits = file.time_limits.as_ref().unwrap_or(&none);
        let path = platform.key("time_limits");
        let total = match (&limits.total, &file.request_timeout) {
            (Some(_), Some(_)) => {
                let problem = Problem::new(
                    platform.key("request_timeout"),
                    "both `request_timeout` and `total` in `time_limits` are given",
                );
                self.add_key(problem.hint("they mean the same: keep `total`"));
                self.time_limit(&path.key("total"), limits.total.as_deref())
            }
            (None, Some(older)) => self.time_limit(&platform.key("request_timeout"), Some(older)),
            (total, None) => self.time_limit(&path.key("total"), total.as_deref()),
        };
        let connect = self.time_limit(&path.key("connect"), limits.connect.as_deref());
        let first_token = self.time_limit(&path.key("first_token"), limits.first_token.as_deref());
        let between_chunks = self.time_limit(&path.key("between_chunks"), limits.between_chunks.as_deref());

        let given = total.is_some();
        let total = total.unwrap_or(TimeLimits::default().total);
        // A total that was refused is no measure for the others.
        let is_known = given || limits.total.is_none() && file.request_timeout.is_none();
        for (field, limit) in [("connect", connect), ("first_token", first_token), ("between_chunks", between_chunks)] {
            if let Some(limit) = limit
                && is_known
                && limit > total
            {
                let by_default = if given { "" } else { " where the plan gives none" };
                let message = format!("`{field}` is longer than `total`, which is {total}{by_default}");
                let problem = Problem::new(path.key(field), message).found(limit.to_string());
                self.add(problem.hint("set it shorter, or `total` longer"));
            }
        }
        let connect = connect.unwrap_or(TimeLimits::default().connect.min(total));
        TimeLimits { connect, first_token, between_chunks, total }
    }

    fn time_limit(&mut self, path: &Path, text: Option<&str>) -> Option<Nanos> {
        self.duration(path, text, (SHORTEST_TIMEOUT, LONGEST_TIMEOUT))
    }

    /// Limits on the times of tokens can be reached only where tokens are seen to come.
    pub(super) fn time_limits_need_a_stream(&mut self, file: &PlanFile) {
        let streams = file.workloads.iter().any(|(_, workload)| workload.stream.unwrap_or(true));
        if streams || file.workloads.0.is_empty() {
            return;
        }
        for (name, platform) in file.platforms.iter() {
            let path = Path::ROOT.key("platforms").key(name).key("time_limits");
            let Some(limits) = &platform.time_limits else { continue };
            for (field, limit) in [("first_token", &limits.first_token), ("between_chunks", &limits.between_chunks)] {
                if let Some(limit) = limit {
                    let message = format!("`{field}` can never be reached: no workload streams its answers");
                    let problem = Problem::new(path.key(field), message).found(limit);
                    self.add(problem.hint("limit `total` instead, or take `stream: false` out of a workload"));
                }
            }
        }
    }

    /// The limits of the whole run.
    pub(super) fn limits(&mut self, file: &PlanFile, platforms: &[Platform]) -> Limits {
        let Some(limits) = &file.limits else { return Limits::default() };
        let path = Path::ROOT.key("limits");
        if *limits == LimitsFile::default() {
            let problem = Problem::new(path.clone(), "`limits` limits nothing");
            let expected = "at least one of `spend`, `tokens`, `requests`, `time` and `errors`";
            self.add_about_whole(problem.expected(expected), Part::Key);
        }
        for (field, count) in [("tokens", limits.tokens), ("requests", limits.requests)] {
            if let Some(count) = count.filter(|count| !(1..=MOST).contains(count)) {
                let problem = Problem::new(path.key(field), format!("`{field}` is out of range"));
                self.add(problem.found(count.to_string()).expected(format!("from 1 to {MOST}")));
            }
        }
        Limits {
            spend: limits.spend.as_ref().and_then(|text| self.spend(&path.key("spend"), text, file, platforms)),
            tokens: limits.tokens.map(Tokens),
            requests: limits.requests,
            time: self.duration(&path.key("time"), limits.time.as_deref(), (SHORTEST_RUN, LONGEST_RUN)),
            errors: limits.errors.as_ref().and_then(|text| self.errors(&path.key("errors"), &text.0)),
        }
    }

    /// The largest share of failed requests.
    fn errors(&mut self, path: &Path, text: &str) -> Option<Share> {
        match quantity::share_from_zero(text) {
            Ok(share) if share.get() < 1.0 => Some(share),
            Ok(_) => {
                let message = "a limit on failures that can never be passed: all requests may fail";
                let problem = Problem::new(path.clone(), message).found(text);
                self.add(problem.expected("a share below 100%").hint("leave it out where failures should end nothing"));
                None
            }
            Err(refused) => {
                self.not_a_quantity(path, text, refused);
                None
            }
        }
    }

    /// The most that may be spent. What is spent is known only where each platform has a price, and comparable only in
    /// one currency.
    fn spend(&mut self, path: &Path, text: &str, file: &PlanFile, platforms: &[Platform]) -> Option<Spend> {
        let spend = match quantity::spend(text) {
            Ok(spend) => spend,
            Err(refused) => {
                self.not_a_quantity(path, text, refused);
                return None;
            }
        };
        for ((name, typed), platform) in file.platforms.iter().zip(platforms) {
            let at = Path::ROOT.key("platforms").key(name);
            match (&typed.price, &platform.price) {
                (None, _) => {
                    let message = format!("what platform `{name}` costs is not said, and `limits` has a `spend`");
                    let fix = format!(
                        "give it a `price: {{currency: {}, per_hour: …}}` (`per_hour: 0` if it costs nothing), or take \
                         `spend` out",
                        spend.currency
                    );
                    self.add_key(Problem::new(at, message).hint(fix));
                }
                (Some(_), Some(price)) if price.currency != spend.currency => {
                    let message = format!(
                        "the price is in {}, and the `spend` of `limits` in {}",
                        price.currency, spend.currency
                    );
                    let problem =
                        Problem::new(at.key("price").key("currency"), message).found(price.currency.to_string());
                    self.add(problem.hint("give both in one currency: no exchange rate is known here"));
                }
                // A price that was refused has its own problem.
                _ => {}
            }
        }
        let costs_nothing = |platform: &Platform| platform.price.is_some_and(|price| price.is_zero());
        if !platforms.is_empty() && platforms.iter().all(costs_nothing) {
            let message = "a limit that can never be reached: every platform's price is 0";
            self.add(Problem::new(path.clone(), message).found(text).hint("give a price above 0, or take `spend` out"));
        }
        Some(spend)
    }

    /// What the platform costs; `None` with a problem where that cannot be told.
    pub(super) fn price(&mut self, path: &Path, file: &PriceFile) -> Option<Price> {
        let currency = match quantity::currency(&file.currency) {
            Ok(currency) => Some(currency),
            Err(refused) => {
                self.not_a_quantity(&path.key("currency"), &file.currency, refused);
                None
            }
        };
        let figures = [&file.per_hour, &file.per_million_input, &file.per_million_output, &file.per_request];
        if figures.iter().all(|figure| figure.is_none()) {
            let problem = Problem::new(path.clone(), "a price without a figure");
            let expected = "at least one of `per_hour`, `per_million_input`, `per_million_output` and `per_request`";
            self.add_about_whole(problem.expected(expected), Part::Key);
            return None;
        }
        let mut figure = |field: &str, text: &Option<DecimalText>| -> Result<Option<Decimal>, ()> {
            let Some(DecimalText(text)) = text else { return Ok(None) };
            quantity::decimal(text).map(Some).map_err(|refused| self.not_a_quantity(&path.key(field), text, refused))
        };
        let per_hour = figure("per_hour", &file.per_hour);
        let per_million_input = figure("per_million_input", &file.per_million_input);
        let per_million_output = figure("per_million_output", &file.per_million_output);
        let per_request = figure("per_request", &file.per_request);
        Some(Price {
            currency: currency?,
            per_hour: per_hour.ok()?,
            per_million_input: per_million_input.ok()?,
            per_million_output: per_million_output.ok()?,
            per_request: per_request.ok()?,
        })
    }
}
