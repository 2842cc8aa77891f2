//! `summary.json`: per point, everything a report shows. `kneepoint run --json` prints the same.
//!
//! The unit ends every quantity's name; what is undefined is `null`, never 0. The definitions behind the names are
//! in `docs/metrics.md` and versioned by [`Summary::metrics`].

mod curve;
mod detail;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bundle::{Calibration, LimitReached, Loss, PointEnd, RunStatus};
pub use curve::{
    Curve, CurveLevel, FitDoubt, Knee, KneeAt, LoadAxis, MaxThroughput, NoKnee, Plateau, Scalability, ScalingStep,
    SearchResult, SearchResultStep, StableLevel,
};
pub use detail::{AtEnd, Jitter, NetworkSummary, Phases, PointSearch, RttSource, Stable, Steady, SteadyState};

/// Name of the rule by which throughput is stable in a plan without an SLO: 99% of requests within 2 s end to end.
pub const STABLE_BY_DEFAULT: &str = "e2e_2s";

/// Value of [`Summary::format`].
pub const FORMAT: &str = "kneepoint.summary/1";
/// Version of the metric definitions.
pub const METRICS_VERSION: u32 = 1;

/// The JSON Schema of `summary.json`.
pub fn summary_schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

/// The summary of one bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// `kneepoint.summary/1`.
    pub format: String,
    /// Version of the metric definitions.
    pub metrics: u32,
    /// `true` if any platform was a simulated one.
    pub simulated: bool,
    /// The run.
    pub run: RunSummary,
    /// One entry a measured point, in the order of the plan; those of searches follow in the order measured.
    pub points: Vec<PointSummary>,
    /// What points show together: one entry for each load of the plan on each platform with each workload.
    #[serde(default)]
    pub curves: Vec<Curve>,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The plan's name.
    pub name: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// The seed.
    pub seed: u64,
    /// How the run ended.
    pub status: RunStatus,
    /// Points in the plan; more than `points` has entries if the run did not get to all of them. Steps of searches are not
    /// counted.
    pub points_planned: usize,
    /// What the journal lost, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Loss>,
    /// Points of the plan that were left out because their sweep had reached its plateau.
    #[serde(default)]
    pub skipped: Vec<u32>,
    /// The limit of the plan that ended the run, if one did.
    #[serde(default)]
    pub limit: Option<LimitReached>,
    /// What the client itself adds at the plan's largest load, measured before the run.
    #[serde(default)]
    pub calibration: Option<Calibration>,
}

/// One measured point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointSummary {
    /// Index of the point in the plan.
    pub point: u32,
    /// Name of the platform.
    pub platform: String,
    /// Name of the workload.
    pub workload: String,
    /// `true` if this platform is a simulated one.
    pub simulated: bool,
    /// The level.
    pub load: LoadSummary,
    /// Length of the measured window, seconds.
    pub window_s: f64,
    /// Start of the measured window, seconds since the start of the run.
    pub window_start_s: f64,
    /// Why the window ended.
    #[serde(default)]
    pub end: PointEnd,
    /// What became of the requests that were open then.
    #[serde(default)]
    pub at_end: Option<AtEnd>,
    /// What this point is a step of; `null` for a point of the plan.
    #[serde(default)]
    pub search: Option<PointSearch>,
    /// `true` if the figures of this point can be relied on.
    pub valid: bool,
    /// Why not, or what to bear in mind.
    pub reasons: Vec<Reason>,
    /// `true` if arrivals never waited for answers; `null` in a closed loop, where they do by design.
    pub open_loop: Option<bool>,
    /// Whether latencies are steady, and what was cut for that.
    #[serde(default)]
    pub steady: Steady,
    /// Requests by outcome.
    pub requests: RequestCounts,
    /// TTFT from the intended instant, ms.
    pub ttft_ms: Distribution,
    /// TTFT from the sent instant, ms.
    pub ttft_sent_ms: Distribution,
    /// Time to the first answer token, ms; present where reasoning came before an answer.
    pub ttfa_ms: Distribution,
    /// Time per output token after the first event, ms.
    pub tpot_ms: Distribution,
    /// Gaps between token-bearing events, pooled over requests, ms.
    pub icl_ms: Distribution,
    /// Gaps per token, pooled, ms; only of answers that told how many tokens each event held.
    pub itl_ms: Distribution,
    /// End-to-end latency from the intended instant to the last token, ms.
    pub e2e_ms: Distribution,
    /// End-to-end latency from the sent instant, ms.
    pub e2e_sent_ms: Distribution,
    /// Intended instant to the end of the answer, ms.
    pub response_ms: Distribution,
    /// Output speed of one stream, tokens/s (1 ÷ TPOT).
    pub output_speed_tok_s: Distribution,
    /// P95 − P50.
    #[serde(default)]
    pub jitter_ms: Jitter,
    /// What a request's time went into.
    #[serde(default)]
    pub phases: Phases,
    /// What of it is the network's.
    #[serde(default)]
    pub network: NetworkSummary,
    /// TTFT where a failed request counts as infinitely late: what an SLO is judged by.
    pub ttft_with_failures_ms: WithFailures,
    /// End-to-end latency where a failed request counts as infinitely late.
    pub e2e_with_failures_ms: WithFailures,
    /// Input tokens per successful request.
    pub input_tokens: TokenSummary,
    /// Output tokens per successful request.
    pub output_tokens: TokenSummary,
    /// Throughput.
    pub throughput: Throughput,
    /// Stable throughput by rule: each SLO of the plan, or [`STABLE_BY_DEFAULT`] in a plan without one.
    #[serde(default)]
    pub stable: BTreeMap<String, Stable>,
    /// Per SLO of the plan.
    pub slo: BTreeMap<String, SloSummary>,
    /// The client as an instrument.
    pub client: ClientSummary,
    /// Share of successful answers that came as a stream of more than one event.
    pub streamed_share: Option<f64>,
    /// Quantile functions for charts: value at each percent from 0 to 100.
    pub quantiles: QuantileCurves,
    /// The point second by second, from the start of its warm-up.
    pub series: Vec<SeriesPoint>,
}

/// The load level: exactly one of the two is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Scheduled arrivals per second (open loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_rps: Option<f64>,
    /// Arrival process (open loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<crate::plan::Arrival>,
    /// Requests in flight (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// How bad a reason is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The point is not valid.
    Invalid,
    /// The point stands, but the reader must know.
    Warning,
}

/// Why a point is not valid, or what to bear in mind. The words are the report's; here are code and figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Which.
    pub code: ReasonCode,
    /// How bad.
    pub severity: Severity,
    /// The observed figure the judgement rests on, in the unit the code's documentation names.
    pub observed: Option<f64>,
    /// The limit it was held against, same unit.
    pub limit: Option<f64>,
}

/// The validity reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// No request succeeded. Observed: failed requests.
    NoSuccess,
    /// Fewer samples than `min_samples`. Observed: samples.
    TooFewSamples,
    /// The client dispatched late. Observed: p99 of schedule lag, ms.
    ClientLate,
    /// The client's busiest thread was short of CPU. Observed: its CPU share.
    ClientBusy,
    /// The client's thread waited for a processor: what arrived meanwhile was read late. Observed: share of the window.
    ClientWaited,
    /// The client read late what had arrived. Observed: p99 of the longest wait of each answer, ms.
    ClientReadLate,
    /// Too many requests failed. Observed: share.
    ErrorRate,
    /// The run was stopped inside this point. Observed: measured seconds.
    Interrupted,
    /// The journal lost records of this point. Observed: bytes.
    RecordsLost,
    /// There are records that cannot be: two of one request, or more than the schedule has requests. Observed: records
    /// too many.
    RecordsInconsistent,
    /// More requests were waiting at the end of the window than at its start, beyond chance: percentiles depend on how
    /// long the point was held. Observed: growth, requests per second.
    BacklogGrowing,
    /// Little's law does not hold within the limit. Observed: relative deviation.
    LittlesLaw,
    /// Achieved rate is below the scheduled one. Observed: share achieved.
    RateNotKept,
    /// The server counts other input lengths than the plan wanted. Observed: relative deviation of the mean.
    InputLength,
    /// Delivered output length differs from the target. Observed: relative deviation of the mean.
    OutputLength,
    /// Server and tokenizer disagree on output tokens. Observed: relative deviation of the mean.
    TokenCountsDisagree,
    /// Answers came in one piece although a stream was asked for. Observed: share.
    PseudoStreaming,
    /// Prompt tokens were served from a cache. Observed: share.
    CachedPrompts,
    /// Successful answers with tokens but no visible output. Observed: share.
    InvisibleOutput,
    /// Nobody counted the output tokens: no tokenizer, and the server did not, or fewer than it sent events. Observed:
    /// share of answers.
    NoTokenCount,
    /// Requests still open at the end of the drain. Observed: requests.
    Cut,
    /// Malformed or unknown events in the answers. Observed: events.
    Oddities,
    /// Latencies never settled in the first half of the window: percentiles depend on how long the point was held.
    /// Observed: share of the window before they did.
    NotSteady,
    /// The point was ended early because the platform kept falling behind. Observed: measured seconds.
    OverSaturated,
    /// A limit on the whole run ended this point. Observed: measured seconds.
    LimitReached,
    /// Arrivals waited for a place or were never sent. Observed: share of the scheduled requests.
    NotOpenLoop,
    /// Arrivals were never sent, on this side's account. Observed: share of the scheduled requests.
    Dropped,
    /// What the client itself adds, as calibrated before the run, is not small beside what it measured. Observed: added at
    /// the 99th percentile, ms.
    ClientCalibration,
    /// This point's load was larger than the calibrated one. Observed: how many times as large.
    CalibrationTooSmall,
}

/// Requests intended in the measured window, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// Intended in the window.
    pub scheduled: u64,
    /// Of those, put on the wire.
    pub sent: u64,
    /// Complete answers.
    pub ok: u64,
    /// Failures by kind ([`crate::failure::FailureKind::code`]).
    pub failed: BTreeMap<String, u64>,
    /// Failures by side.
    pub failed_by_side: BTreeMap<String, u64>,
    /// The same failures by kind, then by side; absent in summaries that do not tell them apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_by_kind_and_side: BTreeMap<String, BTreeMap<String, u64>>,
    /// One message of each kind, as the server or the system put it.
    pub failure_examples: BTreeMap<String, String>,
    /// Still open at the end of the drain.
    pub cut: u64,
    /// Dispatched later than the lag limit after their intended instant.
    pub late: u64,
    /// Scheduled but not dispatched before the run was stopped.
    pub unsent: u64,
    /// Never sent, because this machine could not or the plan's `max_in_flight` held them back to the end.
    #[serde(default)]
    pub dropped: u64,
    /// Sent later than scheduled, because the plan's `max_in_flight` held them back.
    #[serde(default)]
    pub held_back: u64,
    /// Requests of the warm-up, all outcomes; in no other count, distribution or SLO.
    pub warm_up: u64,
    /// Sent on a new connection.
    pub new_connections: u64,
    /// Of those, sent after a kept connection turned out to have been closed by the server.
    #[serde(default)]
    pub stale_connections: u64,
}

/// A distribution over successful requests. All values are `null` where `n` is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation (n − 1); `null` under two samples.
    pub sd: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Median, nearest rank.
    pub p50: Option<f64>,
    /// 90th percentile, nearest rank.
    pub p90: Option<f64>,
    /// 95th percentile, nearest rank.
    pub p95: Option<f64>,
    /// 99th percentile, nearest rank.
    pub p99: Option<f64>,
    /// 99.9th percentile, nearest rank.
    pub p999: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// 95% order-statistic interval of each percentile shown.
    pub ci95: BTreeMap<String, Interval>,
    /// Percentiles refused because `n` cannot support them, with the `n` that could.
    pub too_few: BTreeMap<String, u64>,
}

/// An interval; a side without a bound is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval(
    /// Lower bound.
    pub Option<f64>,
    /// Upper bound.
    pub Option<f64>,
);

/// Percentiles in which a failed request counts as infinitely late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithFailures {
    /// Requests judged: successes and failures; cut ones are left out.
    pub n: u64,
    /// Median.
    pub p50: Ranked,
    /// 90th percentile.
    pub p90: Ranked,
    /// 95th percentile.
    pub p95: Ranked,
    /// 99th percentile.
    pub p99: Ranked,
}

/// A percentile that may fall on a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranked {
    /// A latency, ms.
    Value(f64),
    /// It falls on a failed request: there is no such latency.
    Failed,
    /// `n` cannot support it.
    #[default]
    TooFew,
}

/// Token counts per successful request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenSummary {
    /// The target in the plan.
    pub target: u64,
    /// Mean by the reference tokenizer.
    pub local_mean: Option<f64>,
    /// Mean by the server.
    pub server_mean: Option<f64>,
    /// Spread of the counts used (server's, else the tokenizer's).
    pub used: Distribution,
    /// Where the counts used came from: `server`, `tokenizer`, `mixed`, or `null` where nobody counted.
    pub source: Option<String>,
    /// Share served from a prompt cache (input) or spent on reasoning (output), where the server said so.
    pub cached_or_reasoning_share: Option<f64>,
}

/// Throughput in the measured window: completed in it ÷ its length. All is `null` for a window of no length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Successful requests completed per second.
    pub req_s: Option<f64>,
    /// Requests scheduled per second; `null` in a closed loop.
    pub scheduled_req_s: Option<f64>,
    /// Requests sent per second.
    pub sent_req_s: Option<f64>,
    /// Output tokens of requests completed in the window, per second; `null` where nobody counted.
    pub output_tok_s: Option<f64>,
    /// Input and output tokens of the same, per second.
    pub total_tok_s: Option<f64>,
    /// Most requests completed in any one second of the window.
    #[serde(default)]
    pub max_req_s: Option<f64>,
    /// Most output tokens in any one second of the window.
    pub max_output_tok_s: Option<f64>,
    /// Standard deviation ÷ mean of output tokens per second over the seconds of the window.
    pub stability: Option<f64>,
    /// Mean number of requests in flight in the window.
    pub in_flight_mean: Option<f64>,
    /// Bytes sent per second.
    pub sent_bytes_s: Option<f64>,
    /// Bytes received per second.
    pub received_bytes_s: Option<f64>,
}

/// One SLO at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloSummary {
    /// Requests that met every limit.
    pub good: u64,
    /// Requests judged: successes and failures; cut ones are left out.
    pub offered: u64,
    /// Good requests per second.
    pub goodput_rps: Option<f64>,
    /// Good ÷ offered; `null` where the SLO cannot be evaluated.
    pub attainment: Option<f64>,
    /// Wilson interval of the attainment.
    pub ci95: Option<Interval>,
    /// The share the plan asks for.
    pub share: f64,
    /// `true` if the attainment reaches that share.
    pub met: Option<bool>,
    /// The SLO's limit on TTFT, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_limit_ms: Option<f64>,
    /// The SLO's limit on TPOT, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_limit_ms: Option<f64>,
    /// The SLO's limit on end-to-end latency, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_limit_ms: Option<f64>,
}

/// The client as an instrument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSummary {
    /// Where arrival times come from: `kernel` or `read`.
    pub clock: String,
    /// Busiest worker thread's CPU time ÷ wall time.
    pub cpu_share: Option<f64>,
    /// Time the worker thread that waited most spent waiting for a processor ÷ wall time.
    #[serde(default)]
    pub cpu_wait_share: Option<f64>,
    /// Process CPU time ÷ (wall time × cores).
    pub process_cpu_share: Option<f64>,
    /// Dispatched − intended, ms.
    pub schedule_lag_ms: Distribution,
    /// Sent − intended, ms: schedule lag, plus connecting where a new connection was needed.
    pub client_queue_ms: Distribution,
    /// Longest wait of each answer between its arrival in the kernel and its reading by the client, ms, where the kernel
    /// tells. It is in no latency: those end at the arrival.
    pub kernel_to_user_ms: Distribution,
    /// Largest error of the mapping from the kernel's clock to the run's, ms; `null` where the kernel gave no stamps.
    #[serde(default)]
    pub clock_mapping_error_ms: Option<f64>,
    /// Most requests in flight at a time in the window, looked at every 10 ms.
    #[serde(default)]
    pub in_flight_max: Option<u64>,
    /// Token-bearing events that arrived in the window, per second.
    #[serde(default)]
    pub token_events_s: Option<f64>,
    /// `true` if the calibration before the run was at this load or a larger one; `null` without a calibration.
    #[serde(default)]
    pub calibrated: Option<bool>,
}

/// Quantile functions for charts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileCurves {
    /// TTFT, ms.
    pub ttft_ms: Vec<f64>,
    /// TPOT, ms.
    pub tpot_ms: Vec<f64>,
    /// End-to-end latency, ms.
    pub e2e_ms: Vec<f64>,
}

/// One second of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Start of the second, seconds since the start of the point.
    pub t_s: f64,
    /// `true` while in the measured window.
    pub measured: bool,
    /// Requests intended.
    pub scheduled: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests completed.
    pub ok: u64,
    /// Requests failed.
    pub failed: u64,
    /// In flight at the end of the second.
    pub in_flight: u64,
    /// Output tokens that arrived (each answer's tokens spread over its events).
    pub output_tok: Option<f64>,
    /// Median TTFT of the requests intended in this second, ms.
    pub ttft_p50_ms: Option<f64>,
    /// Largest TTFT of the requests intended in this second, ms.
    pub ttft_max_ms: Option<f64>,
    /// Median end-to-end latency of the requests intended in this second, ms.
    pub e2e_p50_ms: Option<f64>,
}
