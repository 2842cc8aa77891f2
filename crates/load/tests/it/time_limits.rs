//! Each time limit of a request ends what it is for, and is told apart from the others.

use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use kneepoint_model::bundle::PointEnd;
use kneepoint_model::record::Outcome;
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Record, Side};

use crate::scripted::{self, STREAM_HEAD, chunk, respond, token};
use crate::trial::{self, Trial};

fn plan(url: &str, time_limits: &str, hold: &str) -> String {
    format!(
        "{{kneepoint: 1, name: limits, model: {{id: m}}, platforms: {{p: {{dialect: openai-chat, url: '{url}', \
         length_control: natural, time_limits: {time_limits}}}}}, workloads: {{w: {{input: 4, output: 1}}}}, \
         load: [{{rate: {{sweep: [20], for: 300ms, warm_up: 0s, min_samples: 1, {hold}}}}}]}}"
    )
}

/// Runs six requests against an answer that never comes to its end.
fn run(time_limits: &str, hold: &str, answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> Trial {
    let server = scripted::serve(answer);
    trial::run(&plan(&format!("http://{}", server.address), time_limits, hold)).expect("runs")
}

fn failure(record: &Record) -> &Failure {
    match &record.outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[track_caller]
fn check(trial: &Trial, kind: FailureKind, side: Side, at: FailurePoint, limit: Duration) {
    assert_eq!(trial.records.len(), 6);
    for record in &trial.records {
        let failure = failure(record);
        assert_eq!((failure.kind, failure.side, failure.at), (kind, side, at));
        let waited = Duration::from(failure.when.saturating_sub(record.dispatched));
        assert!(waited >= limit && waited < limit + Duration::from_secs(2), "{waited:?}");
    }
}

#[test]
fn a_first_token_that_does_not_come() {
    let trial = run("{first_token: 200ms, total: 5s}", "drain: 6s", |stream| {
        respond(stream, STREAM_HEAD);
        sleep(Duration::from_secs(4));
        false
    });
    let (kind, limit) = (FailureKind::FirstTokenTimeout, Duration::from_millis(200));
    check(&trial, kind, Side::Server, FailurePoint::FirstToken, limit);
}

#[test]
fn a_stream_that_stalls() {
    let trial = run("{first_token: 3s, between_chunks: 200ms, total: 5s}", "drain: 6s", |stream| {
        respond(stream, STREAM_HEAD);
        chunk(stream, &token("one"));
        sleep(Duration::from_secs(4));
        false
    });
    check(&trial, FailureKind::ChunkTimeout, Side::Server, FailurePoint::Stream, Duration::from_millis(200));
}

/// Pieces that keep coming pass no limit between pieces, however long the whole takes; then the whole time ends it.
#[test]
fn a_stream_that_never_ends() {
    let trial = run("{between_chunks: 1s, total: 1200ms}", "drain: 6s", |stream| {
        respond(stream, STREAM_HEAD);
        for _ in 0..80 {
            if !chunk(stream, &token("again")) {
                break;
            }
            sleep(Duration::from_millis(50));
        }
        false
    });
    check(&trial, FailureKind::Timeout, Side::Server, FailurePoint::Stream, Duration::from_millis(1200));
    assert!(trial.records.iter().all(|record| record.events.len() > 5));
}

/// Requests that are open at the window's end are cut at once under `cancel`, and are neither good nor failed.
#[test]
fn cancel_cuts_at_the_end_of_the_window() {
    let trial = run("{total: 20s}", "at_end: cancel", |stream| {
        respond(stream, STREAM_HEAD);
        chunk(stream, &token("one"));
        sleep(Duration::from_secs(4));
        false
    });
    assert_eq!(trial.records.len(), 6);
    assert!(trial.records.iter().all(|record| record.outcome == Outcome::Cut));
    let ended = trial.measured.points[0];
    assert_eq!(ended.end, PointEnd::Planned);
    assert!(ended.ended.saturating_sub(ended.window_end) < Nanos::from_secs(1), "{ended:?}");
}
