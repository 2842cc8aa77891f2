//! The generator against golden numbers of an independent implementation.

use kneepoint_model::random::SplitMix64;
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    seed: u64,
    u64_hex: Vec<String>,
    below_10: Vec<u64>,
    unit: Vec<f64>,
    shuffle_0_7: Vec<u64>,
}

#[test]
fn splitmix64_gives_the_golden_numbers() {
    let fixture: Fixture =
        serde_json::from_str(include_str!("../fixtures/prng_splitmix64.json")).expect("the fixture is well formed");
    assert!(fixture.cases.len() >= 3);
    for case in fixture.cases {
        let stream = || SplitMix64::new(case.seed);
        let mut raw = stream();
        let raw: Vec<String> = case.u64_hex.iter().map(|_| format!("{:016x}", raw.next_u64())).collect();
        assert_eq!(raw, case.u64_hex, "seed {}", case.seed);
        let mut below = stream();
        assert_eq!(case.below_10.iter().map(|_| below.below(10)).collect::<Vec<_>>(), case.below_10);
        let mut unit = stream();
        for golden in case.unit {
            // serde_json may read a decimal one unit in the last place off; the raw bits were compared exactly above.
            assert!((unit.unit() - golden).abs() <= f64::EPSILON, "seed {}", case.seed);
        }
        let mut items: Vec<u64> = (0..8).collect();
        stream().shuffle(&mut items);
        assert_eq!(items, case.shuffle_0_7);
    }
}

#[test]
fn purposes_and_indices_draw_from_streams_of_their_own() {
    let first = |purpose: &str, indices: &[u64]| SplitMix64::for_purpose(7, purpose, indices).next_u64();
    let all = [first("a", &[]), first("b", &[]), first("a", &[0]), first("a", &[1]), first("a", &[0, 1])];
    for (i, value) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other != value));
    }
    assert_eq!(first("a", &[1]), first("a", &[1]));
}
