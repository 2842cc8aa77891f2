//! Bad servers: each gives one kind of failure, on the right side, and never a hang or a silent zero.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use kneepoint_model::record::Outcome;
use kneepoint_model::{Failure, FailureKind, FailurePoint, Record, Side};

use crate::scripted::{self, STREAM_HEAD, chunk, respond, token};
use crate::trial;

fn plan(address: impl std::fmt::Display) -> String {
    format!(
        "{{kneepoint: 1, name: bad, model: {{id: m}}, platforms: {{p: {{dialect: openai-chat, url: 'http://{address}', \
         length_control: natural, request_timeout: 400ms, key: '${{TEST_KEY}}'}}}}, workloads: {{w: {{input: 4, output: 1}}}}, \
         load: [{{rate: {{sweep: [20], for: 300ms, warm_up: 0s, min_samples: 1, drain: 1s}}}}]}}"
    )
}

#[track_caller]
fn failures(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> Vec<Failure> {
    let server = scripted::serve(answer);
    let trial = trial::run(&plan(server.address)).expect("the run itself does not fail");
    assert_eq!(trial.records.len(), 6, "20 req/s for 300 ms");
    let failed = trial.records.into_iter().map(|record| match record.outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("expected a failure, got {other:?}"),
    });
    failed.collect()
}

/// Every request fails with this code, on this side, at this point.
#[track_caller]
fn check(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static, code: &str, side: Side, at: FailurePoint) {
    let seen: BTreeMap<_, usize> = failures(answer).into_iter().fold(BTreeMap::new(), |mut seen, failure| {
        *seen.entry((failure.kind.code(), failure.side, failure.at)).or_default() += 1;
        seen
    });
    assert_eq!(seen, BTreeMap::from([((code.to_owned(), side, at), 6)]));
}

fn full(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[test]
fn closes_without_a_word() {
    check(|_| false, "closed_early", Side::Server, FailurePoint::Wait);
}

#[test]
fn resets_without_a_word() {
    let answer = |stream: &mut TcpStream| {
        // Closing with unread bytes makes the kernel send a reset.
        let socket = socket2::SockRef::from(&*stream);
        socket.set_linger(Some(Duration::ZERO)).expect("a socket");
        false
    };
    check(answer, "reset", Side::Server, FailurePoint::Wait);
}

#[test]
fn never_answers() {
    let answer = |_: &mut TcpStream| {
        sleep(Duration::from_secs(2));
        false
    };
    check(answer, "timeout", Side::Server, FailurePoint::Wait);
}

#[test]
fn stalls_after_one_token() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, STREAM_HEAD);
        chunk(stream, &token("one"));
        sleep(Duration::from_secs(2));
        false
    };
    check(answer, "timeout", Side::Server, FailurePoint::Stream);
}

#[test]
fn drips_too_slowly() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, STREAM_HEAD);
        for _ in 0..40 {
            if !chunk(stream, ": still here\n\n") {
                return false;
            }
            sleep(Duration::from_millis(50));
        }
        false
    };
    check(answer, "timeout", Side::Server, FailurePoint::FirstToken);
}

#[test]
fn truncates_the_stream() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, STREAM_HEAD);
        chunk(stream, &token("one"));
        false
    };
    check(answer, "truncated", Side::Server, FailurePoint::Stream);
}

#[test]
fn truncates_a_body_of_known_length() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n");
        respond(stream, &token("one"));
        false
    };
    check(answer, "truncated", Side::Server, FailurePoint::Stream);
}

#[test]
fn sends_a_page_instead() {
    let answer =
        |stream: &mut TcpStream| respond(stream, &full("200 OK", "text/html", "<html>Welcome to nginx!</html>"));
    check(answer, "wrong_content_type", Side::Server, FailurePoint::FirstToken);
}

#[test]
fn speaks_something_else() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, "SSH-2.0-OpenSSH_9.2\r\n");
        false
    };
    check(answer, "bad_http", Side::Server, FailurePoint::FirstToken);
}

#[test]
fn statuses_are_kinds() {
    let statuses = [
        ("301 Moved Permanently", "http_301"),
        ("400 Bad Request", "http_400"),
        ("401 Unauthorized", "http_401"),
        ("404 Not Found", "http_404"),
        ("429 Too Many Requests", "http_429"),
        ("500 Internal Server Error", "http_500"),
        ("502 Bad Gateway", "http_502"),
        ("503 Service Unavailable", "http_503"),
    ];
    for (status, code) in statuses {
        let body = full(status, "application/json", r#"{"error":{"message":"no"}}"#);
        let seen = failures(move |stream| respond(stream, &body));
        assert!(seen.iter().all(|failure| failure.kind.code() == code && failure.detail.contains("no")), "{seen:?}");
    }
}

#[test]
fn retry_after_is_kept() {
    let body = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n";
    let seen = failures(move |stream| respond(stream, body));
    let expected = FailureKind::Http { status: 429, retry_after_s: Some(7) };
    assert!(seen.iter().all(|failure| failure.kind == expected), "{seen:?}");
}

#[test]
fn fails_inside_a_200_stream() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, STREAM_HEAD);
        chunk(stream, &token("one"));
        chunk(stream, "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n");
        chunk(stream, "data: [DONE]\n\n");
        respond(stream, "0\r\n\r\n")
    };
    check(answer, "in_band_500", Side::Server, FailurePoint::Stream);
}

#[test]
fn sends_invalid_json() {
    let body = full("200 OK", "application/json", "{\"choices\": [");
    check(move |stream| respond(stream, &body), "bad_body", Side::Server, FailurePoint::FirstToken);
}

#[test]
fn sends_an_empty_stream() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, STREAM_HEAD) && chunk(stream, "data: [DONE]\n\n") && respond(stream, "0\r\n\r\n")
    };
    let seen = failures(answer);
    assert!(seen.iter().all(|failure| failure.kind.code() == "empty"), "{seen:?}");
}

#[test]
fn sends_a_line_without_end() {
    let answer = |stream: &mut TcpStream| {
        respond(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
        let line = "x".repeat(1 << 20);
        (0..40).all(|_| respond(stream, &line))
    };
    let seen = failures(answer);
    assert!(seen.iter().all(|failure| ["too_large", "timeout"].contains(&failure.kind.code().as_str())), "{seen:?}");
    assert!(seen.iter().any(|failure| failure.kind == FailureKind::TooLarge), "{seen:?}");
}

#[test]
fn sends_more_than_it_said() {
    let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}"#;
    let answer = full("200 OK", "application/json", body) + "trailing";
    let server = scripted::serve(move |stream| respond(stream, &answer));
    let trial = trial::run(&plan(server.address)).expect("runs");
    assert!(trial.records.iter().all(|record| record.outcome.is_ok()));
    assert!(trial.records.iter().all(|record| !record.connection.reused), "such a connection cannot be trusted again");
}

#[test]
fn secrets_echoed_by_a_server_are_masked() {
    let body = full("401 Unauthorized", "application/json", r#"{"error":{"message":"bad key sk-very-secret"}}"#);
    let seen = failures(move |stream| respond(stream, &body));
    assert!(seen.iter().all(|failure| failure.detail.contains("***")), "{seen:?}");
    assert!(!format!("{seen:?}").contains("very-secret"));
}

#[test]
fn a_server_that_dies_is_told_apart() {
    let server = scripted::serve(|stream| {
        scripted::stream_of(stream, &["a"], Some(1));
        false
    });
    let address = server.address;
    let trial = {
        let mut server = Some(server);
        trial::run_watched(&plan(address), &std::sync::Arc::default(), &mut |progress| {
            // The probe is over: the server goes away before the first request.
            if matches!(progress, kneepoint_load::Progress::Point(_)) {
                server.take();
            }
        })
    };
    let trial = trial.expect("runs");
    let refused = |record: &Record| matches!(&record.outcome, Outcome::Failed(failure) if failure.kind == FailureKind::ConnectRefused && failure.at == FailurePoint::Connect);
    assert!(trial.records.iter().any(refused), "{:?}", trial.records);
}

#[test]
fn an_absent_server_ends_the_run_before_it_starts() {
    let gone = scripted::serve(|_| false);
    let address = gone.address;
    drop(gone);
    // The listener's thread closes its socket once woken; until then the probe may still be answered.
    while TcpStream::connect(address).is_ok() {
        sleep(Duration::from_millis(5));
    }
    let error = trial::run(&plan(address)).err().expect("nothing is there");
    assert!(error.to_string().contains("could not be reached"), "{error}");
}

#[test]
fn nothing_is_retried() {
    let server = scripted::serve(|_| false);
    let trial = trial::run(&plan(server.address)).expect("runs");
    // Handshakes for the round trip, two looks around and the plain request come first; then one connection a request.
    let before = 5 + 2 + 1;
    assert_eq!(server.connections.load(Ordering::Acquire), before + trial.records.len());
}

#[test]
fn what_a_server_says_of_itself_is_masked_and_harmless() {
    let name = r"sk-very-secret \u001b[31m\u202eengine";
    let page = format!(r#"{{"version":"{name}","data":[{{"id":"{name}"}}]}}"#);
    let page = full("200 OK", "application/json", &page);
    let server = scripted::serve_pages(page, |stream| {
        let finish = "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"sk-very-secret\"}]}";
        respond(stream, STREAM_HEAD)
            && chunk(stream, &format!("data: {finish}\n\n"))
            && chunk(stream, "data: [DONE]\n\n")
            && respond(stream, "0\r\n\r\n")
    });
    let trial = trial::run(&plan(server.address)).expect("runs");
    assert!(trial.records.iter().all(|record| record.outcome.is_ok()));
    let kept = format!("{:?} {:?}", trial.records, trial.measured.environment);
    assert!(!kept.contains("very-secret"), "{kept}");
    let seen = &trial.measured.environment.platforms["p"].observed;
    assert_eq!(seen.models.len(), 1, "{seen:?}");
    assert!(seen.models[0].contains("***") && seen.models[0].contains("engine"), "{seen:?}");
    assert!(!seen.models[0].contains(['\u{1b}', '\u{202e}']), "{seen:?}");
}

#[test]
fn a_stop_while_the_platform_is_probed_ends_the_run() {
    let server = scripted::serve_pages(String::new(), |_| false);
    let stop = std::sync::Arc::new(kneepoint_load::StopSignal::default());
    let asked = std::sync::Arc::clone(&stop);
    let slow = plan(server.address).replace("request_timeout: 400ms", "request_timeout: 60s");
    let mut began = false;
    let result = trial::run_watched(&slow, &stop, &mut |progress| {
        if matches!(progress, kneepoint_load::Progress::Probing { .. }) {
            began = true;
            asked.request();
        }
    });
    assert!(began);
    assert!(result.err().expect("stopped").to_string().contains("stopped"), "and not after a minute");
}
