//! Laws of the YAML reader and writer, for any input.

use std::path::Path;

use kneepoint_model::plan::{PlanFile, ResolveContext, resolve, resolve_file};
use kneepoint_model::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::good_plans::env;

/// Pieces that plans and broken plans are made of.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "kneepoint", "model", "platforms", "url", "key", "headers", "load", "rate", "sweep", "slo", "ttft", "for",
            ": ", ":", "- ", "\n", "\n  ", "\n    ", "{", "}", "[", "]", ", ", "\"", "'", "|", ">", "&a ", "*a", "!!str ",
            "? ", "# ", "%", "---", "...", "\t", "\r\n", "\r", "${X}", "1", "1..8", "10s", "99%", "~", "null", "通", "<<",
            "\u{feff}", "\u{85}", "\u{2028}", "\\", "@", "`", "|2-\n", "0x", "-",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinities", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::collection::vec(piece(), 0..4).prop_map(|pieces| Value::from(pieces.concat())),
        prop::sample::select(vec![
            "1e3",
            "0o7",
            ".inf",
            "yes",
            "1:30",
            "2026-11-30",
            "-",
            "- a",
            "a: b",
            "a #b",
            " a",
            "a\n"
        ])
        .prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(value in tree()) {
        let text = yaml::to_string(&value);
        let read = yaml::from_str::<Value>("t.yaml", &text);
        prop_assert_eq!(read.map(|parsed| parsed.value).map_err(|p| format!("{p}\n{text}")), Ok(value));
    }

    #[test]
    fn no_text_makes_the_reader_panic(pieces in prop::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
        if let Err(problems) = resolve("t.yaml", &text, &context) {
            prop_assert!(problems.len() > 0);
            for problem in problems.iter() {
                // Every problem of a text is located in it.
                let line = problem.line.ok_or_else(|| TestCaseError::fail(format!("{problem:?}")))?;
                prop_assert!(line >= 1 && problem.column.is_some_and(|column| column >= 1));
            }
            let _shown = problems.to_string();
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let _outcome = yaml::from_str::<PlanFile>("t.yaml", &text).map(|parsed| parsed.value);
        let _outcome = yaml::from_str::<Value>("t.yaml", &text).map(|parsed| parsed.value);
    }
}

const PRICES: [&str; 5] = ["0", "1.20", "0.1", "1000000000", "0.000000000001"];
const DURATIONS: [&str; 7] = ["10ms", "1500ms", "1.5s", "10s", "7m", "1h30m", "0.25s"];

/// A map of those entries that were drawn.
fn given<const N: usize>(entries: [(&str, Option<Value>); N]) -> Map<String, Value> {
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn maybe<T: Clone + std::fmt::Debug + Into<Value> + 'static>(
    values: &'static [T],
) -> impl Strategy<Value = Option<Value>> {
    prop::option::of(prop::sample::select(values).prop_map(Into::into))
}

/// What a platform may say beside its address, key, headers and body.
fn platform() -> impl Strategy<Value = Map<String, Value>> {
    let short = || maybe(&DURATIONS[..4]);
    let limits = (short(), short(), short(), maybe(&["10s", "7m", "1h30m"])).prop_map(
        |(connect, first_token, between_chunks, total)| {
            let limits = [
                ("connect", connect),
                ("first_token", first_token),
                ("between_chunks", between_chunks),
                ("total", total),
            ];
            Value::Object(given(limits))
        },
    );
    let price = (maybe(&PRICES), maybe(&PRICES), maybe(&PRICES), Just(Some(Value::from("0.001")))).prop_map(
        |(per_hour, per_million_input, per_million_output, per_request)| {
            let price = [
                ("currency", Some("CNY".into())),
                ("per_hour", per_hour),
                ("per_million_input", per_million_input),
                ("per_million_output", per_million_output),
                ("per_request", per_request),
            ];
            Value::Object(given(price))
        },
    );
    let older = maybe(&["10s", "90s"]);
    let times = prop_oneof![
        prop::option::of(limits).prop_map(|limits| given([("time_limits", limits)])),
        older.prop_map(|total| given([("request_timeout", total)])),
    ];
    (times, price, maybe(&["1.1", "2"]), maybe(&[true, false])).prop_map(|(mut platform, price, http, rtt_probe)| {
        platform.extend(given([("price", Some(price)), ("http", http), ("rtt_probe", rtt_probe)]));
        platform
    })
}

/// Limits of the whole run; none at all where nothing was drawn.
fn limits() -> impl Strategy<Value = Option<Value>> {
    let spend = maybe(&["2.50 CNY", "0.001 CNY", "1000000000 CNY"]);
    let count = || prop::option::of((1_u64..1_000_000_000_000).prop_map(Value::from));
    let time = maybe(&["1s", "1.5s", "30m", "48h"]);
    let errors = maybe(&["0%", "20%", "0.005", "99.9%"]);
    (spend, count(), count(), time, errors).prop_map(|(spend, tokens, requests, time, errors)| {
        let limits = [("spend", spend), ("tokens", tokens), ("requests", requests), ("time", time), ("errors", errors)];
        Some(given(limits)).filter(|limits| !limits.is_empty()).map(Value::Object)
    })
}

fn hold() -> impl Strategy<Value = Value> {
    let time = || maybe(&DURATIONS);
    let end = prop_oneof![
        time().prop_map(|drain| given([("drain", drain)])),
        time().prop_map(|drain| given([("drain", drain), ("at_end", Some("drain".into()))])),
        Just(given([("at_end", Some("cancel".into()))])),
    ];
    (time(), prop::option::of(1_u64..20), time(), end).prop_map(|(window, samples, warm_up, end)| {
        let mut hold = given([("for", window), ("min_samples", samples.map(Value::from)), ("warm_up", warm_up)]);
        hold.extend(end);
        Value::Object(hold)
    })
}

fn load() -> impl Strategy<Value = Value> {
    let plateau = || maybe(&["5%", "0.125", "100%"]);
    let more = (maybe(&[1, 300, 100_000]), maybe(&[true, false]), maybe(&["constant", "poisson"])).prop_map(
        |(most, ends, arrival)| given([("max_in_flight", most), ("end_when_saturated", ends), ("arrival", arrival)]),
    );
    let rate = (prop::collection::btree_set(1_u32..4000, 1..6), hold(), more, plateau()).prop_map(
        |(levels, hold, more, plateau)| {
            let mut rate = hold;
            let entries = rate.as_object_mut().expect("a map");
            entries.extend(more);
            entries.extend(given([("stop_at_plateau", plateau.filter(|_| levels.len() > 1))]));
            rate["sweep"] = levels.into_iter().map(|level| f64::from(level) / 7.0).collect();
            serde_json::json!({ "rate": rate })
        },
    );
    let concurrency = (1_u32..50, 0_u32..500, hold(), plateau()).prop_map(|(from, more, hold, plateau)| {
        let mut concurrency = hold;
        let entries = concurrency.as_object_mut().expect("a map");
        entries.extend(given([("stop_at_plateau", plateau.filter(|_| more > 0))]));
        concurrency["sweep"] = format!("{from}..{}", from + more).into();
        serde_json::json!({ "concurrency": concurrency })
    });
    let more = (maybe(&[1, 300, 100_000]), maybe(&[true, false]), maybe(&["constant", "poisson"])).prop_map(
        |(most, ends, arrival)| given([("max_in_flight", most), ("end_when_saturated", ends), ("arrival", arrival)]),
    );
    let search = (hold(), more, 1_u32..5000, 1_u32..50, maybe(&["0.1%", "5%", "0.999"]), prop::option::of(0_u32..=10))
        .prop_map(|(hold, more, from, times, tolerance, confirm)| {
            let mut search = hold;
            let entries = search.as_object_mut().expect("a map");
            entries.extend(more);
            entries.extend(given([("tolerance", tolerance), ("confirm", confirm.map(Value::from))]));
            // As many as the share of the plan's SLO needs, by default.
            entries.remove("min_samples");
            let from = f64::from(from) / 7.0;
            search["slo"] = "s".into();
            search["from"] = from.into();
            search["up_to"] = format!("{}/s", from * f64::from(times)).into();
            serde_json::json!({ "search": search })
        });
    prop_oneof![rate, concurrency, search]
}

prop_compose! {
    fn plan()(
        seed in prop::option::of(any::<u64>()),
        id in "[a-zA-Z0-9/._ :#-]{0,20}[a-z]",
        declared in prop::collection::vec("\\PC{0,12}x", 0..4),
        body in tree(),
        platform in platform(),
        limits in limits(),
        key in any::<bool>(),
        loads in prop::collection::vec(load(), 1..4),
        share in 1_u32..1000,
        limit in prop::sample::select(&DURATIONS[..]),
    ) -> Value {
        let declares: Map<String, Value> =
            declared.into_iter().enumerate().map(|(i, text)| (format!("k{i}"), text.into())).collect();
        let mut plan = serde_json::json!({
            "kneepoint": 1,
            "model": {"id": id, "tokenizer": "./t.json"},
            "platforms": {"a": {"url": "http://[::1]:8000/v1", "declares": declares, "body": {"extra": body}}},
            "workloads": {"w": {"input": 1, "output": 2}},
            "load": loads,
            "slo": {"s": {"e2e": limit, "share": format!("{}%", f64::from(share) / 10.0)}},
        });
        plan.as_object_mut().expect("a map").extend(given([("limits", limits)]));
        for (key, value) in platform {
            plan["platforms"]["a"][key] = value;
        }
        if let Some(seed) = seed {
            plan["seed"] = seed.into();
        }
        if key {
            plan["platforms"]["a"]["key"] = "${VLLM_KEY}".into();
            plan["platforms"]["a"]["headers"] = serde_json::json!({"X-T": "${TENANT}", "X-P": "plain: #text"});
        }
        plan
    }
}

proptest! {
    #[test]
    fn a_saved_plan_resolves_to_the_same_plan(typed in plan()) {
        prop_assume!(!typed.to_string().contains("${") || !typed["platforms"]["a"]["body"].to_string().contains("${"));
        prop_assume!(!typed["platforms"]["a"]["declares"].to_string().contains("${"));
        let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
        let text = yaml::to_string(&typed);
        let plan = match resolve("t.yaml", &text, &context) {
            Ok(plan) => plan,
            Err(problems) => return Err(TestCaseError::fail(format!("{problems}\n{text}"))),
        };
        let saved = plan.to_yaml();
        prop_assert!(!saved.contains("very-secret"));
        let again = resolve("saved.yaml", &saved, &context).map_err(|p| TestCaseError::fail(format!("{p}\n{saved}")))?;
        prop_assert_eq!(&again, &plan);
        let by_file = resolve_file(&plan.to_file(), "flags", &context).map_err(|p| TestCaseError::fail(p.to_string()))?;
        prop_assert_eq!(by_file, plan);
    }
}
