//! What a run has used of its limits: requests, tokens, money, time, failures.
//!
//! A request is charged its planned tokens when it is sent and what it really used once it ends, so that what is under way
//! counts as well: the limit on tokens or money is not passed by what is still to come. A failure before the first token
//! is charged no tokens; whatever broke off later is charged its input and the token events that came.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use kneepoint_analysis::stats::proportion::wilson95;
use kneepoint_model::bundle::{LimitKind, LimitReached};
use kneepoint_model::plan::{Limits, Price};
use kneepoint_model::record::Outcome;
use kneepoint_model::{Nanos, Plan, Record, Tokens};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

const NS_PER_HOUR: u64 = 3_600_000_000_000;

/// The account of one run. Written by every worker, without a lock.
#[derive(Debug)]
pub(crate) struct Account {
    limits: Limits,
    platforms: Vec<Usage>,
    started: OnceLock<Nanos>,
    requests: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    reached: OnceLock<LimitReached>,
}

/// What one platform was used.
#[derive(Debug, Default)]
struct Usage {
    price: Option<Price>,
    requests: AtomicU64,
    /// Used, or reserved by what is under way.
    input: AtomicU64,
    output: AtomicU64,
    /// Time in points that have ended, ns.
    active: AtomicU64,
    /// Start of the point under way, ns + 1; 0 for none.
    since: AtomicU64,
}

/// What was reserved for a request, to be settled once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reserved {
    input: u64,
    output: u64,
}

impl Account {
    pub(crate) fn new(plan: &Plan) -> Self {
        let platforms = plan.platforms.iter().map(|platform| Usage { price: platform.price, ..Usage::default() });
        Self {
            limits: plan.limits.clone(),
            platforms: platforms.collect(),
            started: OnceLock::new(),
            requests: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            reached: OnceLock::new(),
        }
    }

    /// The limit that was reached, if one was.
    pub(crate) fn reached(&self) -> Option<LimitReached> {
        self.reached.get().copied()
    }

    /// A point on `platform` begins.
    pub(crate) fn begin(&self, platform: usize, now: Nanos) {
        let _ = self.started.set(now);
        self.platforms[platform].since.store(now.0 + 1, Ordering::Release);
    }

    /// The point on `platform` has ended.
    pub(crate) fn end(&self, platform: usize, now: Nanos) {
        let usage = &self.platforms[platform];
        let since = usage.since.swap(0, Ordering::AcqRel);
        if since > 0 {
            usage.active.fetch_add((now.0 + 1).saturating_sub(since), Ordering::AcqRel);
        }
    }

    /// Charges a request that is about to be sent; `None` if a limit forbids it.
    pub(crate) fn admit(&self, platform: usize, input: Tokens, output: Tokens, now: Nanos) -> Option<Reserved> {
        if self.limits.is_empty() {
            return Some(Reserved::default());
        }
        let reserved = Reserved { input: input.0, output: output.0 };
        let usage = &self.platforms[platform];
        self.requests.fetch_add(1, Ordering::AcqRel);
        usage.requests.fetch_add(1, Ordering::AcqRel);
        usage.input.fetch_add(reserved.input, Ordering::AcqRel);
        usage.output.fetch_add(reserved.output, Ordering::AcqRel);
        let Some(passed) = self.passed_by_sending(now) else { return Some(reserved) };
        self.requests.fetch_sub(1, Ordering::AcqRel);
        usage.requests.fetch_sub(1, Ordering::AcqRel);
        usage.input.fetch_sub(reserved.input, Ordering::AcqRel);
        usage.output.fetch_sub(reserved.output, Ordering::AcqRel);
        let _ = self.reached.set(passed);
        None
    }

    /// Puts what a request really used in the place of what was reserved for it.
    pub(crate) fn settle(&self, platform: usize, reserved: Reserved, record: &Record) {
        if self.limits.is_empty() {
            return;
        }
        if record.outcome != Outcome::Cut {
            self.ended.fetch_add(1, Ordering::AcqRel);
        }
        if matches!(record.outcome, Outcome::Failed(_)) {
            self.failed.fetch_add(1, Ordering::AcqRel);
        }
        let used = used(record);
        let usage = &self.platforms[platform];
        for (sum, reserved, used) in
            [(&usage.input, reserved.input, used.input), (&usage.output, reserved.output, used.output)]
        {
            // Added first, so that the sum never dips below what was used.
            sum.fetch_add(used, Ordering::AcqRel);
            sum.fetch_sub(reserved, Ordering::AcqRel);
        }
    }

    /// Looks at the limits that are reached by waiting, not by sending: time, errors, and money by the hour.
    pub(crate) fn look(&self, now: Nanos) -> Option<LimitReached> {
        let passed = self.time(now).or_else(|| self.errors()).or_else(|| self.spend(now));
        if let Some(passed) = passed {
            let _ = self.reached.set(passed);
        }
        self.reached()
    }

    fn passed_by_sending(&self, now: Nanos) -> Option<LimitReached> {
        let over = |limit: LimitKind, used: u64, allowed: Option<u64>| {
            let allowed = allowed.filter(|allowed| used > *allowed)?;
            // The request that would pass the limit is not sent: the limit itself is what was reached.
            Some(LimitReached { limit, observed: allowed as f64, allowed: allowed as f64 })
        };
        let sum = |part: fn(&Usage) -> &AtomicU64| {
            self.platforms.iter().map(|usage| part(usage).load(Ordering::Acquire)).sum::<u64>()
        };
        let requests = self.requests.load(Ordering::Acquire);
        over(LimitKind::Requests, requests, self.limits.requests)
            .or_else(|| {
                let allowed = self.limits.tokens?;
                over(LimitKind::Tokens, sum(|usage| &usage.input) + sum(|usage| &usage.output), Some(allowed.0))
            })
            .or_else(|| self.spend(now))
    }

    fn time(&self, now: Nanos) -> Option<LimitReached> {
        let (allowed, started) = (self.limits.time?, *self.started.get()?);
        let run = now.saturating_sub(started);
        let seconds = (run.as_secs_f64(), allowed.as_secs_f64());
        (run >= allowed).then_some(LimitReached { limit: LimitKind::Time, observed: seconds.0, allowed: seconds.1 })
    }

    /// Errors end a run once their share is above the limit beyond chance: one failure at the start proves nothing.
    fn errors(&self) -> Option<LimitReached> {
        let allowed = self.limits.errors?.get();
        let failed = self.failed.load(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire).max(failed);
        let (lower, _) = wilson95(failed, ended)?;
        let observed = failed as f64 / ended as f64;
        (lower > allowed).then_some(LimitReached { limit: LimitKind::Errors, observed, allowed })
    }

    fn spend(&self, now: Nanos) -> Option<LimitReached> {
        let allowed = self.limits.spend?.amount;
        let spent: Decimal = self.platforms.iter().filter_map(|usage| usage.cost(now)).sum();
        (spent > allowed).then(|| LimitReached {
            limit: LimitKind::Spend,
            observed: spent.to_f64().unwrap_or(f64::MAX),
            allowed: allowed.to_f64().unwrap_or(f64::MAX),
        })
    }
}

impl Usage {
    /// Units of the price's currency; `None` without a price.
    fn cost(&self, now: Nanos) -> Option<Decimal> {
        let price = self.price?;
        let since = self.since.load(Ordering::Acquire);
        let under_way = if since > 0 { (now.0 + 1).saturating_sub(since) } else { 0 };
        let active = self.active.load(Ordering::Acquire) + under_way;
        let parts = [
            (price.per_hour, active, NS_PER_HOUR),
            (price.per_million_input, self.input.load(Ordering::Acquire), 1_000_000),
            (price.per_million_output, self.output.load(Ordering::Acquire), 1_000_000),
            (price.per_request, self.requests.load(Ordering::Acquire), 1),
        ];
        Some(parts.into_iter().filter_map(|(price, count, of)| part(price?, count, of)).sum())
    }
}

/// `price` × `count` ÷ `of`; what does not fit a decimal is past any limit.
fn part(price: Decimal, count: u64, of: u64) -> Option<Decimal> {
    let product = price.checked_mul(Decimal::from(count)).unwrap_or(Decimal::MAX);
    product.checked_div(Decimal::from(of))
}

/// Tokens that a finished request used, by the best count there is.
fn used(record: &Record) -> Reserved {
    let events = record.events.len() as u64;
    let reached_server = record.outcome.is_ok() || events > 0;
    if !reached_server {
        return Reserved::default();
    }
    let input = record.input_tokens.server.or(record.input_tokens.local).unwrap_or(record.input_tokens.target);
    let planned = if record.outcome.is_ok() { record.output_tokens.target.0 } else { events };
    Reserved { input: input.0, output: record.output_tokens.server.map_or(planned, |tokens| tokens.0) }
}
