//! The figures of a summary, against values worked out by hand.

use kneepoint_model::bundle::TelemetrySample;
use kneepoint_model::record::{Outcome, TokenEvents};
use kneepoint_model::summary::{Distribution, NetworkSummary, Ranked, RttSource, SteadyState, Summary};
use kneepoint_model::{Nanos, Record, Tokens};

use crate::run::{MS, Run, SECOND, TOKENS, WARM_UP, plan, refuse};

#[track_caller]
fn close(got: Option<f64>, want: f64) {
    let got = got.expect("a figure");
    assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-9), "{got} is not {want}");
}

#[test]
fn a_clean_run() {
    let point = Run::clean().point();
    assert_eq!((point.requests.scheduled, point.requests.ok, point.requests.warm_up), (1_200, 1_200, 100));
    assert_eq!((point.ttft_ms.n, point.icl_ms.n, point.itl_ms.n), (1_200, 12_000, 0));
    close(point.tpot_ms.p99, 20.0);
    close(point.output_speed_tok_s.p50, 50.0);
    close(point.icl_ms.max, 20.0);
    // Answers of the warm-up that end in the window make up for those of the window that end after it, but for one.
    close(point.throughput.req_s, 1_199.0 / 60.0);
    close(point.throughput.output_tok_s, 1_199.0 * TOKENS as f64 / 60.0);
    close(point.throughput.total_tok_s, 1_199.0 * (TOKENS + 101) as f64 / 60.0);
    close(point.throughput.sent_bytes_s, 10_000.0);
    close(point.throughput.scheduled_req_s, 20.0);
    close(Some(point.window_s), 60.0);
    let in_flight = point.throughput.in_flight_mean.expect("a window");
    assert!((in_flight - 20.0 * 0.4).abs() < 0.1, "20 requests a second of 0.4 s each, not {in_flight}");
    assert_eq!(point.ttft_ms.too_few.get("p999"), Some(&6_636));
    assert_eq!(point.streamed_share, Some(1.0));
    assert_eq!(point.output_tokens.source.as_deref(), Some("server"));
    assert_eq!((point.quantiles.ttft_ms.len(), point.series.len()), (101, 66));
    let measured: u64 = point.series.iter().filter(|second| second.measured).map(|second| second.scheduled).sum();
    assert_eq!(measured, 1_200);
    let arrived: f64 = point.series.iter().filter_map(|second| second.output_tok).sum();
    close(Some(arrived), 1_300.0 * TOKENS as f64);
}

#[test]
fn latency_counts_from_the_intended_instant_and_from_the_sent_one_beside() {
    let run = Run::clean().each(|record| record.sent = record.sent.map(|sent| Nanos(sent.0 + 50 * MS)));
    let point = run.point();
    close(Some(point.ttft_ms.min.expect("n > 0") - point.ttft_sent_ms.min.expect("n > 0")), 50.1);
    close(Some(point.e2e_ms.mean.expect("n > 0") - point.e2e_sent_ms.mean.expect("n > 0")), 50.1);
    close(point.client.client_queue_ms.p50, 50.1);
    close(point.client.schedule_lag_ms.p50, 0.05);
}

#[test]
fn failures_stand_in_no_latency_but_in_every_share() {
    let clean = Run::clean().point();
    let point = Run::clean().every(10, refuse).point();
    assert_eq!(point.requests.failed.get("http_429"), Some(&120));
    assert_eq!(point.requests.failed_by_side.get("server"), Some(&120));
    assert_eq!(point.requests.failure_examples["http_429"], "slow down");
    assert_eq!(point.ttft_ms.n, 1_080);
    assert!(point.ttft_ms.max <= clean.ttft_ms.max);
    assert_eq!((point.ttft_with_failures_ms.n, point.ttft_with_failures_ms.p99), (1_200, Ranked::Failed));
    assert!(matches!(point.ttft_with_failures_ms.p50, Ranked::Value(ms) if ms > 100.0));
    let slo = &point.slo["whole"];
    assert_eq!((slo.good, slo.offered, slo.met), (1_080, 1_200, Some(false)));
    close(slo.attainment, 0.9);
    close(slo.goodput_rps, 18.0);
}

#[test]
fn cut_requests_are_counted_and_judged_nowhere() {
    let point = Run::clean().every(100, |record| record.outcome = Outcome::Cut).point();
    assert_eq!((point.requests.cut, point.requests.ok), (12, 1_188));
    assert_eq!((point.ttft_ms.n, point.slo["whole"].offered, point.e2e_with_failures_ms.n), (1_188, 1_188, 1_188));
}

/// One token has no time per output token; that limit is met by it.
#[test]
fn one_token_meets_a_tpot_limit() {
    let run = Run::clean().each(|record| {
        record.events = TokenEvents { first: Some(Nanos(record.intended.0 + 150 * MS)), ..TokenEvents::default() };
        record.output_tokens.server = Some(Tokens(1));
    });
    let point = run.point();
    assert_eq!((point.tpot_ms.n, point.slo["tight"].good), (0, 1_200));
}

/// Several tokens in one event, or none counted after the first of several events, have a TPOT that nobody knows.
#[test]
fn an_unknown_tpot_meets_no_limit() {
    let one_event = |step| Run::clean().every(step, |record| record.events.gaps.clear()).point().slo["tight"].clone();
    assert_eq!((one_event(1).attainment, one_event(1).met, one_event(1).goodput_rps), (None, None, None));
    // Under one in a hundred they are not good, and the rest is judged.
    let clean = Run::clean().point().slo["tight"].good;
    assert!(one_event(130).good < clean && one_event(130).met.is_some());
    let at_one_instant = Run::clean().each(|record| record.events.gaps.fill(0)).point();
    assert_eq!((at_one_instant.tpot_ms.n, at_one_instant.slo["tight"].good), (0, clean));
    let all_in_the_first = Run::clean().each(|record| {
        record.events.gaps.truncate(2);
        record.events.tokens = vec![11, 0, 0];
    });
    assert_eq!((all_in_the_first.point().tpot_ms.n, all_in_the_first.point().slo["tight"].met), (0, None));
}

/// An answer whose tokens nobody saw has no first token, and meets no limit on one.
#[test]
fn invisible_answers_are_not_good() {
    let point = Run::clean().every(2, |record| record.events = TokenEvents::default()).point();
    assert_eq!((point.requests.ok, point.ttft_ms.n, point.slo["whole"].good), (1_200, 600, 600));
    assert_eq!(point.e2e_with_failures_ms.p90, Ranked::Failed);
}

/// Without a stream there is no first token to wait for, and an SLO on one cannot be evaluated.
#[test]
fn answers_in_one_piece() {
    let mut run = Run::clean().each(|record| {
        let last = record.last_token();
        record.events = TokenEvents { first: last, ..TokenEvents::default() };
    });
    run.plan = plan(", stream: false");
    let point = run.point();
    assert_eq!((point.ttft_ms.n, point.tpot_ms.n, point.icl_ms.n, point.e2e_ms.n), (0, 0, 0, 1_200));
    assert_eq!((point.slo["tight"].attainment, point.slo["whole"].met), (None, Some(true)));
    assert_eq!(point.reasons, []);
}

#[test]
fn the_first_events_tokens_are_not_paid_for_later() {
    // Five tokens at once, then three events of two: 200 ms for six tokens.
    let run = Run::clean().each(|record| {
        record.events.gaps = vec![50 * MS, 50 * MS, 100 * MS];
        record.events.tokens = vec![5, 2, 2, 2];
    });
    let point = run.point();
    close(point.tpot_ms.p50, 200.0 / 6.0);
    assert_eq!((point.icl_ms.n, point.itl_ms.n), (3_600, 7_200));
    close(point.itl_ms.p50, 25.0);
    close(point.itl_ms.max, 50.0);
}

#[test]
fn connections_are_timed_where_they_are_new() {
    let run = Run::clean().every(2, |record| {
        let start = record.dispatched;
        record.connection = kneepoint_model::record::Connection {
            stale: false,
            reused: false,
            started: Some(start),
            tcp: Some(Nanos(start.0 + 2 * MS)),
            tls: Some(Nanos(start.0 + 7 * MS)),
        };
    });
    let point = run.point();
    assert_eq!(point.requests.new_connections, 600);
    close(point.phases.tcp_connect_ms.p50, 2.0);
    close(point.phases.tls_handshake_ms.p50, 5.0);
    // What a handshake took is the round trip; half of the requests spent three of them, each two or four milliseconds.
    let network = &point.network;
    assert_eq!((network.rtt_ms.n, network.used_rtt_source), (600, Some(RttSource::Handshakes)));
    close(network.used_rtt_ms, 2.0);
    let mean = |d: &Option<Distribution>| d.as_ref().and_then(|d| d.mean).expect("n > 0");
    let e2e = point.e2e_ms.mean.expect("n > 0");
    close(Some(e2e - mean(&network.platform_e2e_half_rtt_ms)), 1.0);
    close(Some(e2e - mean(&network.platform_e2e_full_rtt_ms)), 3.0);
    assert_eq!((point.phases.warm_ms.n, point.phases.cold_ms.n, network.negative), (600, 600, 0));
}

/// A probe beside the load tells more of the window than handshakes, and both more than a look before the run.
#[test]
fn the_nearest_round_trip_is_taken_off() {
    assert_eq!(Run::clean().point().network, NetworkSummary::default(), "no round trip, no split");
    let mut run = Run::clean();
    run.environment.platforms.entry("p".into()).or_default().observed.tcp_connect_ms = Some(0.5);
    let network = run.point().network;
    assert_eq!((network.used_rtt_ms, network.used_rtt_source), (Some(0.5), Some(RttSource::BeforeRun)));
    run.telemetry = (0..70_u64)
        .map(|second| TelemetrySample {
            at: Nanos(second * SECOND),
            point: 0,
            in_flight: 0,
            dispatched: 0,
            ended: 0,
            failed: 0,
            lag_max: Nanos(0),
            cpu_cores: None,
            rtt: Some(Nanos(if second < 5 { 90 * MS } else { 700 * MS })),
        })
        .collect();
    let network = run.point().network;
    assert_eq!((network.probe_rtt_ms.n, network.used_rtt_source), (60, Some(RttSource::Probe)));
    close(network.used_rtt_ms, 700.0);
    // Longer than every answer took: told, not cut to 0.
    assert_eq!(network.negative, 1_200);
    assert!(network.platform_e2e_full_rtt_ms.and_then(|d| d.max).is_some_and(|most| most < 0.0));
}

/// The phases of a request follow each other without a gap.
#[test]
fn the_phases_of_a_request() {
    let run = Run::clean().each(|record| {
        let sent = record.sent.expect("sent").0;
        record.written = Some(Nanos(sent + 3 * MS));
        record.first_byte = record.events.first.map(|first| Nanos(first.0 - 7 * MS));
        record.closed = record.last_token().map(|last| Nanos(last.0 + 2 * MS));
    });
    let mut run = run;
    run.environment.platforms.entry("p".into()).or_default().observed.dns_ms = Some(1.5);
    let point = run.point();
    let phases = &point.phases;
    assert_eq!((phases.dns_ms, phases.tcp_connect_ms.n, phases.cold_ms.n), (Some(1.5), 0, 0));
    close(phases.send_ms.p50, 3.0);
    close(phases.first_token_ms.p50, 7.0);
    close(phases.stream_ms.p50, 200.0);
    close(phases.close_ms.p50, 2.0);
    close(phases.warm_ms.p50, point.ttft_ms.p50.expect("n > 0"));
    let mean = |d: &Distribution| d.mean.expect("n > 0");
    let all = [&phases.send_ms, &phases.wait_ms, &phases.first_token_ms, &phases.stream_ms, &phases.close_ms];
    let response_from_sent = mean(&point.response_ms) - mean(&point.client.client_queue_ms);
    close(Some(all.into_iter().map(mean).sum()), response_from_sent);
    close(point.jitter_ms.ttft, point.ttft_ms.p95.expect("n") - point.ttft_ms.p50.expect("n"));
    close(point.jitter_ms.tpot, 0.0);
    let most = point.throughput.max_req_s.expect("a second");
    assert!((20.0..=24.0).contains(&most), "{most}: answers take 0.3 to 0.5 s, so a fifth of a second's more may meet");
    close(point.client.token_events_s, 20.0 * TOKENS as f64);
}

/// A transient at the start of the window is in no latency, and in every count, rate and SLO.
#[test]
fn a_transient_is_cut_from_latencies_alone() {
    let slow = |record: &mut Record| {
        if record.intended.0 < WARM_UP + 6 * SECOND {
            let by = 5 * SECOND;
            for instant in [&mut record.events.first, &mut record.closed, &mut record.first_byte].into_iter().flatten()
            {
                instant.0 += by;
            }
        }
    };
    let (clean, point) = (Run::clean().point(), Run::clean().each(slow).point());
    assert_eq!(point.steady.state, SteadyState::Steady);
    close(Some(point.steady.cut_s), 6.0);
    assert_eq!((point.steady.cut_requests, point.ttft_ms.n, point.icl_ms.n), (120, 1_080, 10_800));
    assert!(point.ttft_ms.max <= clean.ttft_ms.max, "the slow start is in no latency");
    assert_eq!((point.ttft_with_failures_ms.n, point.e2e_with_failures_ms.n), (1_080, 1_080));
    assert_eq!((point.requests.ok, point.slo["whole"].offered, point.slo["whole"].good), (1_200, 1_200, 1_080));
    assert_eq!((clean.steady.cut_s, clean.steady.state), (0.0, SteadyState::Steady));
    // A stall later in the window is what was to be measured.
    let stall = |record: &mut Record| {
        let at = record.intended.0;
        let until = WARM_UP + 32 * SECOND;
        if (WARM_UP + 30 * SECOND..until).contains(&at) {
            for instant in [&mut record.events.first, &mut record.closed, &mut record.first_byte].into_iter().flatten()
            {
                instant.0 += until - at;
            }
        }
    };
    let stalled = Run::clean().each(stall).point();
    assert_eq!((stalled.steady.cut_requests, stalled.ttft_ms.n), (0, 1_200));
    assert!(stalled.ttft_ms.max.is_some_and(|most| most > 2_000.0));
}

/// All tokens of 20 answers in one second of the window, nothing else in it.
#[test]
fn the_busiest_second_and_the_stability() {
    let mut run = Run::clean();
    run.records
        .retain(|record| record.intended.0 >= WARM_UP + 30 * SECOND && record.intended.0 < WARM_UP + 31 * SECOND);
    let run = run.each(|record| {
        record.events = TokenEvents { first: Some(Nanos(WARM_UP + 31_700 * MS)), ..TokenEvents::default() };
        record.closed = record.events.first;
    });
    let point = run.point();
    close(point.throughput.max_output_tok_s, 20.0 * TOKENS as f64);
    // One second of 60 holds everything: sd = x/√60, mean = x/60.
    close(point.throughput.stability, 60.0_f64.sqrt());
}

#[test]
fn reasoning_and_simulation_are_said() {
    let mut run = Run::clean().each(|record| {
        record.output_tokens.reasoning = Some(Tokens(4));
        let fifth = record.events.instants().nth(4);
        record.events.first_answer = fifth;
    });
    run.environment.platforms.entry("p".into()).or_default().observed.simulated = true;
    let summary = run.summary();
    let point = &summary.points[0];
    assert!(summary.simulated && point.simulated);
    close(point.output_tokens.cached_or_reasoning_share, 4.0 / 11.0);
    close(Some(point.ttfa_ms.min.expect("n > 0") - point.ttft_ms.min.expect("n > 0")), 80.0);
}

#[test]
fn the_clients_own_delay_is_the_longest_wait_of_each_answer() {
    let delay = |longest| kneepoint_model::record::ReadDelay { first: Nanos(MS / 10), longest: Nanos(longest) };
    let point = Run::clean().every(2, |record| record.read_delay = Some(delay(3 * MS))).point();
    assert_eq!(point.client.kernel_to_user_ms.n, 600);
    close(point.client.kernel_to_user_ms.p50, 3.0);
}

/// A summary written before these fields were there is read without them.
#[test]
fn older_summaries_are_read() {
    let mut old = serde_json::to_value(Run::clean().summary()).expect("JSON");
    let strip = |value: &mut serde_json::Value, names: &[&str]| {
        let fields = value.as_object_mut().expect("an object");
        for name in names {
            assert!(fields.remove(*name).is_some(), "no {name}");
        }
    };
    strip(&mut old, &["curves"]);
    strip(&mut old["run"], &["skipped", "limit", "calibration"]);
    let point = &mut old["points"][0];
    strip(point, &["end", "at_end", "search", "steady", "jitter_ms", "phases", "network", "stable"]);
    strip(&mut point["requests"], &["dropped", "held_back"]);
    strip(&mut point["throughput"], &["max_req_s"]);
    strip(&mut point["client"], &["clock_mapping_error_ms", "in_flight_max", "token_events_s", "calibrated"]);
    let read: Summary = serde_json::from_value(old).expect("an older summary");
    assert_eq!(read.points[0].ttft_ms, Run::clean().point().ttft_ms);
    assert_eq!((read.points[0].network.clone(), read.curves.len()), (NetworkSummary::default(), 0));
}
