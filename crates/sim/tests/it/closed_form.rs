//! Where the constants say what must come out: batch 1, saturation, the knee.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;
use kneepoint_sim::engine::{EngineConfig, KvConfig, Reservation, StepCost};
use kneepoint_sim::virtual_time::{Arrival, Completion, simulate};

fn config() -> EngineConfig {
    EngineConfig {
        cost: StepCost {
            base: Nanos(8_000_000),
            per_decode: Nanos(120_000),
            per_prefill_token: Nanos(15_000),
            per_kv_token: Nanos::ZERO,
        },
        token_budget: NonZeroU64::new(2048).expect("above zero"),
        max_sequences: NonZeroU64::new(256).expect("above zero"),
        kv: KvConfig {
            blocks: None,
            block_tokens: NonZeroU64::new(16).expect("above zero"),
            reservation: Reservation::OnDemand,
        },
    }
}

fn poisson(rate: f64, count: usize, prompt: u64, output: u64) -> Vec<Arrival> {
    let mut random = SplitMix64::new(3);
    let mut at = 0.0;
    (0..count)
        .map(|_| {
            at += random.exponential() / rate;
            Arrival { at: Nanos::from_secs_f64(at), prompt, output }
        })
        .collect()
}

/// Completions per second between a quarter and three quarters of the completions.
fn throughput(completions: &[Completion]) -> f64 {
    let mut ends: Vec<Nanos> = completions.iter().map(|c| *c.tokens.last().expect("done")).collect();
    ends.sort_unstable();
    let (from, to) = (ends.len() / 4, ends.len() * 3 / 4);
    (to - from) as f64 / (ends[to].0 - ends[from].0) as f64 * 1e9
}

#[test]
fn a_lone_request_takes_what_the_constants_say() {
    let mut config = config();
    config.cost.per_kv_token = Nanos(70);
    let StepCost { base, per_decode, per_prefill_token, per_kv_token } = config.cost;
    for (prompt, output) in [(1_u64, 1_u64), (64, 32), (2048, 2), (2049, 5), (5000, 100)] {
        let done = &simulate(&config, &[Arrival { at: Nanos(5), prompt, output }])[0];
        // The prompt in chunks of the budget; each chunk reads what the chunks before it left in the cache.
        let budget = config.token_budget.get();
        let chunks = prompt.div_ceil(budget);
        let read: u64 = (0..chunks).map(|chunk| chunk * budget).sum();
        let ttft = chunks * base.0 + prompt * per_prefill_token.0 + read * per_kv_token.0;
        assert_eq!(done.ttft(), Some(Nanos(ttft)), "{prompt} tokens in");
        for (i, pair) in done.tokens.windows(2).enumerate() {
            let cached = prompt + i as u64;
            assert_eq!(pair[1].0 - pair[0].0, base.0 + per_decode.0 + cached * per_kv_token.0);
        }
        assert_eq!(done.tokens.len() as u64, output);
    }
}

#[test]
fn throughput_follows_the_load_and_saturates_where_the_constants_say() {
    let (prompt, output) = (64, 32);
    let mut config = config();
    config.max_sequences = NonZeroU64::MAX;
    let saturation = config.saturation_rate(prompt, output);
    assert!((saturation - 1.0 / (31.0 * 120e-6 + 64.0 * 15e-6)).abs() < 1e-9);
    for share in [0.2, 0.5, 0.8] {
        let got = throughput(&simulate(&config, &poisson(share * saturation, 4000, prompt, output)));
        assert!((got / (share * saturation) - 1.0).abs() < 0.05, "{share}: {got} of {saturation}");
    }
    for share in [2.0, 5.0] {
        let got = throughput(&simulate(&config, &poisson(share * saturation, 8000, prompt, output)));
        assert!((0.9..=1.001).contains(&(got / saturation)), "{share}: {got} of {saturation}");
    }
}

#[test]
fn a_limit_of_seats_lowers_the_ceiling_as_the_formula_says() {
    let (prompt, output) = (64, 32);
    let mut config = config();
    for seats in [1, 4, 16, 64] {
        config.max_sequences = NonZeroU64::new(seats).expect("above zero");
        let ceiling = config.saturation_rate_with_seats(prompt, output);
        let got = throughput(&simulate(&config, &poisson(5.0 * ceiling, 2000, prompt, output)));
        // The formula leaves out the base time of the step that computes the prompt: one part in `output` or less.
        assert!((0.95..=1.001).contains(&(got / ceiling)), "{seats} seats: {got} of {ceiling}");
    }
}

#[test]
fn the_latency_curve_has_its_knee_where_the_constants_say() {
    let (prompt, output) = (64, 32);
    let mut config = config();
    config.max_sequences = NonZeroU64::MAX;
    let saturation = config.saturation_rate(prompt, output);
    let tpot = |share: f64| {
        let done = simulate(&config, &poisson(share * saturation, 12_000, prompt, output));
        let middle = &done[4000..11_000];
        middle.iter().map(|c| c.tpot_secs().expect("many tokens")).sum::<f64>() / middle.len() as f64
    };
    let shares = [0.1, 0.3, 0.5, 0.7, 0.8, 0.85];
    let curve = shares.map(tpot);
    for (share, got) in shares.into_iter().zip(curve) {
        let fluid = config.fluid_tpot_secs(share * saturation, prompt, output).expect("below saturation");
        assert!((0.95..1.15).contains(&(got / fluid)), "at {share} of saturation: {got}, fluid {fluid}");
    }
    // The slope at least doubles from one third of the way to the next: flat, bent, steep.
    let slope = |i: usize, j: usize| (curve[j] - curve[i]) / (shares[j] - shares[i]);
    assert!(slope(2, 3) > 2.0 * slope(0, 2) && slope(4, 5) > 2.0 * slope(2, 3), "{curve:?}");
    assert_eq!(config.fluid_tpot_secs(1.001 * saturation, prompt, output), None);
}
