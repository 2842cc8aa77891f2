//! [`ProfileFile`] → [`Profile`]: defaults, units and limits; all problems at once.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use kneepoint_model::yaml::{self, Part, Path, Problem, Problems, Source};

use super::file::{
    EngineFile, FaultsFile, NetworkFile, OutputFile, ProfileFile, QueueFile, ReplicasFile, ReserveFile, RoleFile,
    StreamFile, TailFile,
};
use super::{Profile, quantity};
use crate::engine::{EngineConfig, KvConfig, Reservation, StepCost};
use crate::platform::route::{Faults, Route};
use crate::platform::{Scaling, StartTime};

/// Reads and resolves a profile.
pub(super) fn resolve(source_name: &str, text: &str) -> Result<Profile, Problems> {
    let parsed = yaml::from_str::<ProfileFile>(source_name, text)?;
    let file = parsed.value;
    let mut reader = Reader { source: &parsed.source, problems: Vec::new() };
    let stream = file.stream.unwrap_or_default();
    let queue = file.queue.unwrap_or_default();
    let output = file.output.unwrap_or_default();
    let stream_path = Path::ROOT.key("stream");
    let profile = Profile {
        name: file.name,
        about: file.about.unwrap_or_default(),
        seed: file.seed.unwrap_or(1),
        model: file.model.unwrap_or_else(|| "simulated".to_owned()),
        only_model: file.only_model.unwrap_or(false),
        context: reader.positive(&Path::ROOT.key("context"), file.context, 32_768).get(),
        engine: engine(&mut reader, &file.engine),
        scaling: scaling(&mut reader, &file.replicas.unwrap_or_default()),
        queue_limit: queue.limit.map_or(usize::MAX, size),
        retry_after: retry_after(&mut reader, &queue),
        role_at_once: stream.role == Some(RoleFile::AtOnce),
        keep_alive: keep_alive(&mut reader, &stream_path, &stream),
        route: route(&mut reader, &stream, file.network, file.tail.as_ref(), file.faults),
        natural_mean: natural_mean(&mut reader, &output),
        ignore_eos: output.ignore_eos.unwrap_or_default(),
        min_tokens: output.min_tokens.unwrap_or_default(),
        prompt_overhead: output.prompt_overhead.unwrap_or(0),
        precise: file.precise.unwrap_or(false),
        key: None,
    };
    match Problems::of(source_name, reader.problems) {
        None => Ok(profile),
        Some(problems) => Err(problems),
    }
}

fn engine(reader: &mut Reader<'_>, file: &EngineFile) -> EngineConfig {
    let path = Path::ROOT.key("engine");
    EngineConfig {
        cost: StepCost {
            base: reader.duration(&path.key("step"), Some(&file.step)),
            per_decode: reader.duration(&path.key("decode"), Some(&file.decode)),
            per_prefill_token: reader.duration(&path.key("prefill"), Some(&file.prefill)),
            per_kv_token: reader.duration(&path.key("kv_read"), file.kv_read.as_deref()),
        },
        token_budget: reader.positive(&path.key("token_budget"), file.token_budget, 8192),
        max_sequences: reader.positive(&path.key("max_sequences"), file.max_sequences, 256),
        kv: KvConfig {
            blocks: file.kv_blocks.map(|blocks| reader.positive(&path.key("kv_blocks"), Some(blocks), 1)),
            block_tokens: reader.positive(&path.key("block_tokens"), file.block_tokens, 16),
            reservation: match file.reserve {
                Some(ReserveFile::Full) => Reservation::Full,
                Some(ReserveFile::OnDemand) | None => Reservation::OnDemand,
            },
        },
    }
}

fn scaling(reader: &mut Reader<'_>, file: &ReplicasFile) -> Scaling {
    let path = Path::ROOT.key("replicas");
    let min = file.min.unwrap_or(1);
    let max = reader.positive(&path.key("max"), file.max, min.max(1)).get();
    if max < min {
        let problem = Problem::new(path.key("max"), "is less than `min`").found(max.to_string());
        reader.report(problem.expected(format!("at least {min}")));
    }
    if max > 1000 {
        reader.report(Problem::new(path.key("max"), "too many replicas").expected("at most 1000"));
    }
    Scaling {
        min: size(min),
        max: size(max.max(min)),
        target: size(reader.positive(&path.key("target"), file.target, 16).get()),
        concurrency: size(reader.positive(&path.key("concurrency"), file.concurrency, u64::MAX).get()),
        idle_after: file
            .idle
            .as_deref()
            .map_or(Nanos::from_secs(60), |text| reader.duration(&path.key("idle"), Some(text))),
        start: StartTime {
            at_least: reader.duration(&path.key("start"), file.start.as_deref()),
            extra_mean: reader.duration(&path.key("start_extra"), file.start_extra.as_deref()),
        },
    }
}

fn retry_after(reader: &mut Reader<'_>, file: &QueueFile) -> Nanos {
    let path = Path::ROOT.key("queue").key("retry_after");
    file.retry_after.as_deref().map_or(Nanos::from_secs(1), |text| reader.duration(&path, Some(text)))
}

fn keep_alive(reader: &mut Reader<'_>, path: &Path, file: &StreamFile) -> Option<Nanos> {
    let text = file.keep_alive.as_deref()?;
    let path = path.key("keep_alive");
    let every = reader.duration(&path, Some(text));
    if every < Nanos::from_millis(1) {
        reader.report(Problem::new(path, "too often").found(text).expected("at least `1ms`"));
    }
    Some(every)
}

fn natural_mean(reader: &mut Reader<'_>, file: &OutputFile) -> u64 {
    reader.positive(&Path::ROOT.key("output").key("natural_mean"), file.natural_mean, 200).get()
}

fn route(
    reader: &mut Reader<'_>,
    stream: &StreamFile,
    network: Option<NetworkFile>,
    tail: Option<&TailFile>,
    faults: Option<FaultsFile>,
) -> Route {
    let path = |section: &str, key: &str| Path::ROOT.key(section).key(key);
    let network = network.unwrap_or_default();
    Route {
        rtt: reader.duration(&path("network", "rtt"), network.rtt.as_deref()),
        jitter: reader.duration(&path("network", "jitter"), network.jitter.as_deref()),
        pause_share: reader.share(&path("tail", "share"), tail.map(|t| t.share.as_str())),
        pause_mean: reader.duration(&path("tail", "pause"), tail.map(|t| t.pause.as_str())),
        tokens_per_event: reader.positive(&path("stream", "tokens_per_event"), stream.tokens_per_event, 1).get(),
        hold: reader.duration(&path("stream", "hold"), stream.hold.as_deref()),
        faults: fault_shares(reader, &faults.unwrap_or_default()),
    }
}

fn fault_shares(reader: &mut Reader<'_>, file: &FaultsFile) -> Faults {
    let path = Path::ROOT.key("faults");
    let mut share = |key: &str, text: &Option<String>| reader.share(&path.key(key), text.as_deref());
    let faults = Faults {
        http_500: share("http_500", &file.http_500),
        http_503: share("http_503", &file.http_503),
        reset: share("reset", &file.reset),
        close: share("close", &file.close),
        truncate: share("truncate", &file.truncate),
        stall: share("stall", &file.stall),
        error_event: share("error_event", &file.error_event),
    };
    if faults.total() > 1.0 + 1e-9 {
        reader.report(Problem::new(path, "the shares add up to more than 100%"));
    }
    faults
}

/// Turns text into quantities and keeps the problems.
struct Reader<'a> {
    source: &'a Source,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn report(&mut self, problem: Problem) {
        self.problems.push(self.source.locate(problem, Part::Value));
    }

    /// A duration; zero if there is none, or if it is wrong and reported.
    fn duration(&mut self, path: &Path, text: Option<&str>) -> Nanos {
        let Some(text) = text else { return Nanos::ZERO };
        quantity::duration(text).unwrap_or_else(|| {
            self.report(Problem::new(path.clone(), "not a duration").found(text).expected(quantity::DURATION));
            Nanos::ZERO
        })
    }

    /// A share between 0 and 1; zero if there is none, or if it is wrong and reported.
    fn share(&mut self, path: &Path, text: Option<&str>) -> f64 {
        let Some(text) = text else { return 0.0 };
        let share = quantity::share(text);
        if share.is_none() {
            self.report(Problem::new(path.clone(), "not a share").found(text).expected(quantity::SHARE));
        }
        share.map_or(0.0, kneepoint_model::Share::get)
    }

    /// A whole number above zero; one if it is zero, which is reported.
    fn positive(&mut self, path: &Path, number: Option<u64>, default: u64) -> NonZeroU64 {
        NonZeroU64::new(number.unwrap_or(default)).unwrap_or_else(|| {
            self.report(Problem::new(path.clone(), "is zero").found("0").expected("a whole number, at least 1"));
            NonZeroU64::MIN
        })
    }
}

/// As a count in memory; more than fits is as good as no limit.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_profile_has_the_documented_defaults() {
        let profile = resolve("x", "name: x\nengine: {step: 8ms, decode: 0.1ms, prefill: 10us}\n").expect("valid");
        assert_eq!(profile.engine.cost.per_decode, Nanos(100_000));
        assert_eq!(profile.engine.token_budget.get(), 8192);
        assert_eq!(profile.engine.kv.blocks, None);
        assert_eq!((profile.scaling.min, profile.scaling.max), (1, 1));
        assert_eq!(profile.queue_limit, usize::MAX);
        assert_eq!(profile.route, Route { tokens_per_event: 1, ..Route::default() });
    }

    #[test]
    fn every_problem_is_reported_where_it_stands() {
        let text = "name: x\nengine: {step: 8, decode: 0.1ms, prefill: 10us, max_sequences: 0}\n\
                    replicas: {min: 3, max: 2}\ntail: {share: 0.5, pause: 1s}\nfaults: {stall: 60%, reset: 50%}\n";
        let problems = resolve("x.yaml", text).expect_err("five mistakes");
        let lines: Vec<Option<usize>> = problems.iter().map(|p| p.line).collect();
        assert_eq!(lines.len(), 5, "{problems}");
        for line in [2, 3, 4, 5] {
            assert!(lines.contains(&Some(line)), "line {line}: {problems}");
        }
        let text = problems.to_string();
        for expected in ["not a duration", "is zero", "less than `min`", "not a share", "more than 100%"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let problems = resolve("x", "name: x\nengin: {}\n").expect_err("a misspelt key");
        assert!(problems.to_string().contains("engin"), "{problems}");
    }
}
