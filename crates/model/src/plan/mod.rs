//! The plan: what to measure, resolved once.
//!
//! A `PlanFile` holds the plan as typed; resolution turns it into a [`Plan`] and reports every problem at
//! once. Nothing after that checks again or reads the environment.

pub mod file;
mod limits;
mod named;
mod quantity;
mod render;
mod resolve;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;
use crate::units::{Nanos, RatePerSec, Share, Tokens};

pub use file::{PlanFile, plan_schema};
pub use limits::{Currency, EndPolicy, HttpVersion, Limits, Price, Spend, TimeLimits};
pub use named::Named;
pub use resolve::{DEFAULT_SEED, ResolveContext, resolve, resolve_file};

/// A resolved plan: every check is done, every default filled in. Made by resolution only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// A short name; part of the bundle's folder name.
    pub name: String,
    /// Fixes prompts, lengths and arrivals.
    pub seed: u64,
    /// The model under test.
    pub model: Model,
    /// Where it runs; at least one, names unique.
    pub platforms: Vec<Platform>,
    /// What is sent; at least one, names unique.
    pub workloads: Vec<Workload>,
    /// When it is sent; at least one, each with at least one level or a search.
    pub loads: Vec<Load>,
    /// Latency limits; may be empty, names unique.
    pub slos: Vec<Slo>,
    /// What ends the whole run before all is measured.
    pub limits: Limits,
}

/// The model under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name the platforms know it by.
    pub id: String,
    /// Declared precision (`fp16`, `int4`), for the record only.
    pub precision: Option<String>,
    /// A `tokenizer.json`; without one, prompt lengths are estimates and output counts are the server's.
    pub tokenizer: Option<PathBuf>,
}

/// Something under test: an endpoint, its dialect, and what is declared about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Its name in the plan.
    pub name: String,
    /// Its wire protocol.
    pub dialect: Dialect,
    /// Base URL, `http://` or `https://`, host, optional port, optional path.
    pub url: String,
    /// Bearer key.
    pub key: Option<SecretRef>,
    /// Model name to send, where this platform knows it by another name than [`Model::id`].
    pub model: Option<String>,
    /// Further headers, name and value.
    pub headers: Vec<(String, HeaderText)>,
    /// Further top-level fields of every request body.
    pub body: serde_json::Map<String, serde_json::Value>,
    /// Whether connections are kept.
    pub connection: ConnectionPolicy,
    /// Certificate authorities to trust instead of the system's (PEM file).
    pub ca: Option<PathBuf>,
    /// How output length is held to the target.
    pub length_control: LengthControl,
    /// How long a request may take, phase by phase.
    pub time_limits: TimeLimits,
    /// The version of HTTP spoken.
    pub http: HttpVersion,
    /// Whether the round-trip time is measured beside the load, on connections of its own.
    pub rtt_probe: bool,
    /// What it costs, where the plan says.
    pub price: Option<Price>,
    /// What the user says about it: engine, version, gpu, gpus, batching, region, ... For the record only.
    pub declares: BTreeMap<String, String>,
}

/// A header's value: plain, or a secret by reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// Not secret.
    Plain(String),
    /// From the environment.
    Secret(SecretRef),
}

/// A secret and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRef {
    /// Name of the environment variable; what a saved plan shows as `${NAME}`.
    pub variable: String,
    /// The value.
    pub value: Secret,
}

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// `POST …/v1/chat/completions`.
    OpenaiChat,
    /// `POST …/v1/completions`.
    OpenaiCompletions,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenaiChat, Self::OpenaiCompletions];

    /// As written in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiCompletions => "openai-completions",
        }
    }
}

/// Whether connections are kept between requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionPolicy {
    /// Kept and used again.
    #[default]
    KeepAlive,
    /// A new connection for every request.
    PerRequest,
}

/// How output length is held to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LengthControl {
    /// Ask the platform before the run which of the others it accepts and obeys.
    #[default]
    Auto,
    /// `ignore_eos: true` with `max_tokens`.
    IgnoreEos,
    /// `min_tokens` with `max_tokens`.
    MinTokens,
    /// `max_tokens` alone: the model may stop earlier.
    Natural,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name in the plan.
    pub name: String,
    /// Input tokens per request; at least 1.
    pub input: Tokens,
    /// Output tokens per request; at least 1.
    pub output: Tokens,
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// One entry of `load`: a sweep over levels, or a search for one; each level is held the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The levels, in the order given; none where there is a search, which chooses them as it goes.
    pub levels: Vec<Level>,
    /// How long each is held.
    pub hold: Hold,
    /// Most requests in flight at a time, at least 1; what arrives beyond it is late or dropped and told. Rates only.
    pub max_in_flight: Option<u32>,
    /// The sweep ends at a level whose throughput is less than this share above that of the level before it.
    pub stop_at_plateau: Option<Share>,
    /// Whether a level ends early once the platform is seen to fall behind; never in a closed loop, which has no backlog.
    pub end_when_saturated: bool,
    /// The search that chooses the levels.
    pub search: Option<Search>,
}

/// A search for the highest rate at which an SLO is met: doubling until it is missed, then bisection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Index into [`Plan::slos`].
    pub slo: usize,
    /// The first rate tried.
    pub from: RatePerSec,
    /// The highest rate tried; not below `from`.
    pub at_most: RatePerSec,
    /// The search ends when the lowest rate that missed is at most this share above the highest that met; at
    /// least 0.001 and below 1.
    pub tolerance: Share,
    /// How arrivals are spaced.
    pub arrival: Arrival,
    /// How many more times the rate found is measured, to confirm it; at most 10.
    pub confirm: u32,
}

impl Search {
    /// A search takes at most so many steps, and is left incomplete after them. From one request a day to a hundred
    /// thousand a second, doubling takes 34, bisection to a thousandth 10 and confirmation 10; steps that cannot be
    /// decided and answers that are not confirmed take more.
    pub const MOST_STEPS: usize = 64;
}

/// One load level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// Open loop: arrivals do not wait for answers.
    Rate {
        /// Mean arrivals per second.
        rate: RatePerSec,
        /// How arrivals are spaced.
        arrival: Arrival,
    },
    /// Closed loop: so many requests in flight at any moment; at least 1.
    Concurrency(u32),
}

/// How open-loop arrivals are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Equal gaps.
    #[default]
    Constant,
    /// Exponential gaps.
    Poisson,
}

/// How long a level is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Sent and recorded before the measured window, left out of every figure.
    pub warm_up: Nanos,
    /// The measured window lasts at least this long …
    pub at_least: Nanos,
    /// … and until so many requests were intended in it (open loop) or ended in it (closed loop) …
    pub min_samples: u64,
    /// … but no longer than this.
    pub at_most: Nanos,
    /// How long to wait for open requests after the window; what is still open then is cut. Zero under
    /// [`EndPolicy::Cancel`].
    pub drain: Nanos,
    /// What becomes of the requests that are open when the window ends.
    pub at_end: EndPolicy,
}

/// Latency limits and the share of requests that must meet all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Slo {
    /// Its name in the plan.
    pub name: String,
    /// Limit on TTFT.
    pub ttft: Option<Nanos>,
    /// Limit on TPOT.
    pub tpot: Option<Nanos>,
    /// Limit on end-to-end latency.
    pub e2e: Option<Nanos>,
    /// Share of offered requests that must meet every limit.
    pub share: Share,
}

/// One point: one platform, one workload, one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Index into [`Plan::platforms`].
    pub platform: usize,
    /// Index into [`Plan::workloads`].
    pub workload: usize,
    /// Index into [`Plan::loads`].
    pub load: usize,
    /// The level.
    pub level: Level,
    /// How long it is held.
    pub hold: Hold,
    /// Most requests in flight at a time, as in [`Load::max_in_flight`].
    pub max_in_flight: Option<u32>,
    /// Whether the level ends early once the platform is seen to fall behind.
    pub end_when_saturated: bool,
}

impl Plan {
    /// How many points the run can have at most: those of [`Plan::points`] and every step of every search.
    pub fn most_points(&self) -> usize {
        let searches = self.loads.iter().filter(|load| load.search.is_some()).count();
        self.points().len() + self.platforms.len() * self.workloads.len() * searches * Search::MOST_STEPS
    }

    /// The points in the order in which they are measured: platform by platform, workload by workload, load by load,
    /// level by level. A point's index in this list names it everywhere else. A search has no points here: which levels
    /// it measures is known only when they are measured.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for platform in 0..self.platforms.len() {
            for workload in 0..self.workloads.len() {
                for (load, entry) in self.loads.iter().enumerate() {
                    points.extend(entry.levels.iter().map(|&level| entry.point(platform, workload, load, level)));
                }
            }
        }
        points
    }
}

impl Load {
    /// A level of this load as a point; `load` is its own index in [`Plan::loads`].
    pub fn point(&self, platform: usize, workload: usize, load: usize, level: Level) -> Point {
        Point {
            platform,
            workload,
            load,
            level,
            hold: self.hold,
            max_in_flight: self.max_in_flight,
            end_when_saturated: self.end_when_saturated,
        }
    }
}
