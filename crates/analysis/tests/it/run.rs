//! Runs made up for the tests: a plan, its facts and records to order.

use std::collections::BTreeMap;
use std::path::Path;

use kneepoint_analysis::{RunFacts, summarise};
use kneepoint_model::bundle::{
    Calibration, Environment, Host, Loss, Manifest, PointEnd, PointEnded, RunStatus, SearchPoint, TelemetrySample,
};
use kneepoint_model::plan::{ResolveContext, resolve};
use kneepoint_model::record::{
    Bytes, Connection, InputTokens, Outcome, OutputTokens, Phase, ServerTiming, TokenEvents,
};
use kneepoint_model::summary::{PointSummary, Summary};
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Plan, Record, Side, Tokens};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;
/// Length of the warm-up of every made-up point.
pub(crate) const WARM_UP: u64 = 5 * SECOND;
/// Length of its measured window.
pub(crate) const WINDOW: u64 = 60 * SECOND;
/// Tokens of every answer.
pub(crate) const TOKENS: u64 = 11;

/// Two points: the first holds 20 requests a second, the second 4 in flight.
pub(crate) fn plan(workload: &str) -> Plan {
    // A plan in which no answer streams may not limit the times of tokens; what becomes of such limits is looked at
    // all the same, since in a plan of several workloads they stand beside one that does not stream.
    let (workload, streams) = (workload.replace(", stream: false", ""), !workload.contains("stream: false"));
    let text = format!(
        "kneepoint: 1
name: made-up
model: {{id: m}}
platforms:
  p: {{dialect: openai-chat, url: 'http://127.0.0.1:9', request_timeout: 10s}}
workloads:
  w: {{input: 100, output: {TOKENS}{workload}}}
load:
  - rate: {{sweep: [20], for: 60s, warm_up: 5s, min_samples: 1000}}
  - concurrency: {{sweep: [4], for: 60s, warm_up: 5s, min_samples: 100}}
slo:
  tight: {{ttft: 200ms, tpot: 25ms, share: 90%}}
  whole: {{e2e: 2s, share: 99%}}
"
    );
    let context = ResolveContext { base_dir: Path::new("/"), env: &|_| None };
    let mut plan = resolve("plan.yaml", &text, &context).unwrap_or_else(|problems| panic!("{problems}"));
    plan.workloads[0].stream = streams;
    plan
}

/// A run of the first point.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) ended: PointEnded,
    pub(crate) records: Vec<Record>,
    pub(crate) loss: Option<Loss>,
    pub(crate) environment: Environment,
    pub(crate) calibration: Option<Calibration>,
    pub(crate) searches: BTreeMap<u32, SearchPoint>,
    pub(crate) telemetry: Vec<TelemetrySample>,
}

impl Run {
    /// One which nothing can be said against: 20 requests a second, every answer complete and as asked for.
    pub(crate) fn clean() -> Self {
        let records: Vec<Record> = (0..20 * (WARM_UP + WINDOW) / SECOND).map(|i| answer(i, i * SECOND / 20)).collect();
        Self {
            plan: plan(""),
            ended: PointEnded {
                point: 0,
                started: Nanos(0),
                window_start: Nanos(WARM_UP),
                window_end: Nanos(WARM_UP + WINDOW),
                ended: Nanos(WARM_UP + WINDOW + SECOND),
                scheduled: 20 * WINDOW / SECOND,
                unsent: 0,
                interrupted: false,
                end: PointEnd::Planned,
                held_back: 0,
                clock_mapping_error: None,
                search: None,
                dropped: 0,
                worker_cpu_share: Some(0.2),
                worker_wait_share: Some(0.001),
                process_cpu_share: Some(0.1),
            },
            records,
            loss: None,
            environment: Environment::default(),
            calibration: None,
            searches: BTreeMap::new(),
            telemetry: Vec::new(),
        }
    }

    /// Changes every record.
    pub(crate) fn each(mut self, change: impl Fn(&mut Record)) -> Self {
        self.records.iter_mut().for_each(change);
        self
    }

    /// Changes every `step`-th record.
    pub(crate) fn every(mut self, step: usize, change: impl Fn(&mut Record)) -> Self {
        self.records.iter_mut().step_by(step).for_each(change);
        self
    }

    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            format: String::new(),
            tool: String::new(),
            name: self.plan.name.clone(),
            seed: 1,
            started: "2026-11-30T08:15:00Z".into(),
            started_unix_s: 0.0,
            ended: None,
            status: RunStatus::Complete,
            host: Host::default(),
            git: None,
            clock: "read".into(),
            points: 2,
            skipped: Vec::new(),
            limit: None,
            calibration: self.calibration,
            sha256: BTreeMap::new(),
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        let manifest = self.manifest();
        let facts = RunFacts {
            plan: &self.plan,
            manifest: &manifest,
            environment: &self.environment,
            points: &[self.ended],
            searches: &self.searches,
            telemetry: &self.telemetry,
            loss: self.loss,
        };
        summarise(&facts, self.records.iter().cloned())
    }

    pub(crate) fn point(&self) -> PointSummary {
        self.summary().points.remove(0)
    }
}

/// A complete answer to a request intended at an instant: first token after 100 to 300 ms, then ten more, 20 ms apart.
pub(crate) fn answer(index: u64, intended: u64) -> Record {
    // A fixed scatter without a trend.
    let ttft = 100 * MS + index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (200 * MS);
    let first = intended + MS / 10 + ttft;
    let gaps = vec![20 * MS; 10];
    let last = first + gaps.iter().sum::<u64>();
    Record {
        point: 0,
        index,
        phase: if intended < WARM_UP { Phase::WarmUp } else { Phase::Measured },
        intended: Nanos(intended),
        dispatched: Nanos(intended + MS / 20),
        connection: Connection { reused: true, ..Connection::default() },
        sent: Some(Nanos(intended + MS / 10)),
        written: Some(Nanos(intended + MS / 10)),
        first_byte: Some(Nanos(first)),
        events: TokenEvents { first: Some(Nanos(first)), gaps, tokens: Vec::new(), first_answer: None },
        closed: Some(Nanos(last + MS / 10)),
        status: Some(200),
        outcome: Outcome::Ok,
        finish: Some("length".into()),
        input_tokens: InputTokens { target: Tokens(100), server: Some(Tokens(101)), ..InputTokens::default() },
        output_tokens: OutputTokens { target: Tokens(TOKENS), server: Some(Tokens(TOKENS)), ..OutputTokens::default() },
        bytes: Bytes { sent: 500, received: 2_000 },
        server: ServerTiming::default(),
        read_delay: None,
        oddities: 0,
    }
}

/// Makes a record that of a refused request.
pub(crate) fn refuse(record: &mut Record) {
    record.outcome = Outcome::Failed(Failure {
        kind: FailureKind::Http { status: 429, retry_after_s: Some(1) },
        side: Side::Server,
        at: FailurePoint::Wait,
        when: Nanos(record.intended.0 + 3 * MS),
        detail: "slow down".into(),
    });
    record.events = TokenEvents::default();
    record.output_tokens.server = None;
    record.closed = None;
    record.status = Some(429);
}
