//! A profile as typed. Its documentation is the published JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulated platform: the constants of its engine and what surrounds it.
///
/// Durations are written `80ns`, `120us`, `8ms`, `1.5s` or `2m`, shares `2.5%`. What is left out has the default
/// that its description names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// Its name.
    pub name: String,
    /// What it is like, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Fixes all that is random. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Model name in answers. Default: `simulated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `true`: any other model name is answered with 404. Default: false, every name is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_model: Option<bool>,
    /// Most tokens of prompt and output together. Default: 32768.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The engine of each replica.
    pub engine: EngineFile,
    /// How many replicas, and how they start. Default: one, always on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<ReplicasFile>,
    /// The queue before the engines. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueFile>,
    /// The network. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkFile>,
    /// Answers that pause. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailFile>,
    /// How answers are cut into events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamFile>,
    /// How long answers are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputFile>,
    /// Share of requests that go wrong. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultsFile>,
    /// Spend CPU time on accuracy: wait for each deadline's last 200 us in a loop. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precise: Option<bool>,
}

/// A step of the engine lasts `step + decode·(decoding sequences) + prefill·(prompt tokens) + kv_read·(KV tokens)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineFile {
    /// Every step (duration).
    pub step: String,
    /// Per decoding sequence (duration).
    pub decode: String,
    /// Per prompt token (duration).
    pub prefill: String,
    /// Per token that the step's sequences have in the KV cache (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_read: Option<String>,
    /// Most tokens of one step, decoding and prompts together (chunked prefill). Default: 8192.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Most sequences in a batch. Default: 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sequences: Option<u64>,
    /// KV cache blocks. Default: never short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_blocks: Option<u64>,
    /// Tokens in a block. Default: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_tokens: Option<u64>,
    /// When blocks are taken. Default: on-demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<ReserveFile>,
}

/// When a sequence takes KV blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReserveFile {
    /// As tokens come; the sequence that arrived last is preempted when none is left.
    OnDemand,
    /// All at admission.
    Full,
}

/// How many replicas run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicasFile {
    /// Fewest; 0: scale to zero. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// Most. Default: the larger of `min` and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// A replica is started whenever there are more than so many requests per replica. Default: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// Most requests given to one replica at once; others wait before it. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// How long a replica stays without work (duration). Default: 60s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    /// Shortest cold start (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Mean of what a cold start takes beyond that, exponentially distributed (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_extra: Option<String>,
}

/// The queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueFile {
    /// Most requests that wait; one more is answered with 429. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What the header `Retry-After` of a 429 says (duration, whole seconds are sent). Default: 1s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
}

/// The network between client and platform, added to the answer's way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkFile {
    /// Round trip, added to everything (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<String>,
    /// Added on top, evenly distributed from zero to this (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<String>,
}

/// The slow tail: answers that pause once, before a token drawn evenly among theirs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TailFile {
    /// Share of answers that pause.
    pub share: String,
    /// Mean length, exponentially distributed (duration).
    pub pause: String,
}

/// How an answer is cut into events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamFile {
    /// Tokens of one event. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_event: Option<u64>,
    /// Tokens are held back until the first of them is this old, as buffering proxies do (duration). Default: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// When the event that only names the role comes. Default: with-first-token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleFile>,
    /// Comment lines (`: keep-alive`) while the first token is awaited, one each so long (duration). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<String>,
}

/// When the event that only names the role comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoleFile {
    /// Just before the first token.
    WithFirstToken,
    /// As soon as the request is accepted, long before there is a token.
    AtOnce,
}

/// How long answers are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputFile {
    /// Mean length of an answer that stops by itself; exponentially distributed, at least 1. Default: 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural_mean: Option<u64>,
    /// What the platform makes of `ignore_eos`. Default: obey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_eos: Option<ObedienceFile>,
    /// What the platform makes of `min_tokens`. Default: obey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_tokens: Option<ObedienceFile>,
    /// Prompt tokens beyond the words sent, as a chat template adds. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_overhead: Option<u64>,
}

/// What a platform makes of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObedienceFile {
    /// Does what it says.
    #[default]
    Obey,
    /// Accepts it and takes no notice.
    Ignore,
    /// Answers 400.
    Refuse,
}

/// Share of requests that go wrong, by way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultsFile {
    /// Status 500 instead of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_500: Option<String>,
    /// Status 503 instead of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_503: Option<String>,
    /// Connection reset in the middle of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
    /// Connection closed in the middle of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<String>,
    /// The stream ends properly, but without finish reason and end marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate: Option<String>,
    /// The stream stops, and the connection stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<String>,
    /// An error object as an event of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_event: Option<String>,
}
