//! The bundle: names, formats and versions of the files one run leaves. No I/O here: `load` writes, `store` reads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{Arrival, HttpVersion, LengthControl};
use crate::units::Nanos;

/// The plan as resolved, secrets as references.
pub const PLAN: &str = "plan.yaml";
/// [`Manifest`].
pub const MANIFEST: &str = "manifest.json";
/// [`Environment`].
pub const ENVIRONMENT: &str = "environment.json";
/// [`PointEvent`] lines: where each point began and ended. Append-only.
pub const POINTS: &str = "points.jsonl";
/// [`crate::Record`] lines in independent zstd frames, one frame a flush. Append-only.
pub const REQUESTS: &str = "requests.jsonl.zst";
/// [`TelemetrySample`] lines in independent zstd frames. Append-only.
pub const TELEMETRY: &str = "telemetry.jsonl.zst";
/// [`crate::summary::Summary`].
pub const SUMMARY: &str = "summary.json";
/// The report as one HTML file.
pub const REPORT_HTML: &str = "report.html";
/// The report as Markdown.
pub const REPORT_MD: &str = "report.md";

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "kneepoint.bundle/1";

/// Response header by which a simulated platform says what it is.
pub const SIMULATED_HEADER: &str = "x-kneepoint-simulated";

/// Longest the journal holds records back, and so the most a killed run loses.
pub const FLUSH_EVERY: Nanos = Nanos::from_secs(1);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Still going, or killed: a manifest that says so at rest belongs to a killed run.
    Running,
    /// Every point was measured.
    Complete,
    /// Stopped by the user; the bundle holds what was measured until then.
    Interrupted,
    /// Ended by one of the plan's limits; the bundle holds what was measured until then.
    LimitReached,
    /// Ended early by an error of its own (disk full, say); the bundle holds what was written until then.
    Failed,
}

/// `manifest.json`: what made this bundle and how to know it is whole. Written at the start and again at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `kneepoint.bundle/1`.
    pub format: String,
    /// Version of the tool.
    pub tool: String,
    /// The plan's name.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Start, seconds since the Unix epoch.
    pub started_unix_s: f64,
    /// End, UTC, RFC 3339; `None` while running.
    pub ended: Option<String>,
    /// How it ended.
    pub status: RunStatus,
    /// The client's machine.
    pub host: Host,
    /// The git state of the folder the plan lies in, where it is in a repository.
    pub git: Option<GitState>,
    /// Where arrival times come from: `kernel` or `read`.
    pub clock: String,
    /// Points in the plan; those that searches add are not counted.
    pub points: usize,
    /// Points of the plan that were left out because their sweep had reached its plateau.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<u32>,
    /// The limit that ended the run, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// What the client itself adds at the plan's largest load, measured before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// SHA-256 of every other file, in hex; empty while running. Reports can be made anew and are not listed.
    pub sha256: BTreeMap<String, String>,
}

/// A limit of the plan on the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Money, in the limit's currency.
    Spend,
    /// Input and output tokens.
    Tokens,
    /// Requests sent.
    Requests,
    /// Seconds since the start of the first point.
    Time,
    /// Share of failed requests.
    Errors,
}

/// The limit that ended a run, in the unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReached {
    /// Which.
    pub limit: LimitKind,
    /// What had been reached when the run was ended.
    pub observed: f64,
    /// What the plan allows.
    pub allowed: f64,
}

/// What the client adds to latencies, against a server of known timing inside its own process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Streams at a time.
    pub streams: u32,
    /// Token events per second, all streams together.
    pub token_events_s: f64,
    /// Answers measured.
    pub samples: u64,
    /// Added to TTFT.
    pub ttft_added_ms: AddedDelay,
    /// Added to the gaps between events, either way.
    pub itl_added_ms: AddedDelay,
    /// How late the server itself was at the 99th percentile, ms: below this nothing can be told of the client.
    pub server_late_p99_ms: f64,
}

/// A delay added by the client, ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedDelay {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// The client's machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and release.
    pub os: String,
    /// CPU architecture.
    pub arch: String,
    /// Processor's name, where the system tells.
    pub cpu: Option<String>,
    /// Logical cores available to the process.
    pub cores: usize,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
}

/// The git state of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// Commit id.
    pub commit: String,
    /// SHA-256 of `git diff HEAD`, if there is a difference.
    pub dirty_diff_sha256: Option<String>,
}

/// `environment.json`: by platform name, what was declared and what was observed before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// By platform name.
    pub platforms: BTreeMap<String, PlatformEnvironment>,
}

/// One platform, declared and observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlatformEnvironment {
    /// From the plan.
    pub declared: BTreeMap<String, String>,
    /// Seen.
    pub observed: Observed,
}

/// What was seen of a platform before the run. Absent: not seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// URL requests go to.
    pub url: String,
    /// Addresses the name resolved to.
    pub addresses: Vec<String>,
    /// How long name resolution took, ms; done once, before the run.
    #[serde(default)]
    pub dns_ms: Option<f64>,
    /// Fastest of several TCP handshakes, ms: the round trip to whatever accepts the connection.
    pub tcp_connect_ms: Option<f64>,
    /// TLS protocol version.
    pub tls: Option<String>,
    /// Version of HTTP spoken.
    #[serde(default)]
    pub http: Option<HttpVersion>,
    /// HTTP `Server` header.
    pub server_header: Option<String>,
    /// Engine's version, where it tells (`/version`).
    pub engine_version: Option<String>,
    /// Model list (`/v1/models`).
    pub models: Vec<String>,
    /// `true` if the platform says it is simulated.
    pub simulated: bool,
    /// Length control in force; never `Auto` once probed.
    pub length_control: LengthControl,
    /// How that was found: a sentence's code with figures, for the report.
    pub length_control_evidence: LengthEvidence,
    /// Problems met while looking, in words; they do not stop a run.
    pub problems: Vec<String>,
}

/// How the length control in force was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum LengthEvidence {
    /// The plan says so; not tried.
    #[default]
    Plan,
    /// Tried: so many tokens asked for, so many delivered.
    Probed {
        /// Asked for.
        asked: u64,
        /// Delivered, by the server's count.
        delivered: Option<u64>,
    },
    /// Nothing else was accepted and obeyed.
    NothingObeyed,
}

/// A line of `points.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum PointEvent {
    /// A point begins.
    Started(PointStarted),
    /// A point has ended; every record of it is in the journal.
    Ended(PointEnded),
}

/// A point begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointStarted {
    /// Index of the point in the plan.
    pub point: u32,
    /// Start of the point and of its warm-up.
    #[serde(rename = "started_ns")]
    pub started: Nanos,
    /// Start of the measured window.
    #[serde(rename = "window_start_ns")]
    pub window_start: Nanos,
    /// Planned end of the measured window; in a closed loop the earliest end.
    #[serde(rename = "window_end_ns")]
    pub window_end: Nanos,
    /// What a search measures here; absent for a point of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPoint>,
}

/// A point that a search chose during the run. Its index is past those of the plan's points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPoint {
    /// Index into the plan's platforms.
    pub platform: usize,
    /// Index into the plan's workloads.
    pub workload: usize,
    /// Index into the plan's loads: whose search it is.
    pub load: usize,
    /// Requests per second.
    pub rate_rps: f64,
    /// How they are spaced.
    pub arrival: Arrival,
    /// Planned length of the measured window; a step that could not tell is held longer the next time.
    #[serde(rename = "held_ns")]
    pub held: Nanos,
}

/// Why a point's window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PointEnd {
    /// As planned.
    #[default]
    Planned,
    /// Requests in flight and TTFT kept growing: holding it longer would only have grown them further.
    OverSaturated,
    /// A limit on the whole run was reached.
    Limit,
    /// The run was stopped by the user.
    Stopped,
}

/// What a step of a search showed of its SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStep {
    /// Requests that met the SLO.
    pub good: u64,
    /// Requests judged.
    pub offered: u64,
    /// What follows.
    pub verdict: SearchVerdict,
}

/// Whether a rate meets an SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchVerdict {
    /// Beyond chance.
    Meets,
    /// Missed, beyond chance.
    Misses,
    /// Chance decides nothing at this number of requests.
    Undecided,
}

/// A point has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEnded {
    /// Index of the point in the plan.
    pub point: u32,
    /// Start of the point.
    #[serde(rename = "started_ns")]
    pub started: Nanos,
    /// Start of the measured window.
    #[serde(rename = "window_start_ns")]
    pub window_start: Nanos,
    /// End of the measured window.
    #[serde(rename = "window_end_ns")]
    pub window_end: Nanos,
    /// End of the drain.
    #[serde(rename = "ended_ns")]
    pub ended: Nanos,
    /// Requests intended in the window.
    pub scheduled: u64,
    /// Of those, never dispatched because the run was stopped.
    pub unsent: u64,
    /// `true` if the run was stopped inside this point.
    pub interrupted: bool,
    /// Why its window ended.
    #[serde(default)]
    pub end: PointEnd,
    /// Arrivals of the window that were never sent: this machine could not (descriptors, ports, memory), or the plan's
    /// `max_in_flight` held them back to the end.
    #[serde(default)]
    pub dropped: u64,
    /// Arrivals of the window that `max_in_flight` held back beyond their time and that were sent later.
    #[serde(default)]
    pub held_back: u64,
    /// Largest error of the mapping from the kernel's clock to the run's; `None` where the kernel gave no stamps.
    #[serde(rename = "clock_mapping_error_ns", default)]
    pub clock_mapping_error: Option<Nanos>,
    /// What this step of a search showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchStep>,
    /// Busiest worker's CPU time ÷ wall time over the window.
    pub worker_cpu_share: Option<f64>,
    /// The worker's time spent waiting for a processor ÷ wall time over the window, of the worker that waited most;
    /// `None` where the system does not tell.
    #[serde(default)]
    pub worker_wait_share: Option<f64>,
    /// Process CPU time ÷ (wall time × cores) over the window.
    pub process_cpu_share: Option<f64>,
}

/// A line of `telemetry.jsonl.zst`: the client, once a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySample {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Index of the point in the plan.
    pub point: u32,
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests dispatched since the start of the point.
    pub dispatched: u64,
    /// Requests ended since the start of the point.
    pub ended: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Largest schedule lag in the last second.
    #[serde(rename = "lag_max_ns")]
    pub lag_max: Nanos,
    /// Process CPU time ÷ wall time over the last second, in cores.
    pub cpu_cores: Option<f64>,
    /// Round trip of the last probe beside the load, where the plan asks for one.
    #[serde(rename = "rtt_ns", default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Nanos>,
}

/// What a reader could not recover from a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Bytes at the end of the journal that do not decode to whole lines.
    pub bytes: u64,
    /// `true` if the run was killed: what was not yet flushed (at most a second of records) is lost as well.
    pub unflushed: bool,
}
