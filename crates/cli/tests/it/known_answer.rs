//! Streams of known timing, from their bytes to the summary: every figure to the nanosecond, with the defects of others
//! that would show in it.

use kneepoint_analysis::{RunFacts, summarise};
use kneepoint_model::bundle::{Environment, Host, Manifest, PointEnded};
use kneepoint_model::plan::{Dialect, ResolveContext, resolve};
use kneepoint_model::summary::{Distribution, PointSummary};
use kneepoint_model::{Nanos, Record};
use kneepoint_wire::exchange::{Exchange, Step};
use serde_json::json;

const MS: u64 = 1_000_000;
/// Requests of a made-up run: as many as a median needs, and one.
const REQUESTS: u64 = 7;

/// Bytes that arrive so many nanoseconds after the request was intended.
type Piece = (u64, String);

fn head(at: u64) -> Piece {
    (at, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_owned())
}

fn role(at: u64) -> Piece {
    (at, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n".to_owned())
}

/// Output; `running` is the count of tokens so far, where the server tells it with every chunk.
fn output(at: u64, text: &str, running: Option<u64>) -> Piece {
    let usage =
        running.map_or_else(String::new, |n| format!(",\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{n}}}"));
    (at, format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]{usage}}}\n\n"))
}

/// The end: finish reason, usage and end marker.
fn end(at: u64, tokens: u64) -> Piece {
    let finish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
    let usage =
        format!("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{tokens}}}}}\n\n");
    (at, format!("{finish}{usage}data: [DONE]\n\n"))
}

/// The record of a request intended at `intended` and sent `sent` later, whose answer is made of these pieces.
fn record(index: u64, intended: u64, sent: u64, pieces: &[Piece]) -> Record {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, false);
    let steps = pieces.iter().map(|(at, bytes)| exchange.received(Nanos(intended + at), bytes.as_bytes()));
    assert_eq!(steps.last(), Some(Step::Done));
    let answer = exchange.finish();
    assert_eq!(answer.verdict, Ok(()));
    let record = json!({
        "point": 0,
        "index": index,
        "phase": "measured",
        "intended_ns": intended,
        "dispatched_ns": intended,
        "connection": {"reused": true},
        "sent_ns": intended + sent,
        "written_ns": intended + sent,
        "first_byte_ns": answer.first_byte,
        "events": answer.events,
        "closed_ns": answer.closed,
        "status": answer.status,
        "outcome": "ok",
        "finish": answer.finish,
        "input_tokens": {"target": 4, "server": answer.input_tokens},
        "output_tokens": {"target": answer.output_tokens, "server": answer.output_tokens},
        "bytes": {"sent": 1, "received": answer.bytes_received},
    });
    serde_json::from_value(record).expect("a record")
}

/// The summary of a window of one second in which such requests were intended 50 ms apart.
fn point(sent: u64, pieces: &[Piece]) -> PointSummary {
    let text = "{kneepoint: 1, name: known, model: {id: m}, platforms: {p: {url: 'http://127.0.0.1:1'}}, \
                workloads: {w: {input: 4, output: 4}}, load: [{rate: {sweep: [7], for: 1s, warm_up: 0s, min_samples: 1}}]}";
    let context = ResolveContext { base_dir: std::path::Path::new("/"), env: &|_| None };
    let plan = resolve("known", text, &context).unwrap_or_else(|problems| panic!("{problems}"));
    let manifest = json!({
        "format": "", "tool": "", "name": "known", "seed": 1, "started": "", "started_unix_s": 0.0, "ended": null,
        "status": "complete", "host": Host::default(), "git": null, "clock": "kernel", "points": 1, "sha256": {},
    });
    let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let ended = json!({
        "point": 0, "started_ns": 0, "window_start_ns": 0, "window_end_ns": 1_000 * MS, "ended_ns": 1_000 * MS,
        "scheduled": REQUESTS, "unsent": 0, "interrupted": false,
    });
    let ended: PointEnded = serde_json::from_value(ended).expect("a point");
    let facts = RunFacts {
        plan: &plan,
        manifest: &manifest,
        environment: &Environment::default(),
        points: &[ended],
        searches: &std::collections::BTreeMap::new(),
        telemetry: &[],
        loss: None,
    };
    summarise(&facts, (0..REQUESTS).map(|i| record(i, i * 50 * MS, sent, pieces))).points.remove(0)
}

/// All values are this one, to a nanosecond.
#[track_caller]
fn is(distribution: &Distribution, n: u64, ms: f64) {
    assert_eq!(distribution.n, n);
    for value in [distribution.min, distribution.p50, distribution.mean, distribution.max] {
        assert!(value.is_some_and(|value| (value - ms).abs() < 1e-6), "{value:?}, not {ms}");
    }
}

/// TTFT inside the inter-token latencies, and TPOT with the first token in its denominator (llmperf, `GuideLLM`).
///
/// A stream whose every instant is known, role first and a microsecond that must not get lost: no gap holds TTFT, and
/// every formula gives what arithmetic gives.
#[test]
fn ttft_is_in_no_gap_and_the_first_token_in_no_denominator() {
    let last = 200 * MS + 1_000;
    let pieces = [
        head(60 * MS),
        role(70 * MS),
        output(110 * MS, "a", None),
        output(125 * MS, " b", None),
        output(155 * MS, " c", None),
        output(last, " d", None),
        end(202 * MS, 4),
    ];
    let point = point(2 * MS + 500_000, &pieces);
    is(&point.ttft_ms, 7, 110.0);
    is(&point.ttft_sent_ms, 7, 107.5);
    is(&point.e2e_ms, 7, 200.001);
    is(&point.e2e_sent_ms, 7, 197.501);
    is(&point.response_ms, 7, 202.0);
    // Three tokens after the first, in 90.001 ms. With TTFT in it, or four tokens under it, it would be 50 or 22.5.
    is(&point.tpot_ms, 7, 90.001 / 3.0);
    assert!(point.output_speed_tok_s.p50.is_some_and(|speed| (speed - 3_000.0 / 90.001).abs() < 1e-6));
    // Gaps of 15, 30 and 45.001 ms, three a request: the first is between tokens.
    assert_eq!(point.icl_ms.n, 21);
    let close =
        |got: Option<f64>, want: f64| assert!(got.is_some_and(|got| (got - want).abs() < 1e-6), "{got:?}, not {want}");
    close(point.icl_ms.min, 15.0);
    close(point.icl_ms.p50, 30.0);
    close(point.icl_ms.max, 45.001);
    close(point.icl_ms.mean, 90.001 / 3.0);
    close(point.client.schedule_lag_ms.max, 0.0);
    close(point.client.client_queue_ms.p50, 2.5);
}

/// Chunks counted as tokens (`GuideLLM`, vLLM's peak rate): twenty tokens in four chunks, 50 ms apart.
///
/// Where the server tells with every chunk how many tokens it has sent, the five of the first are not paid for later; where
/// it only tells at the end, the first chunk is taken to hold one, and nothing is claimed of single tokens.
#[test]
fn tokens_are_counted_and_never_chunks() {
    let chunks = |running: bool| {
        let chunk = |i: u64| output((100 + 50 * i) * MS, "a b c d e", running.then_some(5 * (i + 1)));
        let mut pieces = vec![head(60 * MS)];
        pieces.extend((0..4).map(chunk));
        pieces.push(end(251 * MS, 20));
        point(0, &pieces)
    };
    for (running, tpot) in [(true, 150.0 / 15.0), (false, 150.0 / 19.0)] {
        let point = chunks(running);
        is(&point.output_tokens.used, 7, 20.0);
        is(&point.icl_ms, 21, 50.0);
        is(&point.tpot_ms, 7, tpot);
        assert_eq!(point.throughput.output_tok_s, Some(140.0));
        assert_eq!(point.throughput.max_output_tok_s, Some(140.0), "28 chunks are not 28 tokens");
        if running {
            is(&point.itl_ms, 105, 10.0);
        } else {
            assert_eq!(point.itl_ms.n, 0);
        }
    }
}

/// An empty first chunk taken for the first token (vLLM): the chunk that only names the role comes 40 ms before it.
#[test]
fn a_role_forty_milliseconds_early_is_no_token() {
    let pieces =
        [head(60 * MS), role(60 * MS), output(100 * MS, "a", None), output(110 * MS, "b", None), end(110 * MS, 2)];
    let point = point(0, &pieces);
    is(&point.ttft_ms, 7, 100.0);
    is(&point.tpot_ms, 7, 10.0);
    is(&point.icl_ms, 7, 10.0);
}
