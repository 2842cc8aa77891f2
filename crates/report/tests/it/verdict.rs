//! The verdict: a claim is made only as far as valid points and their intervals carry it.

use kneepoint_model::summary::{Interval, ReasonCode, Severity};
use kneepoint_report::{Language, markdown};

use crate::sample::{SHAPES, Sample, Shape, reason, sample};

const TWO: [Shape; 2] = [
    Shape { name: "fast", capacity: 40.0, ttft_ms: 60.0, spread: 0.2 },
    Shape { name: "slow", capacity: 12.0, ttft_ms: 200.0, spread: 0.3 },
];

fn verdict(run: &Sample) -> String {
    let text = markdown(&[run.run()], Language::English).text;
    let from = text.split("## Verdict").nth(1).unwrap();
    from.split("## Read this first").next().unwrap().replace('\\', "")
}

/// Marks a point as missing its SLO, with this interval.
fn miss(run: &mut Sample, index: usize, interval: (f64, f64)) {
    let slo = run.point(index).slo.get_mut("realtime").unwrap();
    slo.attainment = Some(f64::midpoint(interval.0, interval.1));
    slo.ci95 = Some(Interval(Some(interval.0), Some(interval.1)));
    slo.met = Some(slo.attainment.unwrap() >= slo.share);
}

/// `fast` meets the SLO at 4 and 8 req/s; `slow` at 4 only, and at 8 as told.
fn duel(at_eight: (f64, f64)) -> Sample {
    let mut run = sample("duel", &TWO, &[4.0, 8.0]);
    for index in [0, 1, 2] {
        miss(&mut run, index, (0.97, 0.99));
    }
    miss(&mut run, 3, at_eight);
    run
}

#[test]
fn a_clear_lead_is_called_one() {
    let text = verdict(&duel((0.50, 0.60)));
    assert!(text.contains("fast carries the most load: 8 req/s. The difference is clear"), "{text}");
    assert!(text.contains("slow: met it up to 4 req/s"), "{text}");
}

#[test]
fn a_lead_within_the_interval_is_not_certain() {
    let text = verdict(&duel((0.92, 0.96)));
    assert!(text.contains("the lead is not certain: the interval of slow (92%–96% at 8 req/s)"), "{text}");
}

#[test]
fn a_headline_says_itself_that_it_is_not_certain() {
    let unsure = |run: &mut Sample, index: usize| {
        run.point(index).slo.get_mut("realtime").unwrap().offered = 20;
        miss(run, index, (0.91, 1.0));
        run.point(index).slo.get_mut("realtime").unwrap().met = Some(true);
    };
    let headline = |run: &Sample| verdict(run).lines().find(|l| l.starts_with("**")).unwrap().to_owned();
    // Alone.
    let mut run = sample("one", &TWO[..1], &[4.0]);
    miss(&mut run, 0, (0.97, 0.99));
    assert_eq!(headline(&run), "**fast met it up to 4 req/s.**");
    unsure(&mut run, 0);
    let why = "that is not certain: with n = 20, the 95% interval of fast (91%–100% at";
    assert!(
        headline(&run).starts_with(&format!("**fast met it up to 4 req/s, but {why} 4 req/s)")),
        "{}",
        headline(&run)
    );
    // In the lead.
    let mut run = duel((0.50, 0.60));
    unsure(&mut run, 1);
    let text = headline(&run);
    assert!(text.contains("not certain: with n = 20, the 95% interval of fast (91%–100% at 8 req/s)"), "{text}");
    // In a tie.
    let mut run = duel((0.97, 0.99));
    assert!(!headline(&run).contains("not certain"), "{}", headline(&run));
    unsure(&mut run, 1);
    assert!(headline(&run).contains(&format!("{why} 8 req/s)")), "{}", headline(&run));
}

#[test]
fn a_point_that_is_not_valid_decides_nothing() {
    let mut run = duel((0.10, 0.20));
    run.point(3).valid = false;
    run.point(3).reasons.push(reason(ReasonCode::ClientLate, Severity::Invalid, Some(9.0), Some(5.0)));
    let text = verdict(&run);
    assert!(text.contains("not certain: slow has no valid measurement at or above that load"), "{text}");
    assert!(text.contains("Not valid, and so not used: 8 req/s."), "{text}");
    // Nor does it win.
    let mut run = duel((0.50, 0.60));
    run.point(1).valid = false;
    let text = verdict(&run);
    assert!(!text.contains("fast carries the most load: 8"), "{text}");
}

#[test]
fn equal_loads_are_a_tie_which_latency_may_break() {
    let text = verdict(&duel((0.97, 0.99)));
    assert!(text.contains("A tie on load: fast and slow met it at 8 req/s"), "{text}");
    assert!(text.contains("Compared at that load: fast has the lowest TTFT p95"), "{text}");
    assert!(text.contains("highest level tested"), "{text}");
}

#[test]
fn overlapping_latencies_are_a_tie() {
    let mut run = duel((0.97, 0.99));
    run.point(3).ttft_ms = run.point(1).ttft_ms.clone();
    let text = verdict(&run);
    assert!(text.contains("fast and slow tie for the lowest TTFT p95: their intervals overlap."), "{text}");
}

#[test]
fn small_samples_are_not_compared() {
    let mut run = duel((0.97, 0.99));
    for index in [1, 3] {
        run.point(index).ttft_ms = crate::sample::distribution(50, 100.0, 0.2);
    }
    let text = verdict(&run);
    assert!(text.contains("fast and slow tie for the lowest TTFT p50"), "the median is what n supports: {text}");
    assert!(text.contains("p95 n too small (n = 50, needs 130)"), "{text}");
    run.point(3).ttft_ms.ci95.clear();
    let text = verdict(&run);
    assert!(text.contains("TTFT p95 cannot be compared: n is too small for intervals."), "{text}");
}

#[test]
fn a_lower_level_that_missed_is_told() {
    let mut run = duel((0.50, 0.60));
    miss(&mut run, 0, (0.80, 0.90));
    let text = verdict(&run);
    assert!(text.contains("At the lower level 4 req/s it missed"), "{text}");
}

#[test]
fn nothing_valid_means_no_verdict() {
    let mut run = sample("none", &TWO, &[4.0]);
    for p in &mut run.summary.points {
        p.valid = false;
    }
    let text = verdict(&run);
    assert!(text.contains("No platform met it at any valid load level."), "{text}");
    assert!(text.contains("fast: no valid load level, so no verdict."), "{text}");
}

#[test]
fn an_slo_nobody_can_judge_is_said_to_be_so() {
    let mut run = sample("na", &TWO[..1], &[4.0]);
    let slo = run.point(0).slo.get_mut("realtime").unwrap();
    (slo.met, slo.attainment, slo.ci95, slo.goodput_rps) = (None, None, None, None);
    let text = verdict(&run);
    assert!(text.contains("fast: cannot be judged by this SLO"), "{text}");
}

#[test]
fn without_points_there_is_a_report_all_the_same() {
    for language in Language::ALL {
        let run = sample("empty", &[], &[]);
        let report = markdown(&[run.run()], language);
        assert!(report.svgs.is_empty());
        let none = markdown(&[], language);
        assert!(none.text.starts_with("# "));
    }
}

#[test]
fn workloads_are_judged_apart() {
    let mut run = sample("two", &SHAPES[..1], &[1.0, 2.0, 4.0, 8.0]);
    for index in [2, 3] {
        run.point(index).workload = "long".into();
    }
    let text = verdict(&run);
    assert!(
        text.contains("fixed, open loop — SLO realtime: TTFT ≤ 500 ms, TPOT ≤ 40 ms, for at least 95% of requests"),
        "{text}"
    );
    assert!(text.contains("long, open loop — SLO realtime"), "{text}");
}

#[test]
fn runs_are_told_apart_by_as_little_as_it_takes() {
    let mut runs = vec![sample("monday", &TWO[..1], &[4.0]), sample("tuesday", &TWO[..1], &[4.0])];
    let first_line = |runs: &[Sample]| {
        let text = markdown(&runs.iter().map(Sample::run).collect::<Vec<_>>(), Language::English).text;
        text.lines().filter(|l| l.starts_with("- fast")).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    assert!(first_line(&runs).starts_with("- fast · monday: "), "{}", first_line(&runs));
    runs[1].summary.run.name = "monday".into();
    assert!(first_line(&runs).starts_with("- fast · \\#1: "), "{}", first_line(&runs));
    for (started, label) in [
        ("2026-11-30T09:02:11Z", "- fast · 09:02: "),
        ("2026-11-30T08:15:07Z", "- fast · 08:15:07: "),
        ("2026-12-01T08:15:00Z", "- fast · 12-01 08:15: "),
    ] {
        runs[1].summary.run.started = started.into();
        assert!(first_line(&runs).contains(label), "{}", first_line(&runs));
    }
    // Of three runs one has a name of its own.
    runs.push(sample("tuesday", &TWO[..1], &[4.0]));
    let text = first_line(&runs);
    for label in ["- fast · monday 11-30 08:15: ", "- fast · monday 12-01 08:15: ", "- fast · tuesday: "] {
        assert!(text.contains(label), "{text}");
    }
}
