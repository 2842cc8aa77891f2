//! Open and closed loops: what is sent, when, and what a stop leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kneepoint_load::{Progress, StopSignal};
use kneepoint_model::bundle::RunStatus;
use kneepoint_model::record::{Outcome, Phase};
use kneepoint_model::{Nanos, Record};

use crate::scripted;
use crate::trial;

fn plan(address: impl std::fmt::Display, connection: &str, load: &str) -> String {
    format!(
        "{{kneepoint: 1, name: loops, model: {{id: m}}, platforms: {{p: {{dialect: openai-chat, url: 'http://{address}', \
         length_control: natural, connection: {connection}, request_timeout: 5s}}}}, \
         workloads: {{w: {{input: 4, output: 1}}}}, load: [{load}]}}"
    )
}

fn quick() -> scripted::Scripted {
    scripted::serve(|stream| scripted::stream_of(stream, &["a", "b", "c"], Some(3)))
}

fn slow(delay: Duration) -> scripted::Scripted {
    scripted::serve(move |stream| {
        std::thread::sleep(delay);
        scripted::stream_of(stream, &["a"], Some(1))
    })
}

fn measured(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| record.phase == Phase::Measured)
}

#[test]
fn an_open_loop_sends_exactly_what_was_scheduled() {
    let server = quick();
    let load = "{rate: {sweep: [50], for: 1s, warm_up: 200ms, min_samples: 1, drain: 1s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    assert_eq!(trial.records.len(), 60);
    assert_eq!(measured(&trial.records).count(), 50);
    assert_eq!(trial.measured.points[0].scheduled, 50);
    let started = trial.measured.points[0].started;
    for record in &trial.records {
        assert_eq!(record.intended, started + Nanos(record.index * 20_000_000));
        assert!(record.outcome.is_ok() && record.dispatched >= record.intended);
        // Stamped after the write: a client that loses its processor just then may find the answer already there.
        assert!(record.written.is_some() && record.written >= record.sent, "{record:?}");
        assert_eq!(record.events.len(), 3);
        assert_eq!(record.output_tokens.server.map(|n| n.0), Some(3));
    }
    assert!(trial.records.iter().filter(|record| record.connection.reused).count() > 30, "connections are kept");
}

#[test]
fn a_name_takes_time_to_resolve_and_an_address_none() {
    let load = "{rate: {sweep: [20], for: 100ms, warm_up: 0s, min_samples: 1, drain: 1s}}";
    let server = quick();
    let dns_ms = |address: String| {
        let trial = trial::run(&plan(address, "keep-alive", load)).expect("runs");
        trial.measured.environment.platforms["p"].observed.dns_ms
    };
    assert_eq!(dns_ms(server.address.to_string()), None);
    let of_name = dns_ms(format!("localhost:{}", server.address.port()));
    assert!(of_name.is_some_and(|took| took > 0.0 && took < 10_000.0), "{of_name:?}");
}

#[test]
fn a_stalled_server_does_not_slow_an_open_loop() {
    let server = slow(Duration::from_millis(600));
    let load = "{rate: {sweep: [40], for: 500ms, warm_up: 0s, min_samples: 1, drain: 3s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    // All twenty were sent before the first answer came.
    let first_answer = trial.records.iter().filter_map(|record| record.first_byte).min().expect("answers");
    assert!(trial.records.iter().all(|record| record.sent.expect("sent") < first_answer));
    assert_eq!(trial.records.len(), 20);
}

#[test]
fn a_new_connection_per_request_where_the_plan_says_so() {
    let server = quick();
    let load = "{rate: {sweep: [50], for: 400ms, warm_up: 0s, min_samples: 1, drain: 1s}}";
    let trial = trial::run(&plan(server.address, "per-request", load)).expect("runs");
    assert!(trial.records.iter().all(|record| !record.connection.reused && record.connection.tcp.is_some()));
}

#[test]
fn a_closed_loop_keeps_its_number_in_flight() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let server = scripted::serve(move |stream| {
        peak.fetch_max(inside.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
        std::thread::sleep(Duration::from_millis(20));
        inside.fetch_sub(1, Ordering::AcqRel);
        scripted::stream_of(stream, &["a"], Some(1))
    });
    let load = "{concurrency: {sweep: [4], for: 600ms, warm_up: 100ms, min_samples: 1, drain: 1s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    assert_eq!(most.load(Ordering::Acquire), 4);
    assert_eq!(trial.records.iter().filter(|record| !record.connection.reused).count(), 4, "one connection a slot");
    assert_eq!(trial.measured.points[0].scheduled, measured(&trial.records).count() as u64);
}

#[test]
fn a_closed_loop_goes_on_until_it_has_its_samples() {
    let server = slow(Duration::from_millis(30));
    let load = "{concurrency: {sweep: [2], for: 100ms, warm_up: 0s, min_samples: 25, drain: 1s, at_most: 10s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    let window = trial.measured.points[0].window_end.saturating_sub(trial.measured.points[0].window_start);
    assert!(measured(&trial.records).count() >= 25);
    assert!(window >= Nanos::from_millis(300), "25 samples of 30 ms, two at a time: {window}");
}

#[test]
fn a_closed_loop_pauses_after_failures() {
    let server = scripted::serve(|stream| {
        scripted::respond(stream, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    });
    let load = "{concurrency: {sweep: [1], for: 500ms, warm_up: 0s, min_samples: 1, drain: 1s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    assert!((2..=5).contains(&trial.records.len()), "{} requests hammered a dead server", trial.records.len());
}

#[test]
fn open_requests_are_cut_at_the_end_of_the_drain() {
    let server = slow(Duration::from_secs(4));
    let load = "{rate: {sweep: [20], for: 200ms, warm_up: 0s, min_samples: 1, drain: 200ms}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    assert_eq!(trial.records.len(), 4);
    assert!(trial.records.iter().all(|record| record.outcome == Outcome::Cut));
}

/// Runs against the server until five requests are dispatched, then asks to stop so many times.
fn stopped(server: &scripted::Scripted, load: &str, times: usize) -> trial::Trial {
    let stop = Arc::new(StopSignal::default());
    let asked = Arc::clone(&stop);
    let mut done = false;
    let watch = &mut |progress: Progress<'_>| {
        if let Progress::Point(state) = progress
            && state.dispatched >= 5
            && !done
        {
            done = true;
            (0..times).for_each(|_| asked.request());
        }
    };
    trial::run_watched(&plan(server.address, "keep-alive", load), &stop, watch).expect("a stop is no error")
}

#[test]
fn the_first_stop_drains_and_keeps_everything() {
    let server = slow(Duration::from_millis(100));
    let load = "{rate: {sweep: [20], for: 30s, warm_up: 0s, min_samples: 1, drain: 2s}}";
    let trial = stopped(&server, load, 1);
    assert_eq!(trial.measured.manifest.status, RunStatus::Interrupted);
    assert!(trial.measured.points[0].interrupted);
    assert!(trial.records.len() >= 5 && trial.records.iter().all(|record| record.outcome.is_ok()));
}

#[test]
fn the_second_stop_cuts() {
    let server = slow(Duration::from_secs(10));
    let load = "{rate: {sweep: [20], for: 30s, warm_up: 0s, min_samples: 1, drain: 20s}}";
    let trial = stopped(&server, load, 2);
    assert!(trial.records.iter().all(|record| record.outcome == Outcome::Cut));
    assert!(trial.measured.points[0].ended < Nanos::from_secs(10), "at once, not after the drain");
}

#[test]
fn a_server_that_closes_kept_connections_unannounced_does_not_look_faulty() {
    // What llama.cpp does after a stream: the answer says keep-alive, and the close follows.
    let server = scripted::serve(|stream| {
        scripted::stream_of(stream, &["a"], Some(1));
        false
    });
    let load = "{concurrency: {sweep: [2], for: 500ms, warm_up: 0s, min_samples: 1, drain: 1s}}";
    let trial = trial::run(&plan(server.address, "keep-alive", load)).expect("runs");
    assert!(trial.records.len() > 20);
    for record in &trial.records {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        assert!(record.sent >= record.connection.tcp && record.intended <= record.dispatched);
    }
    assert!(trial.records.iter().any(|record| record.connection.stale), "the race was met, and is on record");
}
