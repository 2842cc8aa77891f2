//! `kneepoint calibrate`: what it prints, to whom, and what it refuses. How fast this machine is, no test asks.

use serde_json::Value;

use crate::kneepoint::{ends_with, stderr, stdout};

#[test]
fn one_load_is_measured_and_told_to_machines() {
    let flags = ["calibrate", "--streams", "4", "--events-per-second", "200", "--seconds", "0.5", "--json"];
    let output = ends_with(0, flags);
    assert!(stderr(&output).contains("measuring 4 streams, 200 token events/s"), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).expect("JSON alone on standard output");
    let steps = found["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 1);
    let step = &steps[0];
    assert_eq!(step["streams"], 4);
    assert!(step["samples"].as_u64().is_some_and(|samples| samples >= 4), "{step}");
    for key in ["ttft_added_ms", "itl_added_ms"] {
        let [p50, p99] = ["p50", "p99"].map(|percentile| step[key][percentile].as_f64().expect("a number"));
        assert!(p50 <= p99, "{step}");
    }
    let verdict = step["verdict"].as_str().expect("a verdict");
    assert!(["kept", "client_late", "cannot_tell"].contains(&verdict), "{verdict}");
    assert_eq!(found["largest_kept"].is_null(), verdict != "kept");
    assert_eq!(found["end"], Value::Null);
}

#[test]
fn the_table_stands_in_columns_in_both_languages() {
    for (language, head) in [("en", "streams"), ("zh", "流数")] {
        let flags = ["calibrate", "--streams", "2", "--seconds", "0.2", "--quiet", "--lang", language];
        let output = ends_with(0, flags);
        assert_eq!(stderr(&output), "");
        let text = stdout(&output);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(head) && lines[0].contains("TTFT +p99"), "{text}");
        assert!(lines[1].trim_start().starts_with('2'), "{text}");
        assert!(lines.len() >= 3, "{text}");
    }
}

#[test]
fn nonsense_is_refused() {
    let output = ends_with(2, ["calibrate", "--events-per-second", "100"]);
    assert!(stderr(&output).contains("--streams"));
    let output = ends_with(2, ["calibrate", "--streams", "2", "--events-per-second", "0"]);
    assert!(stderr(&output).contains("no event"), "{}", stderr(&output));
    let output = ends_with(2, ["calibrate", "--streams", "2", "--seconds", "3600"]);
    assert!(stderr(&output).contains("60 s"), "{}", stderr(&output));
    let output = ends_with(2, ["calibrate", "--streams", "4000000000"]);
    assert!(stderr(&output).contains("open files") && stderr(&output).contains("ulimit -n"), "{}", stderr(&output));
}
