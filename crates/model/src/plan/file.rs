//! The plan as typed: what a YAML file or the command line says, before anything is checked.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::named::Named;
use super::{Arrival, ConnectionPolicy, Dialect, EndPolicy, HttpVersion, LengthControl};

/// The plan version that this build reads.
pub const VERSION: u32 = 1;

/// What to measure: platforms, workloads, load levels, latency limits.
///
/// Durations carry their unit (`500ms`, `2s`, `10m`, `1h30m`), shares are `99%` or `0.99`, and `${NAME}` stands for
/// an environment variable, in `key` and `headers` only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Kneepoint plan")]
pub struct PlanFile {
    /// Version of the plan format: 1.
    pub kneepoint: u32,
    /// A short name, part of the bundle's folder name: letters, digits, `.`, `_`, `-`. Default: made of the model's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fixes prompts, lengths and arrivals: equal seeds send equal requests at equal times. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The model under test.
    pub model: ModelFile,
    /// Where the model runs, by name: at least one platform.
    #[schemars(extend("minProperties" = 1))]
    pub platforms: Named<PlatformFile>,
    /// What is sent, by name: at least one workload.
    #[schemars(extend("minProperties" = 1))]
    pub workloads: Named<WorkloadFile>,
    /// When it is sent: at least one sweep or search. Every platform and workload is measured at every level of every
    /// sweep, and in every search.
    #[schemars(extend("minItems" = 1))]
    pub load: Vec<LoadFile>,
    /// Latency limits (service level objectives), by name. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Named<SloFile>>,
    /// The same as `slo`, for those who call it a service level agreement. Give one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Named<SloFile>>,
    /// What ends the whole run before all is measured. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsFile>,
}

/// The model under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Model")]
pub struct ModelFile {
    /// The name the platforms know it by, sent with every request.
    pub id: String,
    /// Its precision (`fp16`, `int4`), for the record only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Its `tokenizer.json`; a relative path starts at the plan's folder. Without one, prompt lengths are estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
}

/// Something under test: an endpoint, its protocol, and what is declared about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Platform")]
pub struct PlatformFile {
    /// Its wire protocol. Default: openai-chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Its address: `http://` or `https://`, host, and where needed port and path. No credentials, no `?query`.
    #[schemars(extend("examples" = ["http://127.0.0.1:8000"]))]
    pub url: String,
    /// The API key, by reference to an environment variable: `${NAME}`. Sent as `Authorization: Bearer …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("writeOnly" = true, "examples" = ["${API_KEY}"]))]
    pub key: Option<String>,
    /// The model's name on this platform, where it differs from the model's `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Further request headers: plain text, or `${NAME}` for a whole value that is secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("writeOnly" = true))]
    pub headers: Option<Named<HeaderFile>>,
    /// Further top-level fields of every request body (`temperature: 0`), except those the tool sets itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<serde_json::Map<String, serde_json::Value>>,
    /// Whether connections are kept between requests. Default: keep-alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionPolicy>,
    /// The version of HTTP spoken: 1.1 or 2. It is what is spoken, never negotiated away. Default: 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "http_version")]
    pub http: Option<HttpVersion>,
    /// Certificate authorities (a PEM file) to trust instead of the system's; a relative path starts at the plan's
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// How the output length is held to the target. Default: auto, which asks the platform before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_control: Option<LengthControl>,
    /// How long a request may take, phase by phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limits: Option<TimeLimitsFile>,
    /// The older name of `total` in `time_limits`. Give one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2m"]))]
    pub request_timeout: Option<String>,
    /// Whether the round-trip time is measured beside the load, on connections of its own. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_probe: Option<bool>,
    /// What it costs. Default: not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceFile>,
    /// What you say about it, for the record only: engine, version, gpu, gpus, batching, region, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declares: Option<Named<String>>,
}

/// The versions as text and as the numbers that other readers of YAML take them for.
fn http_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["1.1", "2", 1.1, 2, null]})
}

/// The time limits of a request, each counted apart. A request that passes one is given up and is a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TimeLimits")]
pub struct TimeLimitsFile {
    /// Longest a connection may take to be made ready: address, TCP and TLS together. Default: 10s, or `total` where
    /// that is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10s"]))]
    pub connect: Option<String>,
    /// Longest from the request's sending to the first token. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["30s"]))]
    pub first_token: Option<String>,
    /// Longest from one piece of a streamed answer to the next. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["5s"]))]
    pub between_chunks: Option<String>,
    /// Longest from the request's sending to its end. Default: 2m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2m"]))]
    pub total: Option<String>,
}

/// What a platform costs, in units of one currency: at least one of the figures. They add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Price")]
pub struct PriceFile {
    /// The currency by its code of three capital letters: `USD`, `EUR`, `CNY`.
    #[schemars(extend("examples" = ["USD"]))]
    pub currency: String,
    /// For an hour of the platform, whether or not requests are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<DecimalText>,
    /// For a million input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_million_input: Option<DecimalText>,
    /// For a million output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_million_output: Option<DecimalText>,
    /// For a request, whatever its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request: Option<DecimalText>,
}

/// Limits of the whole run: the first one reached ends it, and what was measured is kept. At least one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits", extend("minProperties" = 1))]
pub struct LimitsFile {
    /// Most that may be spent: an amount and its currency. Every platform needs a `price` in that currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2.50 USD"]))]
    pub spend: Option<String>,
    /// Most tokens, input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Most requests sent, warm-up included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Longest the run may last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["30m"]))]
    pub time: Option<String>,
    /// Largest share of failed requests; 0% for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ShareText>,
}

/// A decimal number as typed, `1.20`: kept as text, for a binary fraction would change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecimalText(pub String);

impl JsonSchema for DecimalText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Decimal".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"], "examples": ["1.20"]})
    }
}

/// A header's value; kept apart so that the schema can say that it must not be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeaderFile(pub String);

impl JsonSchema for HeaderFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Header".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "writeOnly": true, "examples": ["${HEADER_VALUE}"]})
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Workload")]
pub struct WorkloadFile {
    /// Input tokens per request, at least 1.
    pub input: u64,
    /// Output tokens per request, at least 1.
    pub output: u64,
    /// Whether the answer is streamed. Default: true. Without streaming there is no TTFT and no TPOT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
}

/// Load levels: a sweep over them, `rate` or `concurrency`, or a `search` for one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Load", extend("minProperties" = 1, "maxProperties" = 1))]
pub struct LoadFile {
    /// Open loop: requests are sent at their time, whether or not earlier ones were answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateFile>,
    /// Closed loop: so many requests are in flight at any moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencyFile>,
    /// Open loop: the highest rate at which an SLO is met is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchFile>,
}

/// An open-loop sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RateLoad")]
pub struct RateFile {
    /// Requests per second, fractions allowed: `[0.5, 1, 2]`, or a range. `1..8` is every whole number when the ends
    /// are whole and at most 16 apart; any other range doubles from its start and ends in its end (`1..100` is 1, 2, 4,
    /// 8, 16, 32, 64, 100).
    pub sweep: Sweep<f64>,
    /// How the requests are spaced. Default: constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// Most requests in flight at a time; what arrives beyond it is late or dropped, and the level is then told not to
    /// be open loop. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u64>,
    /// The sweep ends at a level whose throughput is less than this share above that of the level before it. Needs two
    /// levels or more, each above the last. Default: every level is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at_plateau: Option<ShareText>,
    /// Whether a level ends early once the platform is seen to fall behind. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_when_saturated: Option<bool>,
    /// How long each level is held.
    #[serde(flatten)]
    pub hold: HoldFile,
}

/// A closed-loop sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConcurrencyLoad")]
pub struct ConcurrencyFile {
    /// Requests in flight: `[1, 4, 16]`, or a range. `1..8` is every whole number when the ends are at most 16 apart;
    /// any other range doubles from its start and ends in its end (`1..100` is 1, 2, 4, 8, 16, 32, 64, 100).
    pub sweep: Sweep<u32>,
    /// The sweep ends at a level whose throughput is less than this share above that of the level before it. Needs two
    /// levels or more, each above the last. Default: every level is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at_plateau: Option<ShareText>,
    /// How long each level is held.
    #[serde(flatten)]
    pub hold: HoldFile,
}

/// A search for the highest rate at which an SLO is met: doubling until it is missed, then bisection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Search")]
pub struct SearchFile {
    /// The SLO that is to be met, by its name in `slo`.
    pub slo: String,
    /// The first rate tried, requests per second.
    pub from: RateText,
    /// The highest rate tried, requests per second; not below `from`.
    pub up_to: RateText,
    /// The search ends when the lowest rate that missed is at most this share above the highest that met. Default: 5%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<ShareText>,
    /// How many more times the rate found is measured, to confirm it. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u64>,
    /// How the requests are spaced. Default: constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// Most requests in flight at a time; what arrives beyond it is late or dropped, and the level is then told not to
    /// be open loop. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u64>,
    /// Whether a level ends early once the platform is seen to fall behind. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_when_saturated: Option<bool>,
    /// How long each rate is held. `min_samples` is by default what the SLO's share needs to be decided.
    #[serde(flatten)]
    pub hold: HoldFile,
}

/// A rate as typed: `2/s`, or `2`, which is as many a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RateText(pub String);

impl JsonSchema for RateText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"], "examples": ["1/s"]})
    }
}

/// How long each level is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hold")]
pub struct HoldFile {
    /// The measured window lasts at least this long; longer where `min_samples` needs it. Default: 1m.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "for")]
    #[schemars(extend("examples" = ["10m"]))]
    pub at_least: Option<String>,
    /// The window goes on until it holds so many requests. Default: 130, the fewest that support a p95, or fewer
    /// where the lowest rate of the sweep gives fewer within an `at_most` that is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_samples: Option<u64>,
    /// Load before the window, left out of every figure. Default: 5s. `0s` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["5s"]))]
    pub warm_up: Option<String>,
    /// How long to wait after the window for requests still open; what is open then is cut. Default: the longest
    /// `total` time limit of the platforms, so that none is cut. Not where `at_end` is `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["30s"]))]
    pub drain: Option<String>,
    /// What becomes of the requests that are open when the window ends. Default: drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<EndPolicy>,
    /// The window never lasts longer than this. Default: 10 times `for`, or longer where the lowest rate of the sweep
    /// needs longer for `min_samples`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["30m"]))]
    pub at_most: Option<String>,
}

/// Latency limits and the share of requests that must meet all of them: at least one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Slo")]
pub struct SloFile {
    /// Longest time to first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["500ms"]))]
    pub ttft: Option<String>,
    /// Longest time per output token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["40ms"]))]
    pub tpot: Option<String>,
    /// Longest end-to-end latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2s"]))]
    pub e2e: Option<String>,
    /// Share of all offered requests that must meet every limit. Default: 99%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareText>,
}

/// A share as typed: `99%` or `0.99`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShareText(pub String);

impl JsonSchema for ShareText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number"], "examples": ["99%"]})
    }
}

/// The levels of a sweep: a list, or a range such as `1..8`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Sweep<T> {
    /// One level, or a range.
    Range(String),
    /// The levels.
    List(Vec<T>),
}

impl<T: JsonSchema> JsonSchema for Sweep<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("SweepOf_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({"type": ["string", "number", "array"], "items": item, "minItems": 1, "examples": ["1..8"]})
    }
}

/// The JSON Schema of a plan.
pub fn plan_schema() -> serde_json::Value {
    schemars::schema_for!(PlanFile).to_value()
}
