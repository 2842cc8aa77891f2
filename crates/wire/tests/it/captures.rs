//! Every captured answer of the real servers decodes to what an independent reading says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kneepoint_model::plan::Dialect;
use kneepoint_model::{Failure, FailureKind, Nanos, Tokens};
use kneepoint_wire::exchange::{Answer, Exchange};
use serde::Deserialize;

use crate::support::{After, answer_of, feed};

/// What `expected.py` says of one capture.
#[derive(Debug, Deserialize)]
struct Expected {
    status: u16,
    verdict: String,
    message: Option<String>,
    text: Option<String>,
    events: Option<usize>,
    tokens: Option<Vec<u32>>,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    closed_ns: Option<u64>,
    finish: Option<String>,
    input: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
    prefill_ms: Option<f64>,
    decode_ms: Option<f64>,
}

#[derive(Deserialize)]
struct Request {
    path: String,
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
struct Read {
    t_ns: u64,
    #[serde(default)]
    bytes: usize,
    #[serde(default)]
    note: String,
}

struct Capture {
    name: String,
    dialect: Dialect,
    stream: bool,
    wire: Vec<u8>,
    reads: Vec<Read>,
    expected: Expected,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn captures() -> Vec<Capture> {
    let text = std::fs::read_to_string(fixtures().join("expected.json")).expect("readable");
    let all: BTreeMap<String, Expected> = serde_json::from_str(&text).expect("as expected.py writes it");
    let read = |name: &str, end: &str| std::fs::read(fixtures().join(format!("engines/{name}.{end}"))).expect("a file");
    all.into_iter()
        .map(|(name, expected)| {
            let request: Request = serde_json::from_slice(&read(&name, "request.json")).expect("a request");
            let reads = String::from_utf8(read(&name, "reads.jsonl")).expect("text");
            Capture {
                dialect: match request.path.as_str() {
                    "/v1/completions" => Dialect::OpenaiCompletions,
                    _ => Dialect::OpenaiChat,
                },
                stream: request.body.is_some_and(|body| body.stream),
                wire: read(&name, "http"),
                reads: reads.lines().map(|line| serde_json::from_str(line).expect("a read")).collect(),
                name,
                expected,
            }
        })
        .collect()
}

fn code(verdict: &Result<(), Failure>) -> String {
    verdict.as_ref().err().map_or("ok".to_owned(), |failure| failure.kind.code())
}

#[track_caller]
fn check(capture: &Capture, answer: &Answer) {
    let Capture { name, expected, .. } = capture;
    assert_eq!(answer.status, Some(expected.status), "{name}");
    assert_eq!(code(&answer.verdict), expected.verdict, "{name}: {:?}", answer.verdict);
    if let Some(message) = &expected.message {
        let detail = &answer.verdict.as_ref().expect_err("a failure").detail;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(detail).contains(&words(message)), "{name}: {detail} does not hold {message}");
        assert!(answer.events.is_empty() && answer.text.is_empty(), "{name}");
        return;
    }
    assert_eq!(Some(&answer.text), expected.text.as_ref(), "{name}");
    assert_eq!(Some(answer.events.len()), expected.events, "{name}");
    assert_eq!(Some(&answer.events.tokens), expected.tokens.as_ref(), "{name}");
    assert_eq!(answer.finish, expected.finish, "{name}");
    assert_eq!(answer.input_tokens, expected.input.map(Tokens), "{name}");
    assert_eq!(answer.cached_tokens, expected.cached.map(Tokens), "{name}");
    assert_eq!(answer.output_tokens, expected.output.map(Tokens), "{name}");
    assert_eq!(answer.server.prefill, expected.prefill_ms.map(|ms| Nanos::from_secs_f64(ms / 1e3)), "{name}");
    assert_eq!(answer.server.decode, expected.decode_ms.map(|ms| Nanos::from_secs_f64(ms / 1e3)), "{name}");
    assert_eq!(answer.oddities, 0, "{name}");
    assert_eq!(answer.bytes_received, capture.wire.len() as u64, "{name}");
}

#[test]
fn every_capture_decodes_however_it_is_cut() {
    let captures = captures();
    assert_eq!(captures.len(), 50, "every capture of both servers is in the table");
    for capture in &captures {
        // Cutting long streams everywhere takes minutes without optimisation; past this size a stream only repeats.
        if capture.wire.len() < 10_000 {
            check(capture, &answer_of(capture.dialect, capture.stream, &capture.wire, After::Close));
            continue;
        }
        let exchange = || Exchange::new(capture.dialect, capture.stream, true);
        let (whole, _) = feed(exchange(), &capture.wire, &[], After::Close);
        for step in [1, 2, 3, 7, 100, 1448] {
            let cuts: Vec<usize> = (step..capture.wire.len()).step_by(step).collect();
            assert_eq!(feed(exchange(), &capture.wire, &cuts, After::Close).0, whole, "{} by {step}", capture.name);
        }
        for cut in (0..capture.wire.len()).step_by(13) {
            assert_eq!(feed(exchange(), &capture.wire, &[cut], After::Close).0, whole, "{} at {cut}", capture.name);
        }
        check(capture, &whole);
    }
}

#[test]
fn parsing_every_payload_changes_nothing() {
    for capture in &captures() {
        for keep_text in [true, false] {
            for step in [1, 7, 240, capture.wire.len()] {
                let cuts: Vec<usize> = (step..capture.wire.len()).step_by(step).collect();
                let exchange = || Exchange::new(capture.dialect, capture.stream, keep_text);
                let parsed = feed(exchange().parsing_every_payload(), &capture.wire, &cuts, After::Close);
                assert_eq!(feed(exchange(), &capture.wire, &cuts, After::Close), parsed, "{}", capture.name);
            }
        }
    }
}

#[test]
fn instants_are_those_of_the_reads_that_completed_the_events() {
    for capture in captures().iter().filter(|capture| capture.expected.first_ns.is_some()) {
        let mut exchange = Exchange::new(capture.dialect, capture.stream, true);
        let mut from = 0;
        for read in &capture.reads {
            exchange.received(Nanos(read.t_ns), &capture.wire[from..from + read.bytes]);
            from += read.bytes;
            if read.note == "eof" && !exchange.is_framed() {
                exchange.closed(Nanos(read.t_ns));
            }
        }
        assert_eq!(from, capture.wire.len(), "{}", capture.name);
        let answer = exchange.finish();
        let Capture { name, expected, reads, .. } = capture;
        assert_eq!(answer.first_byte, Some(Nanos(reads[0].t_ns)), "{name}");
        assert_eq!(answer.events.first, expected.first_ns.map(Nanos), "{name}");
        assert_eq!(answer.events.instants().last(), expected.last_ns.map(Nanos), "{name}");
        assert_eq!(answer.closed, expected.closed_ns.map(Nanos), "{name}");
    }
}

#[test]
fn a_kept_alive_capture_leaves_its_connection_usable() {
    for capture in captures() {
        let text = String::from_utf8_lossy(&capture.wire).into_owned();
        let kept = text.replacen("Connection: close\r\n", "", 1).replacen("connection: close\r\n", "", 1);
        assert_ne!(kept, text, "{}: captured with close", capture.name);
        let whole = capture.expected.verdict != "truncated";
        for (wire, expect) in [(kept, whole), (text, false)] {
            let exchange = Exchange::new(capture.dialect, capture.stream, false);
            let (answer, reusable) = feed(exchange, wire.as_bytes(), &[], After::Open);
            assert_eq!(reusable, expect, "{}", capture.name);
            assert!(answer.text.is_empty(), "text is only kept if asked for");
        }
    }
}

#[test]
fn statuses_are_failures_with_their_number() {
    let refusals = captures().into_iter().filter(|capture| capture.expected.status != 200);
    let mut n = 0;
    for capture in refusals {
        let (answer, _) = feed(Exchange::new(capture.dialect, true, true), &capture.wire, &[], After::Close);
        let kind = answer.verdict.expect_err("a refusal").kind;
        assert_eq!(
            kind,
            FailureKind::Http { status: capture.expected.status, retry_after_s: None },
            "{}",
            capture.name
        );
        n += 1;
    }
    assert_eq!(n, 18);
}
