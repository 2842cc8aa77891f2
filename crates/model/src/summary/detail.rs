//! What a point's latencies are made of, and how far the point itself can be believed: phases, network, steadiness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Interval};
use crate::bundle::SearchStep;
use crate::plan::EndPolicy;

/// The phases of a request, each over the successful requests in which it happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phases {
    /// Name resolution, ms: done once, before the run; `null` where nothing had to be resolved.
    pub dns_ms: Option<f64>,
    /// New connections: TCP connect, ms.
    pub tcp_connect_ms: Distribution,
    /// New connections: TLS handshake, ms.
    pub tls_handshake_ms: Distribution,
    /// First to last byte of the request handed to the socket, ms.
    pub send_ms: Distribution,
    /// Last byte of the request to first byte of the answer, ms.
    pub wait_ms: Distribution,
    /// First byte of the answer to the first token-bearing event, ms.
    pub first_token_ms: Distribution,
    /// First to last token-bearing event, ms.
    pub stream_ms: Distribution,
    /// Last token-bearing event to the end of the answer, ms.
    pub close_ms: Distribution,
    /// TTFT (without a stream, response time) of requests on a connection that was kept, ms.
    pub warm_ms: Distribution,
    /// The same of requests that opened their connection, ms.
    pub cold_ms: Distribution,
}

/// The network's share of the latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkSummary {
    /// TCP handshakes of the requests intended in the window, whatever became of them, ms: a round trip each.
    pub rtt_ms: Distribution,
    /// Round trips of the probe beside the load while the window lasted, ms; empty where the plan asks for none.
    pub probe_rtt_ms: Distribution,
    /// The round trip that the two below take off, ms.
    pub used_rtt_ms: Option<f64>,
    /// Where that one comes from.
    pub used_rtt_source: Option<RttSource>,
    /// End-to-end latency − half a round trip, ms: the network's other half is still in it. `null` without a round trip.
    pub platform_e2e_half_rtt_ms: Option<Distribution>,
    /// End-to-end latency − a round trip, and − one for each that opened the connection, ms. `null` without a round trip.
    pub platform_e2e_full_rtt_ms: Option<Distribution>,
    /// Requests whose latency is shorter than the round trips taken off: their figures are below 0, not cut to it.
    pub negative: u64,
}

/// Where a round-trip time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSource {
    /// Median of the probe beside the load.
    Probe,
    /// Median of the TCP handshakes of the window.
    Handshakes,
    /// Fastest of several TCP handshakes before the run.
    BeforeRun,
}

/// Jitter, P95 − P50, ms; `null` where `n` does not support a 95th percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Jitter {
    /// Of TTFT.
    pub ttft: Option<f64>,
    /// Of TPOT.
    pub tpot: Option<f64>,
    /// Of end-to-end latency.
    pub e2e: Option<f64>,
}

/// Whether and from when the latencies of a point are steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steady {
    /// What was found.
    pub state: SteadyState,
    /// Seconds at the start of the window whose requests are in no latency distribution: a transient the warm-up did not
    /// cover.
    pub cut_s: f64,
    /// Requests intended in those seconds. They stay in every count, rate and SLO.
    pub cut_requests: u64,
    /// Share of the window before the latencies settled; `null` where nothing can be told.
    pub settling_share: Option<f64>,
}

/// What is known of a point's steadiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyState {
    /// Too little to tell.
    #[default]
    Unknown,
    /// Steady, after the cut if there is one.
    Steady,
    /// More than half the window went by before latencies settled, if they did: nothing was cut.
    NotSteady,
}

/// The rate a point sustains by one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stable {
    /// Share of requests that must meet the limits.
    pub share: f64,
    /// Share that did: good ÷ offered; `null` where that cannot be evaluated.
    pub attainment: Option<f64>,
    /// Wilson interval of that share.
    pub ci95: Option<Interval>,
    /// `true` if the share is reached, the point is valid and its rate was kept; `null` where that cannot be told.
    pub stable: Option<bool>,
    /// `true` if it is stable and chance does not explain the share.
    pub beyond_chance: bool,
    /// Requests per second, where stable.
    pub req_s: Option<f64>,
    /// Output tokens per second, where stable.
    pub output_tok_s: Option<f64>,
}

/// What becomes of the requests that are open when a window ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtEnd {
    /// Waited for, or cut at once.
    pub policy: EndPolicy,
    /// How long they are waited for at most, seconds.
    pub drain_s: f64,
}

/// A point that is a step of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointSearch {
    /// The load of the plan whose search it is, counted from 0.
    pub load: usize,
    /// The SLO that is searched for.
    pub slo: String,
    /// Planned length of the window, seconds.
    pub held_s: f64,
    /// What the step showed; `null` if it did not end.
    pub step: Option<SearchStep>,
}
