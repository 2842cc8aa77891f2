//! The engine against traces worked out by hand and against long runs of an independent implementation.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;
use kneepoint_sim::engine::{EngineConfig, KvConfig, Reservation, StepCost};
use kneepoint_sim::virtual_time::{Arrival, Completion, simulate, simulate_observed};
use serde_json::Value;

fn fixture() -> Value {
    serde_json::from_str(include_str!("../fixtures/simulator_steps.json")).expect("the fixture is JSON")
}

fn ms(value: &Value) -> Nanos {
    Nanos::from_secs_f64(value.as_f64().expect("a number of milliseconds") / 1e3)
}

fn count(value: &Value) -> NonZeroU64 {
    NonZeroU64::new(value.as_u64().expect("a count")).expect("above zero")
}

fn config(case: &Value) -> EngineConfig {
    EngineConfig {
        cost: StepCost {
            base: ms(&case["a_ms"]),
            per_decode: ms(&case["b_ms"]),
            per_prefill_token: ms(&case["c_ms"]),
            per_kv_token: Nanos::ZERO,
        },
        token_budget: case.get("max_tok").map_or(NonZeroU64::new(8192).expect("above zero"), count),
        max_sequences: case.get("max_seqs").map_or(NonZeroU64::MAX, count),
        kv: KvConfig {
            blocks: case.get("kv_blocks").map(count),
            block_tokens: case.get("block").map_or(NonZeroU64::MIN, count),
            reservation: Reservation::Full,
        },
    }
}

fn arrivals(case: &Value) -> Vec<Arrival> {
    let request = |row: &Value| Arrival {
        at: ms(&row[0]),
        prompt: row[1].as_u64().expect("prompt tokens"),
        output: row[2].as_u64().expect("output tokens"),
    };
    case["requests"].as_array().expect("requests").iter().map(request).collect()
}

#[test]
fn every_step_of_every_hand_made_trace() {
    let fixture = fixture();
    let cases = fixture["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 8);
    for case in cases {
        let mut steps = Vec::new();
        let completions = simulate_observed(&config(case), &arrivals(case), &mut |end, step| {
            steps.push((end, step.prefill_tokens, step.decodes));
        });
        let expected: Vec<(Nanos, u64, u64)> = case["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|s| (ms(&s[0]), s[1].as_u64().expect("prefill"), s[2].as_u64().expect("decodes")))
            .collect();
        assert_eq!(steps, expected, "{}", case["name"]);
        for (name, pick) in [
            ("first_token_ms", (|c: &Completion| c.tokens.first().copied()) as fn(&Completion) -> Option<Nanos>),
            ("end_ms", |c| c.tokens.last().copied()),
        ] {
            let want: Vec<Option<Nanos>> = case[name].as_array().expect("times").iter().map(|t| Some(ms(t))).collect();
            assert_eq!(completions.iter().map(pick).collect::<Vec<_>>(), want, "{} {name}", case["name"]);
        }
    }
}

#[test]
fn long_poisson_runs_match_the_independent_implementation() {
    let fixture = fixture();
    let rows = fixture["analytic_vs_simulation"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    for row in rows {
        let config = config(row);
        let rate = row["rate_rps"].as_f64().expect("rate");
        let (prompt, output) =
            (row["prompt"].as_u64().expect("prompt tokens"), row["output"].as_u64().expect("output tokens"));
        let mut random = SplitMix64::new(77);
        let mut at = 0.0;
        let arrivals: Vec<Arrival> = (0..1500)
            .map(|_| {
                at += random.exponential() / rate;
                Arrival { at: Nanos::from_secs_f64(at), prompt, output }
            })
            .collect();
        let completions = simulate(&config, &arrivals);
        let measured = &completions[400..1300];
        let mut ttft: Vec<f64> = measured.iter().map(|c| c.ttft().expect("done").as_millis_f64()).collect();
        ttft.sort_by(f64::total_cmp);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let tpot: Vec<f64> = measured.iter().map(|c| c.tpot_secs().expect("many tokens") * 1e3).collect();
        let p95 = ttft[(ttft.len() * 95).div_ceil(100) - 1];
        for (name, got) in
            [("sim_tpot_mean_ms", mean(&tpot)), ("sim_ttft_mean_ms", mean(&ttft)), ("sim_ttft_p95_ms", p95)]
        {
            let want = row[name].as_f64().expect("a number");
            assert!((got / want - 1.0).abs() < 1e-6, "{} at {rate}/s: {name} {got}, expected {want}", row["model"]);
        }
        assert_fluid_model(row, &config, rate, prompt, output);
    }
}

/// The closed form in the fixture is the one `EngineConfig` computes, and the engine is near it from above.
fn assert_fluid_model(row: &Value, config: &EngineConfig, rate: f64, prompt: u64, output: u64) {
    let want = row["analytic"]["tpot_ms"].as_f64().expect("a number");
    let fluid = config.fluid_tpot_secs(rate, prompt, output).expect("below saturation") * 1e3;
    assert!((fluid / want - 1.0).abs() < 1e-9, "fluid TPOT {fluid}, expected {want}");
    let fraction = row["fraction_of_saturation"].as_f64().expect("a fraction");
    assert!((rate / config.saturation_rate(prompt, output) - fraction).abs() < 1e-9);
    let excess = row["sim_tpot_mean_ms"].as_f64().expect("a number") / fluid - 1.0;
    assert!((0.0..0.07).contains(&excess), "{excess}");
}
