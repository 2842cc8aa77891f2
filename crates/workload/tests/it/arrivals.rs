//! Arrivals: exact where they are constant, distributed as they should be where they are not, and always the same.

use kneepoint_model::RequestSource;
use kneepoint_model::plan::{Arrival, EndPolicy, Hold, ResolveContext, resolve};
use kneepoint_model::units::{Nanos, RatePerSec};
use kneepoint_workload::arrivals::{MAX_ARRIVALS, ScheduleError, open_loop, schedule};
use proptest::prelude::*;

fn rate(per_second: f64) -> RatePerSec {
    RatePerSec::new(per_second).expect("a rate")
}

fn hold(warm_up: Nanos, at_least: Nanos, min_samples: u64, at_most: Nanos) -> Hold {
    Hold { warm_up, at_least, min_samples, at_most, drain: Nanos::from_secs(5), at_end: EndPolicy::Drain }
}

fn held_for(seconds: u64) -> Hold {
    hold(Nanos::ZERO, Nanos::from_secs(seconds), 0, Nanos::from_secs(seconds))
}

/// Gaps in seconds, the one from the start to the first arrival among them.
fn poisson_gaps(per_second: f64, seed: u64, point: u64, n: usize) -> Vec<f64> {
    let mut before = Nanos::ZERO;
    let arrivals = schedule(rate(per_second), Arrival::Poisson, seed, point).take(n);
    arrivals
        .map(|at| {
            let gap = at.since(before).expect("ascending").as_secs_f64();
            before = at;
            gap
        })
        .collect()
}

/// A schedule with its arrivals.
#[derive(Clone, Debug, PartialEq)]
struct LaidOut {
    arrivals: Vec<Nanos>,
    measured: u64,
    window_start: Nanos,
    window_end: Nanos,
}

fn laid_out(
    hold: &Hold,
    per_second: RatePerSec,
    arrival: Arrival,
    seed: u64,
    point: u64,
) -> Result<LaidOut, ScheduleError> {
    let made = open_loop(hold, per_second, arrival, seed, point)?;
    let n = usize::try_from(made.arrivals).expect("small");
    let arrivals = schedule(per_second, arrival, seed, point).take(n).collect();
    let (window_start, window_end) = (made.window_start, made.window_end);
    Ok(LaidOut { arrivals, measured: made.measured, window_start, window_end })
}

fn in_window(schedule: &LaidOut) -> usize {
    schedule.arrivals.iter().filter(|&&at| at >= schedule.window_start).count()
}

#[test]
fn a_constant_rate_makes_exactly_rate_times_duration_arrivals() {
    let cases =
        [(40.0, 60, 2_400), (3.0, 600, 1_800), (0.1, 60, 6), (7.3, 60, 438), (1.1, 36_000, 39_600), (999.9, 10, 9_999)];
    for (per_second, seconds, wanted) in cases {
        let made = laid_out(&held_for(seconds), rate(per_second), Arrival::Constant, 1, 0).expect("a schedule");
        assert_eq!(made.arrivals.len(), wanted, "{per_second}/s for {seconds} s");
        assert_eq!(made.window_end, Nanos::from_secs(seconds));
    }
}

#[test]
fn constant_gaps_vary_by_a_nanosecond_at_most_and_do_not_drift_for_hours() {
    for per_second in [3_u64, 7, 40, 333, 1_000] {
        // Three hours, against exact integer arithmetic.
        let n = usize::try_from(per_second * 3 * 3_600).expect("small");
        #[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
        let arrivals = schedule(rate(per_second as f64), Arrival::Constant, 1, 0).take(n);
        let mut before = None;
        for (i, at) in arrivals.enumerate() {
            let twice = 2 * u128::try_from(i).expect("small") * 1_000_000_000;
            let exact = (twice + u128::from(per_second)) / (2 * u128::from(per_second));
            assert_eq!(u128::from(at.0), exact, "arrival {i} at {per_second}/s");
            if let Some(before) = before {
                let gap = at.since(before).expect("ascending").0;
                let floor = 1_000_000_000 / per_second;
                assert!(gap == floor || gap == floor + 1, "gap {gap} at {per_second}/s");
            }
            before = Some(at);
        }
    }
}

/// "Constant" rates that are exponential, and unseeded (inference-perf draws the gaps of its constant load from an
/// exponential distribution, anew every time).
///
/// Constant gaps have no spread (a standard deviation below 1% of the mean; exponential ones have 100%), and a seed means
/// one schedule and one set of prompts, byte for byte. That what leaves the client keeps to it is in
/// `crates/cli/tests/it/rivals.rs`.
#[test]
fn a_constant_rate_is_constant_and_seeded() {
    for per_second in [0.7, 40.0, 999.0] {
        let made = laid_out(&held_for(60), rate(per_second), Arrival::Constant, 1, 0).expect("a schedule");
        let gaps: Vec<f64> = made.arrivals.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(variance.sqrt() / mean < 0.01, "{per_second}/s");
    }
    for arrival in ["constant", "poisson"] {
        let sent = |seed: u64| {
            let text = format!(
                "{{kneepoint: 1, name: seeded, seed: {seed}, model: {{id: m}}, platforms: {{p: {{url: 'http://127.0.0.1:1'}}}}, \
                 workloads: {{w: {{input: 40, output: 1}}}}, load: [{{rate: {{sweep: [20], arrival: {arrival}, for: 10s}}}}]}}"
            );
            let context = ResolveContext { base_dir: std::path::Path::new("/"), env: &|_| None };
            let plan = resolve("seeded", &text, &context).unwrap_or_else(|problems| panic!("{problems}"));
            let (source, point) = (kneepoint_workload::source(&plan).expect("requests"), plan.points()[0]);
            let mut bytes = Vec::new();
            for (index, at) in (0..200).zip(source.arrivals(0, &point)) {
                bytes.extend_from_slice(&at.0.to_le_bytes());
                bytes.extend_from_slice(source.prompt(0, &point, index).text.as_bytes());
            }
            bytes
        };
        assert!(sent(7) == sent(7), "{arrival}: one seed, one schedule and one set of prompts");
        assert!(sent(7) != sent(8), "{arrival}: another seed, others");
    }
}

/// Poisson arrivals rescaled to an exact total (vLLM): the gaps are then not exponential.
///
/// Kolmogorov–Smirnov against the exponential distribution, first arrival included, at p = 0.001 a seed.
#[test]
fn poisson_gaps_are_exponential() {
    // Kolmogorov–Smirnov: at this bound a right generator fails one seed in a thousand.
    let n = 10_000;
    let bound = 1.95 / f64::sqrt(n as f64);
    for seed in 1..=12 {
        let per_second = 25.0;
        let mut gaps = poisson_gaps(per_second, seed, 3, n);
        gaps.sort_by(f64::total_cmp);
        let distance = gaps.iter().enumerate().fold(0.0, |worst: f64, (i, gap)| {
            let expected = 1.0 - (-gap * per_second).exp();
            let (below, above) = (i as f64 / n as f64, (i + 1) as f64 / n as f64);
            worst.max((expected - below).abs()).max((above - expected).abs())
        });
        assert!(distance < bound, "seed {seed}: distance {distance} over {bound}");
    }
}

#[test]
fn poisson_gaps_do_not_depend_on_each_other() {
    for seed in 1..=12 {
        let n = 10_000;
        let gaps = poisson_gaps(1.0, seed, 0, n);
        let covariance = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>() / n as f64;
        // The standard error of the lag-1 correlation is 1/√n = 0.01.
        assert!(covariance.abs() < 0.04, "seed {seed}: lag-1 correlation {covariance}");
    }
}

/// Poisson arrivals built to an exact total, or anew for each second (vLLM, inference-perf): every second, or every run,
/// then holds the same number, and bursts and lulls longer than that are missing.
///
/// The counts of any span vary as much as their mean: of a tenth of a second, a second, a minute, and of whole runs.
#[test]
fn poisson_counts_vary_as_much_as_their_mean() {
    let per_second = 20.0;
    let check = |what: &str, wanted: f64, counts: &[f64]| {
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Standard errors of the mean, √(mean ÷ n), and of variance ÷ mean, √(2 ÷ n + 1 ÷ (n · mean)); four of each are
        // passed by one right generator in 16,000.
        assert!((mean - wanted).abs() < 4.0 * (wanted / n).sqrt(), "{what}: mean {mean}");
        let bound = 4.0 * (2.0 / n + 1.0 / (n * wanted)).sqrt();
        assert!((variance / mean - 1.0).abs() < bound, "{what}: variance ÷ mean {}", variance / mean);
    };
    let seconds = 24_000;
    let made = laid_out(&held_for(seconds), rate(per_second), Arrival::Poisson, 9, 1).expect("a schedule");
    for (what, span) in [("0.1 s", 100_000_000), ("1 s", 1_000_000_000), ("60 s", 60_000_000_000)] {
        let mut counts = vec![0.0_f64; usize::try_from(seconds * 1_000_000_000 / span).expect("small")];
        for at in &made.arrivals {
            counts[usize::try_from(at.0 / span).expect("small")] += 1.0;
        }
        check(what, per_second * span as f64 / 1e9, &counts);
    }
    let totals: Vec<f64> = (0..2_000)
        .map(|seed| {
            laid_out(&held_for(5), rate(per_second), Arrival::Poisson, seed, 0).expect("a schedule").measured as f64
        })
        .collect();
    check("runs of 5 s", per_second * 5.0, &totals);
}

#[test]
fn another_rate_stretches_the_same_pattern() {
    let slow = poisson_gaps(1.0, 4, 4, 1_000);
    let fast = poisson_gaps(8.0, 4, 4, 1_000);
    assert!(slow.iter().zip(&fast).all(|(slow, fast)| (slow / 8.0 - fast).abs() < 2e-9));
}

#[test]
fn the_schedule_of_a_seed_never_changes() {
    // Golden values: a change here changes what every published seed means.
    let first = |arrival| -> Vec<u64> { schedule(rate(10.0), arrival, 1, 0).take(10).map(|at| at.0).collect() };
    let constant: Vec<u64> = (0..10).map(|i| i * 100_000_000).collect();
    assert_eq!(first(Arrival::Constant), constant);
    assert_eq!(
        first(Arrival::Poisson),
        [
            91_867_551,
            263_885_823,
            411_637_991,
            532_560_278,
            626_717_961,
            728_148_834,
            766_502_702,
            971_199_998,
            1_009_125_043,
            1_103_758_732
        ]
    );
    let digest =
        schedule(rate(10.0), Arrival::Poisson, 1, 0).take(100_000).fold(0xcbf2_9ce4_8422_2325_u64, |hash, at| {
            at.0.to_le_bytes().iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        });
    assert_eq!(digest, 0x8967_7384_0672_5db8);
}

#[test]
fn seeds_and_points_have_schedules_of_their_own() {
    let of = |seed, point| laid_out(&held_for(60), rate(5.0), Arrival::Poisson, seed, point).expect("a schedule");
    assert_eq!(of(1, 0), of(1, 0));
    assert_ne!(of(1, 0).arrivals, of(2, 0).arrivals);
    assert_ne!(of(1, 0).arrivals, of(1, 1).arrivals);
}

#[test]
fn the_window_waits_for_the_samples_but_not_beyond_the_limit() {
    let s = Nanos::from_secs;
    // 2/s: 100 samples take 50 s, more than the 10 s asked for.
    let made = laid_out(&hold(s(4), s(10), 100, s(600)), rate(2.0), Arrival::Constant, 1, 0).expect("a schedule");
    assert_eq!((made.window_start, made.window_end), (s(4), s(54)));
    assert_eq!((made.arrivals.len(), in_window(&made)), (108, 100));
    // The limit comes first.
    let made = laid_out(&hold(s(4), s(10), 100, s(30)), rate(2.0), Arrival::Constant, 1, 0).expect("a schedule");
    assert_eq!((made.window_end, in_window(&made)), (s(34), 60));
    // The samples come early.
    let made = laid_out(&hold(s(4), s(10), 3, s(30)), rate(2.0), Arrival::Constant, 1, 0).expect("a schedule");
    assert_eq!((made.window_end, in_window(&made)), (s(14), 20));
}

#[test]
fn a_window_that_waits_for_poisson_samples_offers_the_right_rate() {
    let s = Nanos::from_secs;
    let hold = hold(s(10), s(1), 50, s(36_000));
    let rates = (0..2_000).map(|point| {
        let made = laid_out(&hold, rate(2.0), Arrival::Poisson, 5, point).expect("a schedule");
        assert_eq!(in_window(&made), 50);
        50.0 / (made.window_end.since(made.window_start).expect("after").as_secs_f64())
    });
    let mean = rates.sum::<f64>() / 2_000.0;
    // The standard error is 2/√(48 × 2000) = 0.0065; ending on the last sample itself would give 2.04.
    assert!((mean - 2.0).abs() < 0.02, "mean offered rate {mean}");
}

#[test]
fn what_cannot_be_held_or_measured_is_refused() {
    let hour = Nanos::from_secs(3_600);
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let refused = laid_out(&hold(Nanos::ZERO, hour, 0, hour), rate(1e9), arrival, 1, 0);
        assert_eq!(refused, Err(ScheduleError::TooManyArrivals));
        let long_warm_up = hold(hour, hour, 0, hour);
        assert_eq!(laid_out(&long_warm_up, rate(1e-5), arrival, 1, 0), Err(ScheduleError::EmptyWindow));
        // Far beyond the clock's end.
        assert_eq!(laid_out(&long_warm_up, rate(1e-300), arrival, 1, 0), Err(ScheduleError::EmptyWindow));
    }
    assert!(ScheduleError::TooManyArrivals.to_string().contains(&MAX_ARRIVALS.to_string()));
}

proptest! {
    #[test]
    fn every_schedule_keeps_its_rules(
        per_second in 0.01_f64..2_000.0,
        poisson: bool,
        seed: u64,
        point in 0_u64..1_000,
        warm_up_ms in 0_u64..3_000,
        at_least_ms in 1_u64..5_000,
        longer_ms in 0_u64..5_000,
        min_samples in 0_u64..3_000,
    ) {
        let arrival = if poisson { Arrival::Poisson } else { Arrival::Constant };
        let ms = Nanos::from_millis;
        let hold = hold(ms(warm_up_ms), ms(at_least_ms), min_samples, ms(at_least_ms + longer_ms));
        match laid_out(&hold, rate(per_second), arrival, seed, point) {
            Err(error) => prop_assert_eq!(error, ScheduleError::EmptyWindow),
            Ok(made) => {
                prop_assert!(made.arrivals.is_sorted());
                prop_assert!(made.arrivals.last().is_some_and(|&last| last < made.window_end));
                prop_assert_eq!(made.window_start, hold.warm_up);
                prop_assert!(made.window_end >= hold.warm_up + hold.at_least);
                prop_assert!(made.window_end <= hold.warm_up + hold.at_most);
                let n = in_window(&made) as u64;
                prop_assert_eq!(n, made.measured);
                prop_assert!(n >= min_samples || made.window_end == hold.warm_up + hold.at_most);
                // Nothing left out: the next arrival of the endless schedule lies at or past the end.
                let next = schedule(rate(per_second), arrival, seed, point).nth(made.arrivals.len());
                prop_assert!(next.is_some_and(|next| next >= made.window_end));
                prop_assert_eq!(laid_out(&hold, rate(per_second), arrival, seed, point), Ok(made));
            }
        }
    }
}
