//! A resolved plan as YAML that resolves to the same plan again. Secrets stay references.

use rust_decimal::Decimal;

use super::file::{
    ConcurrencyFile, DecimalText, HeaderFile, HoldFile, LimitsFile, LoadFile, ModelFile, PlanFile, PlatformFile,
    PriceFile, RateFile, RateText, SearchFile, ShareText, SloFile, Sweep, TimeLimitsFile, VERSION, WorkloadFile,
};
use super::quantity::share_text;
use super::{EndPolicy, HeaderText, Hold, Level, Limits, Load, Plan, Platform, Price, SecretRef, Slo, TimeLimits};
use crate::units::{Nanos, RatePerSec};
use crate::yaml;

impl Plan {
    /// The plan as resolved, every default spelled out, as YAML.
    ///
    /// It resolves to the same plan where the same environment variables are set. Paths are written as resolved: they
    /// hold anywhere if the plan was resolved against an absolute folder.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(self.to_file()).expect("invariant: a plan has string keys and finite numbers");
        yaml::to_string(&value)
    }

    /// The plan as resolved, in the form in which it is typed.
    pub fn to_file(&self) -> PlanFile {
        PlanFile {
            kneepoint: VERSION,
            name: Some(self.name.clone()),
            seed: Some(self.seed),
            model: ModelFile {
                id: self.model.id.clone(),
                precision: self.model.precision.clone(),
                tokenizer: self.model.tokenizer.as_ref().map(|path| path.to_string_lossy().into_owned()),
            },
            platforms: self.platforms.iter().map(|p| (p.name.clone(), platform(p))).collect(),
            workloads: self.workloads.iter().map(|w| (w.name.clone(), workload(w))).collect(),
            load: self.loads.iter().flat_map(|load| self.load(load)).collect(),
            slo: (!self.slos.is_empty()).then(|| self.slos.iter().map(|s| (s.name.clone(), slo(s))).collect()),
            sla: None,
            limits: (!self.limits.is_empty()).then(|| limits(&self.limits)),
        }
    }

    fn load(&self, load: &Load) -> Vec<LoadFile> {
        let Some(found) = &load.search else { return sweeps(load) };
        let rate = |rate: RatePerSec| RateText(format!("{rate}/s"));
        let search = SearchFile {
            slo: self.slos[found.slo].name.clone(),
            from: rate(found.from),
            up_to: rate(found.at_most),
            tolerance: Some(ShareText(share_text(found.tolerance))),
            confirm: Some(u64::from(found.confirm)),
            arrival: Some(found.arrival),
            max_in_flight: load.max_in_flight.map(u64::from),
            end_when_saturated: Some(load.end_when_saturated),
            hold: hold(&load.hold),
        };
        vec![LoadFile { search: Some(search), ..LoadFile::default() }]
    }
}

fn reference(secret: &SecretRef) -> String {
    format!("${{{}}}", secret.variable)
}

fn platform(platform: &Platform) -> PlatformFile {
    let header = |(name, value): &(String, HeaderText)| {
        let text = match value {
            HeaderText::Plain(text) => text.clone(),
            HeaderText::Secret(secret) => reference(secret),
        };
        (name.clone(), HeaderFile(text))
    };
    PlatformFile {
        dialect: Some(platform.dialect),
        url: platform.url.clone(),
        key: platform.key.as_ref().map(reference),
        model: platform.model.clone(),
        headers: (!platform.headers.is_empty()).then(|| platform.headers.iter().map(header).collect()),
        body: (!platform.body.is_empty()).then(|| platform.body.clone()),
        connection: Some(platform.connection),
        http: Some(platform.http),
        ca: platform.ca.as_ref().map(|path| path.to_string_lossy().into_owned()),
        length_control: Some(platform.length_control),
        time_limits: Some(time_limits(&platform.time_limits)),
        request_timeout: None,
        rtt_probe: Some(platform.rtt_probe),
        price: platform.price.as_ref().map(price),
        declares: (!platform.declares.is_empty()).then(|| platform.declares.clone().into_iter().collect()),
    }
}

fn time_limits(limits: &TimeLimits) -> TimeLimitsFile {
    let text = |limit: Nanos| limit.to_string();
    TimeLimitsFile {
        connect: Some(text(limits.connect)),
        first_token: limits.first_token.map(text),
        between_chunks: limits.between_chunks.map(text),
        total: Some(text(limits.total)),
    }
}

fn price(price: &Price) -> PriceFile {
    let text = |figure: Decimal| DecimalText(figure.to_string());
    PriceFile {
        currency: price.currency.to_string(),
        per_hour: price.per_hour.map(text),
        per_million_input: price.per_million_input.map(text),
        per_million_output: price.per_million_output.map(text),
        per_request: price.per_request.map(text),
    }
}

fn limits(limits: &Limits) -> LimitsFile {
    LimitsFile {
        spend: limits.spend.map(|spend| spend.to_string()),
        tokens: limits.tokens.map(|tokens| tokens.0),
        requests: limits.requests,
        time: limits.time.map(|time| time.to_string()),
        errors: limits.errors.map(|share| ShareText(share_text(share))),
    }
}

fn workload(workload: &super::Workload) -> WorkloadFile {
    WorkloadFile { input: workload.input.0, output: workload.output.0, stream: Some(workload.stream) }
}

/// One entry for each run of levels of one kind; a resolved load has one kind only.
fn sweeps(load: &Load) -> Vec<LoadFile> {
    let kind = |level: &Level| match level {
        Level::Rate { arrival, .. } => Some(*arrival),
        Level::Concurrency(_) => None,
    };
    let alike = |levels: &[Level]| {
        let rates = levels.iter().filter_map(|level| match level {
            Level::Rate { rate, .. } => Some(rate.get()),
            Level::Concurrency(_) => None,
        });
        let concurrencies = levels.iter().filter_map(|level| match level {
            Level::Concurrency(concurrency) => Some(*concurrency),
            Level::Rate { .. } => None,
        });
        let hold = hold(&load.hold);
        let stop_at_plateau = load.stop_at_plateau.map(|share| ShareText(share_text(share)));
        match levels.first().and_then(kind) {
            Some(arrival) => LoadFile {
                rate: Some(RateFile {
                    sweep: Sweep::List(rates.collect()),
                    arrival: Some(arrival),
                    max_in_flight: load.max_in_flight.map(u64::from),
                    stop_at_plateau,
                    end_when_saturated: Some(load.end_when_saturated),
                    hold,
                }),
                ..LoadFile::default()
            },
            None => LoadFile {
                concurrency: Some(ConcurrencyFile {
                    sweep: Sweep::List(concurrencies.collect()),
                    stop_at_plateau,
                    hold,
                }),
                ..LoadFile::default()
            },
        }
    };
    load.levels.chunk_by(|a, b| kind(a) == kind(b)).map(alike).collect()
}

fn hold(hold: &Hold) -> HoldFile {
    HoldFile {
        at_least: Some(hold.at_least.to_string()),
        min_samples: Some(hold.min_samples),
        warm_up: Some(hold.warm_up.to_string()),
        drain: (hold.at_end == EndPolicy::Drain).then(|| hold.drain.to_string()),
        at_end: Some(hold.at_end),
        at_most: Some(hold.at_most.to_string()),
    }
}

fn slo(slo: &Slo) -> SloFile {
    let text = |limit: Nanos| limit.to_string();
    SloFile {
        ttft: slo.ttft.map(text),
        tpot: slo.tpot.map(text),
        e2e: slo.e2e.map(text),
        share: Some(ShareText(share_text(slo.share))),
    }
}
