//! Laws that hold for every engine and every list of arrivals.

use std::num::NonZeroU64;

use kneepoint_model::Nanos;
use kneepoint_sim::engine::{Engine, EngineConfig, KvConfig, Reservation, SequenceId, StepCost};
use kneepoint_sim::virtual_time::{Arrival, simulate};
use proptest::prelude::*;

fn count(range: std::ops::Range<u64>) -> impl Strategy<Value = NonZeroU64> {
    range.prop_map(|n| NonZeroU64::new(n).expect("above zero"))
}

/// Engines small enough to be short of everything, but with room for the largest request (60 + 40 tokens).
fn config() -> impl Strategy<Value = EngineConfig> {
    let cost = (0_u64..1000, 0_u64..100, 0_u64..10, 0_u64..3).prop_map(|(a, b, c, d)| StepCost {
        base: Nanos(a),
        per_decode: Nanos(b),
        per_prefill_token: Nanos(c),
        per_kv_token: Nanos(d),
    });
    let reservation = prop_oneof![Just(Reservation::Full), Just(Reservation::OnDemand)];
    (cost, count(1..64), count(1..12), count(1..20), 100_u64..400, reservation).prop_map(
        |(cost, token_budget, max_sequences, block_tokens, kv_tokens, reservation)| EngineConfig {
            cost,
            token_budget,
            max_sequences,
            kv: KvConfig { blocks: NonZeroU64::new(kv_tokens.div_ceil(block_tokens.get())), block_tokens, reservation },
        },
    )
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = (0_u64..20_000, 1_u64..60, 1_u64..40);
    prop::collection::vec(arrival.prop_map(|(at, prompt, output)| Arrival { at: Nanos(at), prompt, output }), 0..30)
}

proptest! {
    #[test]
    fn every_request_completes_in_order_and_the_same_way_each_time(config in config(), arrivals in arrivals()) {
        let done = simulate(&config, &arrivals);
        prop_assert_eq!(&done, &simulate(&config, &arrivals));
        for completion in &done {
            prop_assert_eq!(completion.refusal, None);
            prop_assert_eq!(completion.tokens.len() as u64, completion.arrival.output);
            prop_assert!(completion.tokens.is_sorted());
            let admitted = completion.admitted.expect("admitted");
            prop_assert!(completion.arrival.at <= admitted && admitted <= completion.tokens[0]);
            // Never faster than alone: every token costs a step.
            let alone = config.cost.base.0 * completion.arrival.output
                + config.cost.per_prefill_token.0 * completion.arrival.prompt;
            prop_assert!(completion.e2e().expect("done").0 >= alone);
        }
        let mut by_arrival: Vec<_> = done.iter().collect();
        by_arrival.sort_by_key(|c| c.arrival.at);
        prop_assert!(by_arrival.iter().map(|c| c.admitted).is_sorted(), "first come, first admitted");
    }

    #[test]
    fn no_limit_is_ever_exceeded(config in config(), arrivals in arrivals()) {
        let mut engine = Engine::new(config);
        let mut tokens = Vec::new();
        let mut waiting = arrivals.iter().enumerate();
        let blocks = config.kv.blocks.expect("bounded").get();
        loop {
            // Two new requests a step, so that the engine is filled while it works.
            for (place, arrival) in waiting.by_ref().take(2) {
                engine.submit(SequenceId(place as u64), arrival.prompt, arrival.output).expect("fits");
            }
            let Some(step) = engine.begin_step() else { break };
            let load = engine.load();
            prop_assert!(load.kv_blocks <= blocks);
            prop_assert!(load.running as u64 <= config.max_sequences.get());
            prop_assert!(step.prefill_tokens + step.decodes <= config.token_budget.get());
            prop_assert!(step.prefill_tokens + step.decodes > 0, "a step does something");
            prop_assert!(config.kv.reservation == Reservation::OnDemand || step.preempted.is_empty());
            engine.end_step(&mut tokens);
        }
        prop_assert!(engine.is_idle());
        prop_assert_eq!(engine.load().kv_blocks, 0, "all blocks came back");
        let wanted: u64 = arrivals.iter().map(|a| a.output).sum();
        prop_assert_eq!(tokens.len() as u64, wanted);
    }

    #[test]
    fn without_shortage_full_and_on_demand_agree(config in config(), arrivals in arrivals()) {
        let mut roomy = config;
        roomy.kv.blocks = None;
        let mut other = roomy;
        roomy.kv.reservation = Reservation::Full;
        other.kv.reservation = Reservation::OnDemand;
        prop_assert_eq!(simulate(&roomy, &arrivals), simulate(&other, &arrivals));
    }
}
