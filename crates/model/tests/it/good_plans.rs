//! Plans that must resolve, and to what.

use std::path::{Path, PathBuf};

use kneepoint_model::plan::{
    Arrival, ConnectionPolicy, Dialect, EndPolicy, HeaderText, Hold, HttpVersion, LengthControl, Level, Plan,
    ResolveContext, Search, TimeLimits, resolve,
};
use kneepoint_model::units::{Nanos, RatePerSec, Share, Tokens};
use rust_decimal::Decimal;

pub(crate) fn env(name: &str) -> Option<String> {
    match name {
        "VLLM_KEY" => Some("sk-very-secret".to_owned()),
        "TENANT" => Some("tenant-7".to_owned()),
        _ => None,
    }
}

#[track_caller]
pub(crate) fn good(text: &str) -> Plan {
    let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
    match resolve("plan.yaml", text, &context) {
        Ok(plan) => plan,
        Err(problems) => panic!("{problems}"),
    }
}

const SMALL: &str = "
kneepoint: 1
model: {id: org/tiny}
platforms:
  a: {url: 'http://127.0.0.1:8000'}
workloads:
  w: {input: 16, output: 8}
load:
  - concurrency: {sweep: [1]}
";

#[test]
fn a_small_plan_gets_every_default() {
    let plan = good(SMALL);
    assert_eq!((plan.name.as_str(), plan.seed), ("tiny", 1));
    let platform = &plan.platforms[0];
    assert_eq!(platform.dialect, Dialect::OpenaiChat);
    assert_eq!(platform.connection, ConnectionPolicy::KeepAlive);
    assert_eq!(platform.length_control, LengthControl::Auto);
    assert_eq!(platform.time_limits, TimeLimits::default());
    assert_eq!((platform.http, platform.rtt_probe), (HttpVersion::Http1, false));
    assert!(plan.workloads[0].stream && plan.slos.is_empty());
    assert_eq!(
        plan.loads[0].hold,
        Hold {
            warm_up: Nanos::from_secs(5),
            at_least: Nanos::from_secs(60),
            min_samples: 130,
            at_most: Nanos::from_secs(600),
            drain: Nanos::from_secs(120),
            at_end: EndPolicy::Drain,
        }
    );
}

#[test]
fn everything_at_once() {
    let plan = good(
        r#"
kneepoint: 1
name: llama-q1
seed: 42
model: {id: meta-llama/Llama-3.1-70B-Instruct, precision: fp16, tokenizer: ./tokenizer.json}
platforms:
  vllm:
    dialect: openai-completions
    url: https://10.0.0.5:8000/v1
    key: ${VLLM_KEY}
    model: llama
    headers: {X-Tenant: "${TENANT}", X-Trace: off}
    body: {temperature: 0, stop: ["\n"], extra: {deep: [1, 2.5, true, null, "yes"]}}
    connection: per-request
    http: 2
    rtt_probe: true
    ca: /etc/ca.pem
    length_control: min-tokens
    time_limits: {connect: 5s, first_token: 1m, between_chunks: 20s, total: 1m30s}
    price: {currency: EUR, per_hour: 1.20, per_million_input: 0.1, per_million_output: "1.50", per_request: 0}
    declares: {engine: vllm, version: 1.10, gpu: A100-80GB, gpus: 2}
workloads:
  long: {input: 512, output: 256, stream: false}
  short: {input: 1, output: 1}
load:
  - rate: {sweep: [0.5, 1, 2.25], arrival: poisson, for: 10m, min_samples: 250, max_in_flight: 900, stop_at_plateau: 5%, drain: 0s}
  - rate: {sweep: 1..3, end_when_saturated: false}
  - concurrency: {sweep: 1..64, for: 2m, warm_up: 500ms, at_most: 4m, at_end: cancel}
sla:
  realtime: {ttft: 500ms, tpot: 40ms, share: 99.5%}
  batch: {e2e: 5s, share: 0.9}
limits: {spend: 2.50 EUR, tokens: 2000000, requests: 100000, time: 1h30m, errors: 20%}
"#,
    );
    let platform = &plan.platforms[0];
    assert_eq!(plan.model.tokenizer, Some(PathBuf::from("/plans/./tokenizer.json")));
    assert_eq!(platform.declares["version"], "1.10");
    assert_eq!(platform.declares["gpus"], "2");
    assert_eq!(platform.key.as_ref().map(|key| key.value.expose()), Some("sk-very-secret"));
    assert!(matches!(&platform.headers[0].1, HeaderText::Secret(secret) if secret.variable == "TENANT"));
    assert_eq!(platform.headers[1].1, HeaderText::Plain("off".to_owned()));
    assert_eq!(
        serde_json::Value::Object(platform.body.clone()),
        serde_json::json!({"temperature": 0, "stop": ["\n"], "extra": {"deep": [1, 2.5, true, null, "yes"]}})
    );
    let limits = TimeLimits {
        connect: Nanos::from_secs(5),
        first_token: Some(Nanos::from_secs(60)),
        between_chunks: Some(Nanos::from_secs(20)),
        total: Nanos::from_secs(90),
    };
    assert_eq!(platform.time_limits, limits);
    assert_eq!((platform.http, platform.rtt_probe), (HttpVersion::Http2, true));
    assert_eq!(plan.workloads.iter().map(|w| w.name.as_str()).collect::<Vec<_>>(), ["long", "short"]);
    let half = RatePerSec::new(0.5).expect("above zero");
    assert_eq!(plan.loads[0].levels[0], Level::Rate { rate: half, arrival: Arrival::Poisson });
    assert_eq!(plan.loads[1].levels.len(), 3);
    let concurrencies: Vec<Level> = [1, 2, 4, 8, 16, 32, 64].map(Level::Concurrency).to_vec();
    assert_eq!(plan.loads[2].levels, concurrencies);
    assert_eq!([0, 1, 2].map(|load| plan.loads[load].max_in_flight), [Some(900), None, None]);
    assert_eq!(plan.points()[0].max_in_flight, Some(900));
    assert_eq!([0, 1, 2].map(|load| plan.loads[load].stop_at_plateau.map(Share::get)), [Some(0.05), None, None]);
    assert_eq!([0, 1, 2].map(|load| plan.loads[load].end_when_saturated), [true, false, false]);
    let ends: Vec<(EndPolicy, Nanos)> = plan.loads.iter().map(|load| (load.hold.at_end, load.hold.drain)).collect();
    assert_eq!(
        ends,
        [(EndPolicy::Drain, Nanos::ZERO), (EndPolicy::Drain, Nanos::from_secs(90)), (EndPolicy::Cancel, Nanos::ZERO),]
    );
    assert_eq!(plan.slos[0].share.to_string(), "99.5%");
    assert_eq!(plan.points().len(), 2 * (3 + 3 + 7));

    let text = |figure: Option<Decimal>| figure.map(|figure| figure.to_string());
    let price = platform.price.expect("a price");
    assert_eq!(price.currency.code(), "EUR");
    let figures = [price.per_hour, price.per_million_input, price.per_million_output, price.per_request].map(text);
    // As written: neither a digit more nor one less.
    assert_eq!(figures.map(Option::unwrap_or_default), ["1.20", "0.1", "1.50", "0"]);
    let limits = &plan.limits;
    assert_eq!(limits.spend.map(|spend| spend.to_string()).as_deref(), Some("2.50 EUR"));
    assert_eq!((limits.tokens, limits.requests), (Some(Tokens(2_000_000)), Some(100_000)));
    assert_eq!((limits.time, limits.errors.map(Share::get)), (Some(Nanos::from_secs(5400)), Some(0.2)));

    let yaml = plan.to_yaml();
    assert!(!yaml.contains("very-secret") && yaml.contains("${VLLM_KEY}"), "{yaml}");
    assert_eq!(good(&yaml), plan, "{yaml}");
}

#[test]
fn the_older_name_of_the_total_time_limit_is_read() {
    let total = |text: &str| good(&SMALL.replace("{url:", &format!("{{{text}, url:"))).platforms[0].time_limits;
    assert_eq!(total("request_timeout: 30s"), total("time_limits: {total: 30s}"));
    assert_eq!(total("request_timeout: 30s").total, Nanos::from_secs(30));
    // Nothing waits for a connection longer than for a whole request, unless the plan says so, and it may not.
    assert_eq!(total("request_timeout: 3s").connect, Nanos::from_secs(3));
}

#[test]
fn a_search_alone_is_a_plan() {
    let text = SMALL.replace(
        "  - concurrency: {sweep: [1]}",
        "  - search: {slo: fast, from: 0.5/s, up_to: 100, tolerance: 2%, confirm: 3, arrival: poisson, max_in_flight: 50}",
    ) + "slo:\n  other: {e2e: 9s}\n  fast: {ttft: 500ms}\n";
    let plan = good(&text);
    let rate = |rate: f64| RatePerSec::new(rate).expect("above zero");
    let load = &plan.loads[0];
    let search = Search {
        slo: 1,
        from: rate(0.5),
        at_most: rate(100.0),
        tolerance: Share::new(0.02).expect("a share"),
        arrival: Arrival::Poisson,
        confirm: 3,
    };
    assert_eq!((load.search, load.max_in_flight, load.end_when_saturated), (Some(search), Some(50), true));
    assert!(load.levels.is_empty() && plan.points().is_empty());
    // 99% can be shown by 381 requests; the lowest rate needs longer for them than ten windows.
    assert_eq!((load.hold.min_samples, load.hold.at_most), (381, Nanos::from_secs(763)));
    assert_eq!(good(&plan.to_yaml()), plan);

    // A window that is given holds what it can, if that is enough to decide.
    let held = good(&text.replace("max_in_flight: 50", "at_most: 800s")).loads[0].hold;
    assert_eq!((held.min_samples, held.at_most), (381, Nanos::from_secs(800)));
    // Where a share is decided by few, a p95 still wants its samples.
    let few = good(&text.replace("{ttft: 500ms}", "{ttft: 500ms, share: 90%}")).loads[0].hold;
    assert_eq!(few.min_samples, 130);
}

#[test]
fn a_version_of_http_is_read_with_quotes_and_without() {
    let http = |text: &str| good(&SMALL.replace("{url:", &format!("{{http: {text}, url:"))).platforms[0].http;
    assert_eq!(
        ["1.1", "'1.1'", "2", "\"2\""].map(http),
        [HttpVersion::Http1, HttpVersion::Http1, HttpVersion::Http2, HttpVersion::Http2]
    );
}
