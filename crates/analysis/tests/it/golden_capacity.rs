//! Knees, scalability, the search for the highest rate, and the network's share, against worked numbers.

use kneepoint_analysis::stats::knee::{Shape, TwoLines, kneedle, two_lines};
use kneepoint_analysis::stats::network::PlatformLatency;
use kneepoint_analysis::stats::scalability;
use kneepoint_analysis::stats::search::{RateSearch, Verdict};
use serde_json::{Value, json};

use crate::golden::{agrees, cases, fixture, numbers};

#[test]
fn kneedle_knees() {
    for case in cases(&fixture("knee_kneedle"), "cases") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let shape = if case["curve"] == "convex" { Shape::Convex } else { Shape::Concave };
        let knee = kneedle(&x, &y, shape, case["S"].as_f64().expect("S"));
        let what = case["name"].to_string();
        let want = |key: &str| case["knee"].get(key).unwrap_or(&Value::Null).clone();
        assert_eq!(json!(knee.map(|knee| knee.index)), want("index"), "{what}");
        agrees(knee.map(|knee| x[knee.index]), &want("x"), &what);
        agrees(knee.map(|knee| knee.difference), &want("difference"), &what);
        agrees(knee.map(|knee| knee.threshold), &want("threshold"), &what);
        agrees(knee.map(|knee| x[knee.index]), &case["kneed_package_knee"], &what);
    }
}

#[test]
fn two_line_knees() {
    for case in cases(&fixture("knee_two_line"), "cases") {
        let what = case["name"].to_string();
        match two_lines(&numbers(&case["x"]), &numbers(&case["y"])) {
            TwoLines::TooFewPoints => assert_eq!(case["status"], "too_few_points", "{what}"),
            TwoLines::NoKnee { single_error } => {
                assert_eq!(case["status"], "no_knee", "{what}");
                assert!((single_error - case["single_line_sse"].as_f64().expect("error")).abs() < 1e-12, "{what}");
            }
            TwoLines::Knee { at, breakpoint, error, single_error } => {
                assert_eq!(case["status"], "knee", "{what}");
                agrees(Some(at), &case["knee"], &what);
                agrees(Some(breakpoint), &case["breakpoint"], &what);
                agrees(Some(error), &case["sse"], &what);
                agrees(Some(single_error), &case["single_line_sse"], &what);
            }
        }
    }
}

#[test]
fn scalability_fits() {
    for case in cases(&fixture("usl_fit"), "cases") {
        let fit = scalability::fit(&numbers(&case["n"]), &numbers(&case["throughput"])).expect("enough points");
        let what = format!("{}: {fit:?}", case["name"]);
        let near = |got: f64, key: &str, relative: f64| {
            let want = case[key].as_f64().expect("a number");
            assert!((got - want).abs() <= relative * want.abs() + 1e-9, "{what}: {key} is not {want}");
        };
        near(fit.gamma, "gamma", 1e-6);
        near(fit.sigma, "sigma", 1e-4);
        near(fit.kappa, "kappa", 1e-4);
        near(fit.r2.expect("it varies"), "r2", 1e-9);
        assert!(fit.error <= case["sse"].as_f64().expect("sse") * (1.0 + 1e-6), "{what}");
        match fit.peak() {
            None => assert!(case["n_max"].is_null() && case["x_max"].is_null(), "{what}"),
            Some(n) => {
                near(n, "n_max", 1e-4);
                near(fit.throughput(n), "x_max", 1e-4);
            }
        }
    }
}

#[test]
fn highest_rates() {
    for case in cases(&fixture("max_rate_bisection"), "cases") {
        let trace = cases(case, "trace");
        let met = |step: &Value| step[1].as_bool().expect("met or not");
        let mut search = RateSearch::bracketed(0.5, 8.0, 0.01, 0);
        for step in trace {
            agrees(search.next_rate(), &step[0], "next rate");
            let verdict = if met(step) { Verdict::Meets } else { Verdict::Misses };
            search.report(step[0].as_f64().expect("rate"), verdict);
        }
        let found = search.result();
        assert!(found.complete && search.next_rate().is_none());
        agrees(found.meets_rps, &case["result"], "result");
        assert_eq!(found.at_most_met, trace.iter().all(met));
        if let Some(exact) = case["exact"].as_f64() {
            let (low, high) = (found.meets_rps.expect("a rate"), found.misses_rps.expect("a rate"));
            assert!(low <= exact && exact < high && high - low <= 0.01 * low, "{found:?} does not hold {exact}");
            let mut doubling = RateSearch::new(0.5, 64.0, 0.01, 5);
            let mut steps = 0;
            while let Some(rate) = doubling.next_rate() {
                steps += 1;
                doubling.report(rate, if rate <= exact { Verdict::Meets } else { Verdict::Misses });
            }
            let found = doubling.result();
            let (low, high) = (found.meets_rps.expect("a rate"), found.misses_rps.expect("a rate"));
            assert!(low <= exact && exact < high && high - low <= 0.01 * low, "{found:?}");
            assert!(found.confirmed == 5 && steps <= 4 + 7 + 5, "{steps} steps");
        }
    }
}

#[test]
fn platform_latencies() {
    for case in cases(&fixture("network"), "cases") {
        let figure = |key: &str| case[key].as_f64().expect("a number");
        let setup = u32::try_from(case["setup_rtts"].as_u64().expect("round trips")).expect("few");
        let latency = PlatformLatency::of(figure("e2e_ms"), figure("rtt_ms"), setup);
        agrees(Some(latency.half_rtt), &case["platform_seed_ms"], "half");
        agrees(Some(latency.full_rtt), &case["platform_ms"], "full");
        assert_eq!(json!(latency.is_negative()), case["flagged"], "{case}");
    }
}
