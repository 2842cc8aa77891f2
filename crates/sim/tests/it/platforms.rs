//! Whole platforms in virtual time: the profiles that come with the program, and laws of every fleet.

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;
use kneepoint_sim::Profile;
use kneepoint_sim::platform::Refused;
use kneepoint_sim::virtual_time::{Arrival, Delivered, Ending, simulate, simulate_platform};
use proptest::prelude::*;

const PROMPT: u64 = 64;
const OUTPUT: u64 = 32;
/// The demonstration's levels, requests per second.
const LEVELS: [f64; 4] = [10.0, 20.0, 40.0, 80.0];
const LEVEL_SECS: f64 = 3.0;

/// The levels one after the other, as the demonstration runs them, with a pause for each drain.
fn sweep() -> Vec<(usize, Arrival)> {
    let mut random = SplitMix64::new(5);
    let mut arrivals = Vec::new();
    for (level, rate) in LEVELS.into_iter().enumerate() {
        let start = 1.0 + level as f64 * (LEVEL_SECS + 2.0);
        let mut at = start + random.exponential() / rate;
        while at < start + LEVEL_SECS {
            arrivals.push((level, Arrival { at: Nanos::from_secs_f64(at), prompt: PROMPT, output: OUTPUT }));
            at += random.exponential() / rate;
        }
    }
    arrivals
}

/// Per level, the requests of one platform.
fn measure(name: &str) -> Vec<Vec<Delivered>> {
    let profile = Profile::embedded(name).expect("listed");
    let arrivals = sweep();
    let plain: Vec<Arrival> = arrivals.iter().map(|(_, arrival)| *arrival).collect();
    let mut levels = vec![Vec::new(); LEVELS.len()];
    for ((level, _), done) in arrivals.iter().zip(simulate_platform(&profile, &plain)) {
        assert_eq!(done.ending, Ending::Complete);
        levels[*level].push(done);
    }
    levels
}

fn percentile_ms(level: &[Delivered], percent: usize, value: impl Fn(&Delivered) -> Nanos) -> f64 {
    let mut values: Vec<Nanos> = level.iter().map(value).collect();
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1].as_millis_f64()
}

fn ttft(done: &Delivered) -> Nanos {
    done.ttft().expect("complete")
}

fn e2e(done: &Delivered) -> Nanos {
    done.e2e().expect("complete")
}

#[test]
fn saturation_rates_are_those_written_in_the_profiles() {
    for (name, rate) in [("fast", 117.5), ("cheap", 58.8), ("serverless", 134.7)] {
        let got = Profile::embedded(name).expect("listed").saturation_rate(PROMPT, OUTPUT);
        assert!((got / rate - 1.0).abs() < 0.005, "{name}: {got}");
        let text = Profile::embedded_text(name).expect("listed");
        assert!(text.contains(rate.to_string().as_str()), "{name} says {rate}");
    }
    let llama = Profile::embedded("llama-70b-2xa100").expect("listed");
    assert!((llama.engine().saturation_rate(512, 256) - 3.081).abs() < 0.001);
    assert!((llama.saturation_rate(512, 256) - 2.30).abs() < 0.005);
}

#[test]
fn the_three_platforms_of_the_demonstration_trade_places() {
    let [fast, cheap, serverless] = ["fast", "cheap", "serverless"].map(measure);
    for level in 0..LEVELS.len() {
        for other in [&cheap, &serverless] {
            for percent in [50, 95] {
                let ours = percentile_ms(&fast[level], percent, ttft);
                let theirs = percentile_ms(&other[level], percent, ttft);
                assert!(ours < theirs, "fast is first at {} requests per second: {ours}, {theirs}", LEVELS[level]);
            }
        }
    }
    // Cheap is ahead of serverless at the median while it is not full, and behind it when it is.
    for level in [0, 1] {
        let (ours, theirs) = (percentile_ms(&cheap[level], 50, e2e), percentile_ms(&serverless[level], 50, e2e));
        assert!(ours < theirs, "at {} requests per second: {ours}, {theirs}", LEVELS[level]);
    }
    let (ours, theirs) = (percentile_ms(&cheap[3], 50, e2e), percentile_ms(&serverless[3], 50, e2e));
    assert!(ours > 1.5 * theirs, "at {} requests per second: {ours}, {theirs}", LEVELS[3]);
}

#[test]
fn cheap_hides_its_tail_from_the_median() {
    let cheap = measure("cheap");
    let (median, tail) = (percentile_ms(&cheap[1], 50, e2e), percentile_ms(&cheap[1], 99, e2e));
    assert!(tail > 2.0 * median, "{median}, {tail}");
    let fast = measure("fast");
    let (median, tail) = (percentile_ms(&fast[1], 50, e2e), percentile_ms(&fast[1], 99, e2e));
    assert!(tail < 2.0 * median, "{median}, {tail}");
}

#[test]
fn serverless_starts_cold_and_scales_out() {
    let serverless = measure("serverless");
    assert!(ttft(&serverless[0][0]) >= Nanos::from_millis(1200), "the first request waits for a start");
    assert!(percentile_ms(&serverless[1], 50, ttft) < 100.0, "later ones do not");
    let profile = Profile::embedded("serverless").expect("listed");
    let one = profile.engine().saturation_rate_with_seats(PROMPT, OUTPUT);
    assert!((22.0..23.0).contains(&one) && LEVELS[3] > 3.0 * one, "80 a second need four replicas");
}

#[test]
fn a_single_plain_replica_is_the_engine_itself() {
    let profile = Profile::embedded("test").expect("listed");
    let arrivals: Vec<Arrival> = sweep().into_iter().map(|(_, arrival)| arrival).collect();
    let engine = simulate(profile.engine(), &arrivals);
    let platform = simulate_platform(&profile, &arrivals);
    for (engine, platform) in engine.iter().zip(&platform) {
        assert_eq!(engine.tokens, platform.tokens);
        assert_eq!(engine.admitted, platform.admitted);
    }
}

#[test]
fn a_fleet_scales_to_zero_and_starts_again() {
    let text = "name: x\nengine: {step: 1ms, decode: 0s, prefill: 0s}\n\
                replicas: {min: 0, max: 1, idle: 2s, start: 500ms}\n";
    let profile = Profile::parse("x", text).unwrap_or_else(|problems| panic!("{problems}"));
    let arrivals = [0, 1_000, 2_900, 6_000].map(|ms| Arrival { at: Nanos::from_millis(ms), prompt: 1, output: 1 });
    let done = simulate_platform(&profile, &arrivals);
    let waits: Vec<_> = done.iter().map(|d| ttft(d).as_millis_f64()).collect();
    // Idle from 501 to 1000 ms, 1001 to 2900 ms (both under 2 s), then for over 3 s.
    assert_eq!(waits.iter().map(|w| *w > 500.0).collect::<Vec<_>>(), [true, false, false, true], "{waits:?}");
}

proptest! {
    #[test]
    fn every_request_has_an_ending_and_it_is_the_same_each_time(
        seed in 0_u64..1000,
        min in 0_u64..3,
        more in 0_u64..3,
        limit in 1_u64..20,
        concurrency in 1_u64..6,
        gaps in prop::collection::vec((0_u64..3_000, 1_u64..50, 1_u64..20), 1..60),
    ) {
        let text = format!(
            "name: x\nseed: {seed}\nengine: {{step: 100us, decode: 10us, prefill: 1us, max_sequences: 4}}\n\
             replicas: {{min: {min}, max: {}, target: 3, concurrency: {concurrency}, idle: 2ms, start: 1ms, \
             start_extra: 1ms}}\nqueue: {{limit: {limit}}}\nnetwork: {{rtt: 1ms, jitter: 1ms}}\n\
             tail: {{share: 20%, pause: 5ms}}\nfaults: {{http_500: 5%, reset: 5%, truncate: 5%}}\n",
            (min + more).max(1),
        );
        let profile = Profile::parse("x", &text).unwrap_or_else(|problems| panic!("{problems}"));
        let mut at = 0;
        let arrivals: Vec<Arrival> = gaps
            .iter()
            .map(|&(gap_us, prompt, output)| {
                at += gap_us * 1000;
                Arrival { at: Nanos(at), prompt, output }
            })
            .collect();
        let done = simulate_platform(&profile, &arrivals);
        prop_assert_eq!(&done, &simulate_platform(&profile, &arrivals));
        for entry in &done {
            prop_assert!(entry.tokens.is_sorted());
            match entry.ending {
                Ending::Complete => {
                    prop_assert_eq!(entry.tokens.len() as u64, entry.arrival.output);
                    // Never faster than one request alone on an idle replica, one network round trip away.
                    let alone = 1_000_000 + 100_000 + entry.arrival.prompt * 1_000;
                    prop_assert!(ttft(entry).0 >= alone);
                }
                Ending::Refused(refused) => {
                    prop_assert!(entry.tokens.is_empty());
                    let full = matches!(refused, Refused::QueueFull { waiting } if waiting as u64 >= limit);
                    prop_assert!(full);
                }
                Ending::Fault(_) => prop_assert!((entry.tokens.len() as u64) < entry.arrival.output),
            }
        }
    }
}
