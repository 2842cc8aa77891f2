//! Dependence, trends, steady state, Little's law and coordinated omission against worked numbers.

use kneepoint_analysis::stats::percentile::{Ppm, nearest};
use kneepoint_analysis::stats::steady_state::{Truncation, mser5};
use kneepoint_analysis::stats::{dependence, littles_law, moments, omission, slope};
use serde_json::{Value, json};

use crate::golden::{agrees, cases, fixture, numbers};

#[test]
fn batch_means_and_effective_size() {
    for case in cases(&fixture("batch_means"), "cases") {
        let values = numbers(&case["values"]);
        let rho = dependence::lag1(&values);
        agrees(rho, &case["rho1"], "rho1");
        agrees(Some(dependence::effective_size(values.len(), rho)), &case["ess_ar1"], "ess");
        let count = usize::try_from(case["batches"].as_u64().expect("batches")).expect("fits");
        let batches = dependence::batch_means(&values, count, 0.95).expect("enough values");
        for (got, want) in batches.batches.iter().zip(cases(case, "batch_means")) {
            agrees(Some(*got), want, "batch");
        }
        agrees(Some(batches.mean), &case["mean"], "mean");
        agrees(Some(batches.half_width), &case["half_width95"], "half width");
        let naive = moments::standard_deviation(&values).expect("values") / (values.len() as f64).sqrt();
        let t = kneepoint_analysis::stats::beta::t_two_sided(0.95, values.len() as f64 - 1.0);
        agrees(Some(naive * t), &case["naive_half_width95"], "naive half width");
    }
}

#[test]
fn slopes() {
    for case in cases(&fixture("oversaturation_slope"), "cases") {
        let line = slope::fit(&numbers(&case["values"])).expect("enough values");
        agrees(Some(line.slope), &case["slope"], "slope");
        agrees(Some(line.intercept), &case["intercept"], "intercept");
        agrees(Some(line.standard_error), &case["stderr"], "standard error");
        agrees(Some(line.margin95), &case["moe95"], "margin");
        agrees(Some(line.margin95 / line.slope.abs()), &case["moe_over_slope"], "margin over slope");
    }
}

#[test]
fn steady_states() {
    for case in cases(&fixture("steady_state_mser5"), "cases") {
        let (status, cut) = match mser5(&numbers(&case["values"])) {
            Truncation::TooShort => ("too_short", None),
            Truncation::Steady(cut) => ("ok", Some(cut)),
            Truncation::NoSteadyState(cut) => ("no_steady_state", Some(cut)),
        };
        assert_eq!(case["status"], json!(status), "{}", case["name"]);
        let batches = cut.as_ref().map(|c| c.batches);
        assert_eq!(case["truncate_batches"], json!(batches), "{}", case["name"]);
        assert_eq!(
            case["truncate_samples"],
            json!(cut.as_ref().map(kneepoint_analysis::stats::steady_state::Cut::samples))
        );
        agrees(cut.as_ref().map(|c| c.statistic), &case["min_value"], "statistic");
        agrees(cut.as_ref().map(|c| c.mean_after), case.get("mean_after").unwrap_or(&Value::Null), "mean after");
    }
}

#[test]
fn littles_law_by_hand() {
    for case in cases(&fixture("littles_law"), "cases") {
        let rps = case["rps"].as_f64().expect("rps");
        if let Some(concurrency) = case["concurrency"].as_f64() {
            let latency = littles_law::latency_s(concurrency, rps);
            agrees(latency, &case["implied_mean_latency_s"], "latency");
            agrees(littles_law::deviation(concurrency, rps, latency.expect("rps > 0")), &json!(0.0), "deviation");
        } else {
            let latency = case["latency_s"].as_f64().expect("latency");
            agrees(Some(littles_law::in_flight(rps, latency)), &case["implied_in_flight"], "in flight");
        }
    }
    assert_eq!(littles_law::deviation(1.0, 0.0, 1.0), None);
}

#[test]
fn omitted_values() {
    let file = fixture("coordinated_omission");
    for case in cases(&file, "cases") {
        let values: Vec<u64> = serde_json::from_value(case["values"].clone()).expect("integers");
        let corrected = omission::corrected(&values, case["expected_interval"].as_u64().expect("interval"));
        assert_eq!(json!(corrected), case["corrected_sorted"], "{}", case["name"]);
    }
    let canonical = &file["canonical"];
    let mut values = vec![1_000_u64; 10_000];
    values.push(100_000_000);
    let corrected = omission::corrected(&values, 10_000);
    assert_eq!(json!(corrected.len()), canonical["corrected_count"]);
    for (i, ppm) in cases(canonical, "ppm").iter().enumerate() {
        let ppm = Ppm(u32::try_from(ppm.as_u64().expect("ppm")).expect("fits"));
        assert_eq!(json!(nearest(&corrected, ppm)), canonical["corrected_nearest_rank"][i]);
        assert_eq!(json!(nearest(&values, ppm)), canonical["raw_nearest_rank"][i]);
    }
}

/// One stall of a first-come-first-served server: from the intended instant a fifth of the requests are slow, from the
/// sent instant a single one.
#[test]
fn latency_from_the_intended_instant_shows_the_stall() {
    let case = &fixture("coordinated_omission")["open_loop"];
    let number = |key: &str| case[key].as_f64().expect("a number");
    let count = case["requests"].as_u64().expect("requests");
    let (mut free, mut intended_ms, mut sent_ms) = (0.0_f64, Vec::new(), Vec::new());
    for i in 0..count {
        let intended = i as f64 * number("interval_ms");
        let start = free.max(intended);
        let stalls = Some(i) == case["stall_index"].as_u64();
        free = start + if stalls { number("stall_ms") } else { number("service_ms") };
        intended_ms.push(free - intended);
        sent_ms.push(free - start);
    }
    for (values, want) in [(intended_ms, &case["from_intended"]), (sent_ms, &case["from_actual_send"])] {
        let mut values = values;
        values.sort_unstable_by(f64::total_cmp);
        for (name, ppm) in [("p50", Ppm::P50), ("p90", Ppm::P90), ("p99", Ppm::P99), ("max", Ppm(1_000_000))] {
            agrees(nearest(&values, ppm), &want[name], name);
        }
        assert_eq!(json!(values.iter().filter(|v| **v > 10.0).count()), want["over_10ms"]);
    }
}
