//! Percentiles, their intervals, sample-size floors, proportions and the bootstrap against worked numbers.

use kneepoint_analysis::stats::percentile::{Ppm, linear_type7, nearest};
use kneepoint_analysis::stats::{bootstrap, early_stopping, proportion, quantile_interval};
use serde_json::Value;

use crate::golden::{agrees, cases, fixture, numbers};

fn ppm(value: &Value) -> Ppm {
    Ppm(u32::try_from(value.as_u64().expect("ppm")).expect("fits"))
}

#[test]
fn percentiles() {
    for case in cases(&fixture("percentiles"), "cases") {
        let mut values = numbers(&case["values"]);
        values.sort_unstable_by(f64::total_cmp);
        for (i, p) in case["ppm"].as_array().expect("ppm").iter().enumerate() {
            let what = format!("{} at {p}", case["name"]);
            agrees(nearest(&values, ppm(p)), &case["nearest_rank"][i], &what);
            agrees(linear_type7(&values, ppm(p)), &case["linear_type7"][i], &what);
        }
    }
}

#[test]
fn order_statistic_intervals() {
    let file = fixture("quantile_ci");
    for case in cases(&file, "cases") {
        let (n, q) = (case["n"].as_u64().expect("n"), case["q"].as_f64().expect("q"));
        let ranks = quantile_interval::ranks(n, q, case["confidence"].as_f64().expect("confidence"));
        assert_eq!(ranks.and_then(|r| r.lower), case["lower_rank"].as_u64(), "{case}");
        assert_eq!(ranks.and_then(|r| r.upper), case["upper_rank"].as_u64(), "{case}");
        agrees(ranks.map(|r| r.coverage), &case["coverage"], &case.to_string());
    }
    for case in cases(&file, "minimum_n") {
        let (q, confidence) = (case["q"].as_f64().expect("q"), case["confidence"].as_f64().expect("confidence"));
        let smallest = |fits: fn(quantile_interval::Ranks) -> bool| {
            (1..10_000).find(|n| quantile_interval::ranks(*n, q, confidence).is_some_and(fits))
        };
        assert_eq!(smallest(|r| r.upper.is_some()), case["n_min_upper_bound"].as_u64(), "{case}");
        assert_eq!(smallest(|r| r.upper.is_some() && r.lower.is_some()), case["n_min_two_sided"].as_u64(), "{case}");
    }
}

#[test]
fn early_stopping_floors() {
    let file = fixture("early_stopping");
    for case in cases(&file, "cases") {
        let (p, c) = (case["percentile"].as_f64().expect("p"), case["confidence"].as_f64().expect("c"));
        let (over, tolerance) = (case["overlatency_t"].as_u64().expect("t"), case["tolerance"].as_f64().expect("d"));
        let under = early_stopping::fewest_under(over, p - tolerance, c);
        assert_eq!(Some(under), case["min_underlatency_h"].as_u64(), "{case}");
        assert_eq!(Some(under + over), case["min_total_n"].as_u64(), "{case}");
    }
    for case in cases(&file, "estimates") {
        let (n, p) = (case["n"].as_u64().expect("n"), case["percentile"].as_f64().expect("p"));
        let rank = early_stopping::conservative_rank(n, p, early_stopping::CONFIDENCE);
        assert_eq!(rank, case["estimate_rank_1based"].as_u64(), "{case}");
        agrees(rank.map(|r| r as f64 / n as f64), &case["effective_percentile"], &case.to_string());
        let over = early_stopping::most_over(n, p, early_stopping::CONFIDENCE).filter(|t| *t > 0);
        assert_eq!(over, case["t"].as_u64(), "{case}");
    }
    for case in cases(&file, "budget") {
        let (n, p) = (case["n"].as_u64().expect("n"), case["percentile"].as_f64().expect("p"));
        let over = early_stopping::most_over(n, p, early_stopping::CONFIDENCE);
        assert_eq!(over, case["max_overlatency_t"].as_u64(), "{case}");
    }
}

#[test]
fn proportions() {
    for case in cases(&fixture("proportion_ci"), "cases") {
        let (k, n) = (case["successes"].as_u64().expect("k"), case["n"].as_u64().expect("n"));
        let exact = proportion::clopper_pearson(k, n, case["confidence"].as_f64().expect("confidence"));
        for (got, want) in [(proportion::wilson95(k, n), &case["wilson"]), (exact, &case["clopper_pearson"])] {
            agrees(got.map(|i| i.0), want.get(0).unwrap_or(&Value::Null), &case.to_string());
            agrees(got.map(|i| i.1), want.get(1).unwrap_or(&Value::Null), &case.to_string());
        }
    }
}

#[test]
fn bootstrapped_quantiles() {
    for case in cases(&fixture("bootstrap_quantile"), "cases") {
        let mut values = numbers(&case["values"]);
        let percentile = ppm(&case["ppm"]);
        let seed = case["mc_seed"].as_u64().expect("seed");
        let count = usize::try_from(case["mc_resamples"].as_u64().expect("resamples")).expect("fits");
        let resampled = bootstrap::resampled_quantiles(&values, percentile, seed, count);
        agrees(nearest(&resampled, Ppm(25_000)), &case["mc_percentile_ci95"][0], "resampled lower");
        agrees(nearest(&resampled, Ppm(975_000)), &case["mc_percentile_ci95"][1], "resampled upper");
        agrees(Some(resampled.iter().sum::<f64>() / resampled.len() as f64), &case["mc_mean"], "resampled mean");

        values.sort_unstable_by(f64::total_cmp);
        agrees(nearest(&values, percentile), &case["estimate"], "estimate");
        let exact = bootstrap::quantile_distribution(values.len(), percentile);
        for (got, want) in exact.iter().zip(cases(case, "exact_bootstrap_cdf_at_sorted")) {
            agrees(Some(*got), want, &case["name"].to_string());
        }
        let interval = bootstrap::quantile_interval(&values, percentile).expect("values");
        agrees(Some(interval.0), &case["exact_percentile_ci95"][0], "exact lower");
        agrees(Some(interval.1), &case["exact_percentile_ci95"][1], "exact upper");
    }
    assert_eq!(bootstrap::quantile_interval(&[], Ppm::P50), None);
}
