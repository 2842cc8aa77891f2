//! Constants that make the engine a textbook queue must give the textbook's waiting times.
//!
//! The waits of one long run are correlated, so each run carries its own standard error, from the means of 40
//! batches. A test passes if the formula lies within four of them, and only if they are small enough to tell.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;
use kneepoint_sim::engine::{EngineConfig, KvConfig, Reservation, StepCost};
use kneepoint_sim::virtual_time::{Arrival, Completion, simulate};
use serde_json::Value;

/// Prompt tokens that take one unit of time (a second).
const TOKENS_A_UNIT: f64 = 1e6;

fn fixture() -> Value {
    serde_json::from_str(include_str!("../fixtures/queueing.json")).expect("the fixture is JSON")
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} is a number"))
}

fn engine(cost: StepCost, seats: u64) -> EngineConfig {
    EngineConfig {
        cost,
        token_budget: NonZeroU64::MAX,
        max_sequences: NonZeroU64::new(seats).expect("above zero"),
        kv: KvConfig { blocks: None, block_tokens: NonZeroU64::MIN, reservation: Reservation::Full },
    }
}

/// One seat and one output token: each request is one step of `prompt` microseconds.
fn single_server(rate: f64, count: usize, mut prompt: impl FnMut(&mut SplitMix64) -> u64) -> Vec<f64> {
    let config = engine(StepCost { per_prefill_token: Nanos(1_000), ..StepCost::default() }, 1);
    let mut random = SplitMix64::new(7);
    let mut at = 0.0;
    let arrivals: Vec<Arrival> = (0..count)
        .map(|_| {
            at += random.exponential() / rate;
            Arrival { at: Nanos::from_secs_f64(at), prompt: prompt(&mut random), output: 1 }
        })
        .collect();
    waits(&simulate(&config, &arrivals))
}

/// At least one token, else the nearest whole number.
fn tokens(mean: f64, random: &mut SplitMix64) -> u64 {
    Nanos::from_secs_f64(mean * random.exponential() / 1e9).0.max(1)
}

fn waits(completions: &[Completion]) -> Vec<f64> {
    completions.iter().map(|c| c.wait().expect("admitted").as_secs_f64()).collect()
}

fn assert_mean(what: &str, samples: &[f64], expected: f64) {
    const BATCHES: usize = 40;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let means: Vec<f64> = samples.chunks_exact(samples.len() / BATCHES).map(mean).collect();
    let centre = mean(&means);
    let variance = means.iter().map(|m| (m - centre).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    let error = (variance / means.len() as f64).sqrt();
    assert!(error < 0.1 * expected, "{what}: standard error {error} is too wide for {expected}");
    assert!((centre - expected).abs() < 4.0 * error, "{what}: wait {centre} ± {error}, formula {expected}");
}

#[test]
fn exponential_prompts_on_one_seat_wait_as_in_an_mm1_queue() {
    for row in fixture()["cases"].as_array().expect("cases") {
        let rate = number(row, "lam");
        let samples = single_server(rate, 60_000, |random| tokens(TOKENS_A_UNIT, random));
        assert_mean(&format!("M/M/1 at {rate}"), &samples, number(row, "wq_mm1"));
    }
}

#[test]
fn equal_prompts_on_one_seat_wait_as_in_an_md1_queue() {
    for row in fixture()["cases"].as_array().expect("cases") {
        let rate = number(row, "lam");
        let samples = single_server(rate, 60_000, |_| 1_000_000);
        assert_mean(&format!("M/D/1 at {rate}"), &samples, number(row, "wq_md1"));
    }
}

/// With `b = c = 0`, sequences in the batch do not slow each other: a seat is a server that works one step a token.
/// Geometric lengths are the exponential service of an M/M/c queue in steps of `a`; admission waits for the end of
/// the step under way, half of `a` in the mean.
#[test]
fn geometric_outputs_on_several_seats_wait_as_in_an_mmc_queue() {
    const STEP_S: f64 = 0.02;
    for row in fixture()["mmc"].as_array().expect("rows") {
        let (rate, seats) = (number(row, "lam"), row["c"].as_u64().expect("seats"));
        let config = engine(StepCost { base: Nanos::from_secs_f64(STEP_S), ..StepCost::default() }, seats);
        let mut random = SplitMix64::new(11);
        let mut at = 0.0;
        let arrivals: Vec<Arrival> = (0..120_000)
            .map(|_| {
                at += random.exponential() / rate;
                // P(length > k) = (1 − STEP_S)^k, so that the mean service is exactly one unit.
                let steps = (random.exponential() / -(-STEP_S).ln_1p()).ceil();
                Arrival { at: Nanos::from_secs_f64(at), prompt: 1, output: Nanos::from_secs_f64(steps / 1e9).0.max(1) }
            })
            .collect();
        let samples = waits(&simulate(&config, &arrivals));
        assert_mean(&format!("M/M/{seats} at {rate}"), &samples, number(row, "wq") + STEP_S / 2.0);
    }
}
