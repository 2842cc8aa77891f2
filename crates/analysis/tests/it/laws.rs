//! Laws that hold of any records whatever.

use kneepoint_model::record::{Outcome, Phase, TokenEvents};
use kneepoint_model::summary::{Distribution, PointSummary, Summary};
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Record, Side, Tokens};
use proptest::prelude::*;
use serde_json::Value;

use crate::run::{Run, answer, plan};

/// An instant within, or a little off, the point of [`Run::clean`].
fn instant() -> impl Strategy<Value = Nanos> {
    prop_oneof![9 => (0..70_000_000_000_u64).prop_map(Nanos), 1 => any::<u64>().prop_map(Nanos)]
}

fn tokens() -> impl Strategy<Value = Option<Tokens>> {
    prop::option::of(prop_oneof![9 => (0..200_u64).prop_map(Tokens), 1 => any::<u64>().prop_map(Tokens)])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failure =
        (instant(), prop::sample::select(vec![Side::Client, Side::Network, Side::Server])).prop_map(|(when, side)| {
            let (kind, at) = (FailureKind::Timeout, FailurePoint::Stream);
            Outcome::Failed(Failure { kind, side, at, when, detail: String::new() })
        });
    prop_oneof![6 => Just(Outcome::Ok), 2 => failure, 1 => Just(Outcome::Cut)]
}

fn events() -> impl Strategy<Value = TokenEvents> {
    let gap = prop_oneof![9 => 0..500_000_000_u64, 1 => any::<u64>()];
    (prop::option::of(instant()), prop::collection::vec((gap, 0..9_u32), 0..12), any::<bool>()).prop_map(
        |(first, pairs, told)| {
            let gaps = if first.is_some() { pairs.iter().map(|pair| pair.0).collect() } else { Vec::new() };
            let count = first.map_or(0, |_| 1 + pairs.len());
            let counts = std::iter::once(1).chain(pairs.iter().map(|pair| pair.1)).take(count);
            TokenEvents { first, gaps, tokens: if told { counts.collect() } else { Vec::new() }, first_answer: first }
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let when = (instant(), 0..40_000_000_u64, prop::option::of(instant()), prop::option::of(instant()));
    (any::<u16>(), any::<bool>(), when, events(), outcome(), tokens(), tokens(), tokens()).prop_map(
        |(index, warm, (intended, lag, sent, closed), events, outcome, server, local, cached)| {
            let mut record = answer(u64::from(index), 0);
            record.phase = if warm { Phase::WarmUp } else { Phase::Measured };
            record.intended = intended;
            record.dispatched = Nanos(intended.0.saturating_add(lag));
            (record.sent, record.closed, record.events, record.outcome) = (sent, closed, events, outcome);
            (record.output_tokens.server, record.output_tokens.local) = (server, local);
            (record.input_tokens.server, record.input_tokens.cached) = (local, cached);
            record
        },
    )
}

fn distributions(point: &PointSummary) -> [&Distribution; 27] {
    [
        &point.ttft_ms,
        &point.ttft_sent_ms,
        &point.ttfa_ms,
        &point.tpot_ms,
        &point.icl_ms,
        &point.itl_ms,
        &point.e2e_ms,
        &point.e2e_sent_ms,
        &point.response_ms,
        &point.output_speed_tok_s,
        &point.phases.tcp_connect_ms,
        &point.phases.tls_handshake_ms,
        &point.phases.send_ms,
        &point.phases.wait_ms,
        &point.phases.first_token_ms,
        &point.phases.stream_ms,
        &point.phases.close_ms,
        &point.phases.warm_ms,
        &point.phases.cold_ms,
        &point.network.rtt_ms,
        point.network.platform_e2e_half_rtt_ms.as_ref().expect("a round trip is known"),
        point.network.platform_e2e_full_rtt_ms.as_ref().expect("a round trip is known"),
        &point.input_tokens.used,
        &point.output_tokens.used,
        &point.client.schedule_lag_ms,
        &point.client.client_queue_ms,
        &point.client.kernel_to_user_ms,
    ]
}

/// Percentiles ascend, lie between the extremes, and inside their own intervals.
fn check_distribution(d: &Distribution) {
    let ladder: Vec<f64> = [d.min, d.p50, d.p90, d.p95, d.p99, d.p999, d.max].into_iter().flatten().collect();
    assert!(ladder.is_sorted(), "{d:?}");
    assert_eq!(d.n > 0, d.min.is_some() && d.mean.is_some() && d.max.is_some(), "{d:?}");
    assert!(d.mean >= d.min && d.mean <= d.max, "{d:?}");
    for (name, value) in [("p50", d.p50), ("p90", d.p90), ("p95", d.p95), ("p99", d.p99), ("p999", d.p999)] {
        assert_eq!(value.is_some(), d.ci95.contains_key(name), "{d:?}");
        if let (Some(value), Some(interval)) = (value, d.ci95.get(name)) {
            assert!(interval.0.is_none_or(|low| low <= value) && interval.1.is_none_or(|high| value <= high), "{d:?}");
        }
    }
}

fn check_point(point: &PointSummary) {
    distributions(point).into_iter().for_each(check_distribution);
    let counts = &point.requests;
    let failed: u64 = counts.failed.values().sum();
    assert_eq!(counts.ok + failed + counts.cut + counts.unsent, counts.scheduled);
    assert_eq!(counts.failed_by_side.values().sum::<u64>(), failed);
    assert_eq!(point.valid, !point.reasons.iter().any(|r| r.severity == kneepoint_model::summary::Severity::Invalid));
    if let (Some(most), Some(mean)) = (point.throughput.max_output_tok_s, point.throughput.output_tok_s) {
        assert!(most >= mean, "peak {most} under mean {mean}");
    }
    let cut = point.steady.cut_requests;
    assert!(point.steady.cut_s <= point.window_s / 2.0 + 1e-9 && (cut == 0 || point.steady.cut_s > 0.0));
    assert!(point.response_ms.n <= counts.ok && point.ttft_with_failures_ms.n + cut <= counts.ok + failed + cut);
    for stable in point.stable.values() {
        assert_eq!(stable.stable == Some(true), stable.req_s.is_some(), "{stable:?}");
    }
    for slo in point.slo.values() {
        assert!(slo.good <= slo.offered && slo.offered == counts.ok + failed);
        assert!(slo.attainment.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
    for curve in [&point.quantiles.ttft_ms, &point.quantiles.tpot_ms, &point.quantiles.e2e_ms] {
        assert!(curve.is_sorted() && [0, 101].contains(&curve.len()));
    }
    let series: u64 = point.series.iter().map(|second| second.scheduled).sum();
    assert_eq!(series, counts.ok + failed + counts.cut + counts.warm_up, "the series holds every request");
}

/// Equal but for the last digits, which the JSON reader may round.
fn alike(one: &Value, other: &Value) {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len());
            one.iter().zip(other).for_each(|(one, other)| alike(one, other));
        }
        (Value::Object(one), Value::Object(other)) => {
            assert!(one.keys().eq(other.keys()));
            one.values().zip(other.values()).for_each(|(one, other)| alike(one, other));
        }
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().expect("a number"), other.as_f64().expect("a number"));
            assert!((one - other).abs() <= 1e-14 * one.abs(), "{one} became {other}");
        }
        (one, other) => assert_eq!(one, other),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Every number is finite, whatever the records: JSON knows no NaN, and `serde_json` would write `null` for one.
    #[test]
    fn any_records_make_a_sound_summary(
        records in prop::collection::vec(record(), 0..800),
        streamed in any::<bool>(),
        window in 0..60_000_000_000_u64,
    ) {
        let mut run = Run::clean();
        run.plan = plan(if streamed { "" } else { ", stream: false" });
        run.records = records;
        run.ended.scheduled = 0;
        run.ended.window_end = Nanos(run.ended.window_start.0 + window);
        run.environment.platforms.entry("p".into()).or_default().observed.tcp_connect_ms = Some(0.2);
        let summary = run.summary();
        check_point(&summary.points[0]);
        let shown = format!("{summary:?}");
        prop_assert!(!["NaN", "(inf", ": inf", "-inf", "[inf", ", inf"].iter().any(|bad| shown.contains(bad)), "{shown}");
        let text = serde_json::to_string(&summary).expect("a summary is JSON");
        let back: Summary = serde_json::from_str(&text).expect("and can be read again");
        alike(&serde_json::to_value(&summary).expect("JSON"), &serde_json::to_value(&back).expect("JSON"));
    }

    /// The order in which records come changes nothing.
    #[test]
    fn order_does_not_matter(records in prop::collection::vec(record(), 2..300), turn in 0..300_usize) {
        let mut run = Run::clean();
        run.records = records;
        for (index, record) in run.records.iter_mut().enumerate() {
            record.index = index as u64;
        }
        run.ended.scheduled = 0;
        let straight = run.summary();
        let turn = turn % run.records.len();
        run.records.rotate_left(turn);
        let turned = run.summary();
        prop_assert_eq!(straight.points[0].ttft_ms.clone(), turned.points[0].ttft_ms.clone());
        prop_assert_eq!(straight.points[0].requests.clone(), turned.points[0].requests.clone());
        prop_assert_eq!(straight.points[0].reasons.clone(), turned.points[0].reasons.clone());
    }
}
