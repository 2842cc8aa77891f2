//! What servers do when they fail. Each test names the behaviour.

use kneepoint_model::plan::Dialect;
use kneepoint_model::{FailureKind, FailurePoint, Nanos, Side};
use kneepoint_wire::exchange::{Exchange, Step};

use crate::support::*;

fn in_band(status: u16) -> FailureKind {
    FailureKind::InBand { status: Some(status) }
}

#[test]
fn errors_inside_a_success_before_the_first_token() {
    for (events, kind, detail) in [
        ("data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n", in_band(503), "overloaded"),
        ("data: {\"error\":\"overloaded\"}\n\n", FailureKind::InBand { status: None }, "overloaded"),
        ("error: {\"code\":500,\"message\":\"slot unavailable\"}\n\n", in_band(500), "slot unavailable"),
        ("event: error\ndata: {\"message\":\"bad\",\"status\":400}\n\n", in_band(400), "bad"),
        ("event: error\ndata: it broke\n\n", FailureKind::InBand { status: None }, "it broke"),
        (
            ": ping\n\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
            FailureKind::InBand { status: None },
            "overloaded_error: busy",
        ),
        (
            "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling.RateQuota\",\"message\":\"slow down\"}\n\n",
            in_band(429),
            "Throttling.RateQuota: slow down",
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"too long\",\"type\":\"BadRequestError\",\"code\":400}\n\n",
            in_band(400),
            "BadRequestError: too long",
        ),
        (
            "data: {\"error_code\":18,\"error_msg\":\"QPS limit\"}\n\n",
            FailureKind::InBand { status: None },
            "QPS limit",
        ),
    ] {
        let answer = chat(&[ROLE, events, DONE]);
        assert_eq!(failure_of(&answer), (kind, FailurePoint::FirstToken, detail), "{events}");
        assert_eq!(answer.verdict.as_ref().expect_err("a failure").side, Side::Server);
        assert_eq!((answer.status, answer.events.len()), (Some(200), 0));
    }
}

#[test]
fn errors_after_tokens_fail_the_request_though_the_end_marker_follows() {
    let error = "data: {\"error\":{\"message\":\"out of memory\",\"code\":\"507\"}}\n\n";
    let answer = chat(&[&content("a").repeat(3), error, &content("late"), STOP, DONE]);
    assert_eq!(failure_of(&answer), (in_band(507), FailurePoint::Stream, "out of memory"));
    assert_eq!((answer.events.len(), answer.text.as_str()), (3, "aaa"), "what was seen stays in the record");
}

#[test]
fn a_finish_reason_can_be_an_error() {
    for reason in [r#""error""#, r#""abort""#, r#"{"type":"abort","message":"x"}"#] {
        let answer = chat(&[&content("a"), &event("", &format!(r#","finish_reason":{reason}"#)), DONE]);
        assert!(matches!(failure_of(&answer).0, FailureKind::InBand { status: None }), "{reason}");
    }
}

#[test]
fn absent_errors_are_none() {
    for error in ["null", "false", "\"\"", "{}", "[]", "0"] {
        let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}],\"error\":{error}}}\n\n");
        assert_eq!(chat(&[&chunk, DONE]).verdict, Ok(()), "{error}");
    }
}

#[test]
fn an_error_as_the_whole_body_of_a_success() {
    let body = r#"{"error":{"message":"quota","type":"insufficient_quota","code":429}}"#;
    for label in ["application/json", "text/event-stream"] {
        for stream in [true, false] {
            let wire = with_length("200 OK", &format!("Content-Type: {label}\r\n"), body);
            let answer = answer_of(Dialect::OpenaiChat, stream, &wire, After::Open);
            let expect = (in_band(429), FailurePoint::FirstToken, "insufficient_quota: quota");
            assert_eq!(failure_of(&answer), expect, "{label}");
        }
    }
}

#[test]
fn streams_that_break_off_are_truncated() {
    let role = ROLE.to_owned();
    let three = content("a").repeat(3);
    for (body, at) in [(&role, FailurePoint::FirstToken), (&three, FailurePoint::Stream)] {
        // A clean close, with and without chunked framing, and a body that ends by its framing.
        for wire in [until_close(body), chunked(&[body]), chunked(&[body])[..60 + body.len()].to_vec()] {
            let answer = answer_of(Dialect::OpenaiChat, true, &wire, After::Close);
            assert_eq!((failure_of(&answer).0, failure_of(&answer).1), (FailureKind::Truncated, at));
        }
    }
    let cut_in_json = until_close("data: {\"choices\":[{\"delta\":{\"content\":\"a");
    let answer = answer_of(Dialect::OpenaiChat, true, &cut_in_json, After::Close);
    assert_eq!((failure_of(&answer).0, answer.oddities), (FailureKind::Truncated, 1));
}

#[test]
fn a_stall_is_the_callers_to_end_and_the_exchange_says_how_far_it_came() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    assert_eq!(exchange.point(), FailurePoint::Wait);
    exchange.received(Nanos(1), b"HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(exchange.point(), FailurePoint::FirstToken);
    exchange.received(Nanos(2), content("a").as_bytes());
    assert_eq!(exchange.point(), FailurePoint::Stream);
    assert!(!exchange.has_terminal_sign());
    assert_eq!(exchange.received(Nanos(3), STOP.as_bytes()), Step::More);
    assert!(exchange.has_terminal_sign(), "a reset after this loses nothing");
    let answer = exchange.finish();
    assert_eq!((answer.events.len(), answer.closed), (1, None));
    assert_eq!(failure_of(&answer).2, "given up before its end");
}

#[test]
fn throttling_says_how_long_to_wait() {
    let date = "Date: Tue, 01 Dec 2026 00:49:02 GMT\r\n";
    for (head, wait) in [
        ("Retry-After: 7\r\n".to_owned(), Some(7)),
        ("Retry-After: 1.2\r\n".to_owned(), Some(2)),
        (format!("{date}Retry-After: Tue, 01 Dec 2026 00:50:02 GMT\r\n"), Some(60)),
        (format!("{date}Retry-After: Tue, 01 Dec 2026 00:48:00 GMT\r\n"), Some(0)),
        ("Retry-After: Tue, 01 Dec 2026 00:50:02 GMT\r\n".to_owned(), None),
        ("Retry-After: soon\r\n".to_owned(), None),
        ("Retry-After: -1\r\n".to_owned(), None),
        (String::new(), None),
    ] {
        let wire = with_length("429 Too Many Requests", &head, r#"{"error":{"message":"slow down"}}"#);
        let answer = answer_of(Dialect::OpenaiChat, true, &wire, After::Open);
        let kind = FailureKind::Http { status: 429, retry_after_s: wait };
        assert_eq!(failure_of(&answer), (kind, FailurePoint::FirstToken, "slow down"), "{head}");
        assert_eq!(kind.code(), "http_429");
    }
}

#[test]
fn refusals_keep_the_servers_words() {
    for (status, body, detail) in [
        ("503 Service Unavailable", "no healthy upstream", "no healthy upstream"),
        ("502 Bad Gateway", "<html><title>502 Bad Gateway</title><hr>nginx</html>", "502 Bad Gateway nginx"),
        ("401 Unauthorized", r#"{"detail":"Invalid token"}"#, "Invalid token"),
        ("500 Internal Server Error", "", ""),
    ] {
        let answer = answer_of(Dialect::OpenaiChat, true, &with_length(status, "", body), After::Open);
        let (kind, at, words) = failure_of(&answer);
        assert_eq!(kind.code(), format!("http_{}", &status[..3]));
        assert_eq!((at, words), (FailurePoint::FirstToken, detail));
    }
    let redirect = with_length("307 Temporary Redirect", "Location: https://elsewhere/\r\n", "");
    let answer = answer_of(Dialect::OpenaiChat, true, &redirect, After::Open);
    assert_eq!(
        (failure_of(&answer).0.code().as_str(), failure_of(&answer).2),
        ("http_307", "redirect to https://elsewhere/")
    );
    let endless = [&b"HTTP/1.1 500 Oops\r\n\r\nno"[..], &vec![b' '; 100_000]].concat();
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    assert_eq!(exchange.received(NOW, &endless), Step::Done);
    assert!(exchange.is_framed() && !exchange.connection_reusable());
    assert_eq!(failure_of(&exchange.finish()).2, "no");
}

#[test]
fn closes_before_any_byte_and_inside_the_head() {
    let (answer, _) = feed(Exchange::new(Dialect::OpenaiChat, true, true), b"", &[], After::Close);
    assert_eq!(failure_of(&answer), (FailureKind::ClosedEarly, FailurePoint::Wait, ""));
    assert_eq!((answer.first_byte, answer.closed), (None, Some(NOW)));
    let answer = answer_of(Dialect::OpenaiChat, true, b"HTTP/1.1 200 OK\r\nCont", After::Close);
    assert_eq!((failure_of(&answer).0, failure_of(&answer).1), (FailureKind::Truncated, FailurePoint::FirstToken));
    assert_eq!(answer.status, None);
}

#[test]
fn pages_with_status_200_are_no_answers() {
    let html = "<!doctype html><title>Log in</title>";
    for label in ["text/html; charset=utf-8", "text/plain", "application/json"] {
        let wire = with_length("200 OK", &format!("Content-Type: {label}\r\n"), html);
        let answer = answer_of(Dialect::OpenaiChat, true, &wire, After::Open);
        let (kind, _, detail) = failure_of(&answer);
        assert_eq!(kind, FailureKind::WrongContentType, "{label}");
        assert!(detail.ends_with("Log in"), "{detail}");
    }
    let wire = with_length("200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", "\u{1f}x");
    let answer = answer_of(Dialect::OpenaiChat, true, &wire, After::Open);
    assert_eq!(
        (failure_of(&answer).0, failure_of(&answer).2),
        (FailureKind::WrongContentType, "content-encoding gzip was not asked for")
    );
}

#[test]
fn bodies_that_break_their_promise() {
    for (body, detail) in [
        ("{\"choices\":", "not JSON"),
        ("hello", "not JSON"),
        ("{\"id\":1}", "no choices"),
        ("[]", "no choices"),
        ("", "an empty body"),
    ] {
        let wire = with_length("200 OK", "Content-Type: application/json\r\n", body);
        let answer = answer_of(Dialect::OpenaiChat, false, &wire, After::Open);
        assert_eq!(failure_of(&answer).0, FailureKind::BadBody, "{body}");
        assert!(failure_of(&answer).2.contains(detail), "{}", failure_of(&answer).2);
    }
    let short = with_length("200 OK", "Content-Type: application/json\r\n", "{\"choices\":[]}");
    let answer = answer_of(Dialect::OpenaiChat, false, &short[..short.len() - 2], After::Close);
    assert_eq!((failure_of(&answer).0, failure_of(&answer).2), (FailureKind::Truncated, "closed inside the body"));
    let empty = with_length("200 OK", "Content-Type: text/event-stream\r\n", "");
    assert_eq!(failure_of(&answer_of(Dialect::OpenaiChat, true, &empty, After::Open)).0, FailureKind::Truncated);
    let silent = r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#;
    let answer = answer_of(Dialect::OpenaiChat, false, &with_length("200 OK", "", silent), After::Open);
    assert_eq!(failure_of(&answer).0, FailureKind::Empty);
}

#[test]
fn what_is_not_http_is_told_at_once() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    assert_eq!(exchange.received(NOW, b"SSH-2.0-OpenSSH\r\n"), Step::Done);
    assert!(exchange.is_framed() && !exchange.connection_reusable());
    let answer = exchange.finish();
    assert_eq!((failure_of(&answer).0, answer.status), (FailureKind::BadHttp, None));
    let both = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = answer_of(Dialect::OpenaiChat, true, both, After::Open);
    assert_eq!(
        failure_of(&answer),
        (FailureKind::BadHttp, FailurePoint::FirstToken, "ambiguous body length: chunked and Content-Length")
    );
    let broken = [&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..], content("a").as_bytes()].concat();
    assert_eq!(failure_of(&answer_of(Dialect::OpenaiChat, true, &broken, After::Open)).0, FailureKind::BadHttp);
}

#[test]
fn framing_that_breaks_after_the_end_marker_costs_only_the_connection() {
    let mut wire = chunked(&[&content("a"), DONE]);
    wire.truncate(wire.len() - 5);
    wire.extend_from_slice(b"garbage");
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    exchange.received(NOW, &wire);
    assert!(exchange.is_framed() && !exchange.connection_reusable());
    assert_eq!(exchange.finish().verdict, Ok(()));
}

#[test]
fn a_line_without_end_is_too_large() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    exchange.received(NOW, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
    let block = vec![b'x'; 1 << 20];
    let steps: Vec<Step> = (0..17).map(|_| exchange.received(NOW, &block)).collect();
    assert_eq!(steps.iter().filter(|step| **step == Step::More).count(), 15, "16 MiB are accepted, line head included");
    assert_eq!(failure_of(&exchange.finish()).0, FailureKind::TooLarge);

    let mut exchange = Exchange::new(Dialect::OpenaiChat, false, true);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1_u64 << 40);
    assert_eq!(exchange.received(NOW, head.as_bytes()), Step::Done, "known from the head alone");
    assert_eq!(failure_of(&exchange.finish()).0, FailureKind::TooLarge);
}

#[test]
fn words_of_servers_cannot_disturb_a_report() {
    let body = format!("{{\"error\":{{\"message\":\"\\u001b[31m{}\\u0000\\n\"}}}}", "y ".repeat(5000));
    let answer = answer_of(Dialect::OpenaiChat, true, &with_length("400 Bad", "", &body)[..200], After::Close);
    assert!(failure_of(&answer).2.chars().all(|c| !c.is_control()));
    let (answer, _) =
        feed(Exchange::new(Dialect::OpenaiChat, true, true), &with_length("400 Bad", "", &body), &[], After::Open);
    assert_eq!(failure_of(&answer).2.chars().count(), 300);
}
