//! What the levels of one load show together: how much, where it bends, what is sustained.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AtEnd;
use crate::bundle::SearchVerdict;

/// The levels of one load of the plan on one platform with one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Curve {
    /// Name of the platform.
    pub platform: String,
    /// Name of the workload.
    pub workload: String,
    /// Index of the load in the plan, from 0.
    pub load: usize,
    /// What a level's number means.
    pub axis: LoadAxis,
    /// The levels, by load and then in the order measured.
    pub levels: Vec<CurveLevel>,
    /// Most requests in any one second of any level.
    pub max_throughput: MaxThroughput,
    /// From where on more load brings no more throughput; `null` where the sweep does not show it.
    pub plateau: Option<Plateau>,
    /// The highest stable level by rule: each SLO of the plan, or [`super::STABLE_BY_DEFAULT`] in a plan without one. A rule
    /// that no level meets is absent.
    pub stable_throughput: BTreeMap<String, StableLevel>,
    /// Where the curve of this sweep bends.
    pub knee: Knee,
    /// The Universal Scalability Law fitted to throughput over requests in flight; `null` where it cannot be.
    pub scalability: Option<Scalability>,
    /// What each level brings over the one before it.
    pub scaling: Vec<ScalingStep>,
    /// What a search found; `null` for a sweep.
    pub search: Option<SearchResult>,
    /// What becomes of the requests that are open when a window ends.
    pub at_end: Option<AtEnd>,
}

/// What a level's number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadAxis {
    /// Scheduled arrivals per second.
    #[default]
    RateRps,
    /// Requests in flight.
    Concurrency,
}

/// One level of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveLevel {
    /// Index of its point.
    pub point: u32,
    /// The load, in the curve's [`LoadAxis`].
    pub load: f64,
    /// `true` if its throughput is the platform's: the point is valid, or only overloaded or not steady.
    pub counts: bool,
    /// Mean number of requests in flight.
    pub in_flight_mean: Option<f64>,
    /// Successful requests per second.
    pub req_s: Option<f64>,
    /// Output tokens per second.
    pub output_tok_s: Option<f64>,
    /// Median TTFT, ms.
    pub ttft_p50_ms: Option<f64>,
    /// Median end-to-end latency, ms.
    pub e2e_p50_ms: Option<f64>,
    /// 95th percentile of end-to-end latency, ms.
    pub e2e_p95_ms: Option<f64>,
}

/// The best second of a curve: a peak, not a capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MaxThroughput {
    /// Most requests completed in one second.
    pub req_s: Option<f64>,
    /// The point in which that was.
    pub req_point: Option<u32>,
    /// Most output tokens in one second.
    pub output_tok_s: Option<f64>,
    /// The point in which that was.
    pub output_tok_point: Option<u32>,
}

/// Where more load brings no more throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plateau {
    /// The point of the first level on the plateau: no later one brings `gain` more.
    pub point: u32,
    /// Its load, in the curve's [`LoadAxis`].
    pub load: f64,
    /// Every later level brings less than this share more: what the plan says under `stop_at_plateau`, else 0.05.
    pub gain: f64,
    /// Mean requests per second over the levels of the plateau.
    pub req_s: f64,
    /// Mean output tokens per second over them; `null` where nobody counted.
    pub output_tok_s: Option<f64>,
    /// `true` if the sweep was ended by it.
    pub ended_sweep: bool,
}

/// The highest level that is stable by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StableLevel {
    /// Its point.
    pub point: u32,
    /// Its load, in the curve's [`LoadAxis`].
    pub load: f64,
    /// Requests per second.
    pub req_s: Option<f64>,
    /// Output tokens per second.
    pub output_tok_s: Option<f64>,
    /// `true` if chance does not explain it.
    pub beyond_chance: bool,
    /// `true` if it is the highest level measured: more may be sustained.
    pub highest_level: bool,
}

/// Where a curve bends, by three methods. Each depends on the range of loads swept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Knee {
    /// Kneedle on throughput over load, smoothed: from here on throughput lags behind load.
    pub throughput: Option<KneeAt>,
    /// Kneedle on median TTFT (without a stream, end-to-end latency) over load, smoothed: from here on latency climbs.
    pub latency: Option<KneeAt>,
    /// Two straight lines through throughput over load that share a point.
    pub two_lines: Option<KneeAt>,
    /// Why a method tells none, by its field's name.
    pub none_because: BTreeMap<String, NoKnee>,
}

/// A knee.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KneeAt {
    /// Load at the knee, in the curve's [`LoadAxis`].
    pub load: f64,
    /// The point of the level it is at; `null` where it lies between two.
    pub point: Option<u32>,
    /// By SLO: load at the knee ÷ the highest load that meets the SLO. Above 1 the SLO is the tighter bound, below 1 the
    /// curve bends before the SLO is missed.
    pub of_slo_capacity: BTreeMap<String, f64>,
}

/// Why a method tells no knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoKnee {
    /// Fewer levels than the method needs.
    TooFewLevels,
    /// The curve does not bend within the sweep.
    NoBend,
}

/// `X(N) = γN ÷ (1 + σ(N − 1) + κN(N − 1))`, X in requests per second, N in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scalability {
    /// Throughput of one request alone, requests per second.
    pub gamma: f64,
    /// Contention, 0 to 1.
    pub sigma: f64,
    /// Coherency, 0 to 1.
    pub kappa: f64,
    /// Share of the throughputs' variance explained.
    pub r2: Option<f64>,
    /// Levels fitted.
    pub levels: usize,
    /// Requests in flight at which throughput peaks; `null` where the law never falls.
    pub peak_in_flight: Option<f64>,
    /// Throughput there, requests per second.
    pub peak_req_s: Option<f64>,
    /// What speaks against the fit; empty if nothing does.
    pub doubts: Vec<FitDoubt>,
}

/// What speaks against a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FitDoubt {
    /// Fewer than six levels for three parameters.
    FewLevels,
    /// It explains under 95% of the variance.
    PoorFit,
    /// Throughput still grows almost as fast as load at the highest level: the bend is outside the sweep.
    BendNotReached,
    /// Its peak lies beyond the highest number in flight measured.
    PeakNotReached,
}

/// What a level brings over the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingStep {
    /// Load of the level before, in the curve's [`LoadAxis`].
    pub from: f64,
    /// Load of this level.
    pub to: f64,
    /// Growth of throughput, X₂ ÷ X₁ − 1: what is sometimes called scaling efficiency.
    pub growth: f64,
    /// Scaling efficiency, (X₂ ÷ X₁) ÷ (N₂ ÷ N₁): 1 where throughput grows as load does.
    pub efficiency: f64,
}

/// What a search for the highest rate that meets an SLO found: the capacity lies from `meets_rps` to `misses_rps`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchResult {
    /// The SLO.
    pub slo: String,
    /// Highest rate that met it, requests per second; `null` where none did.
    pub meets_rps: Option<f64>,
    /// Lowest rate that missed it beyond chance, requests per second; `null` where none did.
    pub misses_rps: Option<f64>,
    /// `true` if the highest rate allowed was met: the capacity may be larger still.
    pub at_most_met: bool,
    /// How often the rate that meets was measured again, and met again.
    pub confirmed: u32,
    /// `true` if the search came to its end.
    pub complete: bool,
    /// The steps, in the order measured.
    pub steps: Vec<SearchResultStep>,
}

/// One step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResultStep {
    /// Its point.
    pub point: u32,
    /// The rate, requests per second.
    pub rate_rps: f64,
    /// Length of its window, seconds.
    pub window_s: f64,
    /// Requests that met the SLO.
    pub good: u64,
    /// Requests judged.
    pub offered: u64,
    /// What follows; `null` if the step did not end.
    pub verdict: Option<SearchVerdict>,
}
