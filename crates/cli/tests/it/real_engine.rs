//! Against a real inference server (llama.cpp with a tiny model, started by `scripts/test`).
//!
//! Its own counts are the reference: `usage` and `timings` come from the engine, the tokenizer file from its model.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kneepoint_model::record::Phase;
use kneepoint_model::summary::{PointSummary, ReasonCode, Severity, Summary};

use crate::kneepoint::{ends_with, records, run, stderr, stdout, summary};

/// One measurement at a time: the engine and the client share two cores.
static ENGINE: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    ENGINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the engine is; a test run without one is not a pass.
fn engine() -> (String, String) {
    #[expect(clippy::disallowed_methods, reason = "handed over by scripts/test")]
    let variable = |name: &str| {
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run these tests by scripts/test"))
    };
    (variable("KNEEPOINT_TEST_ENGINE_URL"), variable("KNEEPOINT_TEST_ENGINE_TOKENIZER"))
}

/// A seed no earlier measurement of this engine used: it would answer the same prompts from its cache.
fn fresh_seed() -> String {
    static MEASUREMENTS: AtomicU64 = AtomicU64::new(0);
    (u64::from(std::process::id()) * 100 + MEASUREMENTS.fetch_add(1, Ordering::Relaxed)).to_string()
}

/// Measures with these flags beside the common ones; one sweep of two short levels.
fn measure(folder: &Path, flags: &[&str]) -> Summary {
    let (url, tokenizer) = engine();
    let _turn = turn();
    let bundle = folder.join("bundle");
    let out = bundle.to_str().expect("UTF-8");
    let seed = fresh_seed();
    let common = [
        "run",
        "--url",
        &url,
        "--model",
        "tiny",
        "--tokenizer",
        &tokenizer,
        "--input",
        "48",
        "--output",
        "24",
        "--for",
        "2s",
        "--warm-up",
        "300ms",
        "--min-samples",
        "5",
        "--drain",
        "10s",
        "--request-timeout",
        "20s",
        "--out",
        out,
        "--quiet",
        "--seed",
        &seed,
    ];
    let output = run(common.iter().chain(flags));
    // 3: the other tests of this machine made the client late, which is for it to say and not for this test to fail on.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}\n{}", stdout(&output), stderr(&output));
    check_records(&bundle, flags.contains(&"--no-stream"));
    summary(&bundle)
}

fn check_records(bundle: &Path, unary: bool) {
    let records = records(bundle);
    assert!(records.len() >= 8, "{} records", records.len());
    for record in records.iter().filter(|record| record.phase == Phase::Measured) {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        let tokens = record.output_tokens;
        assert_eq!(tokens.server.map(|n| n.0), Some(24), "length control holds: {tokens:?}");
        assert_eq!(record.input_tokens.local.map(|n| n.0), Some(48), "prompts have exactly the length asked for");
        let template = record.input_tokens.server.expect("counted by the server").0 - 48;
        assert!(template <= 24, "the chat template added {template} tokens");
        // The engine's own stopwatch runs inside ours.
        let inside = record.server.prefill.expect("timed by the server").0 + record.server.decode.expect("timed").0;
        let outside = record.closed.expect("closed").0 - record.sent.expect("sent").0;
        assert!(inside <= outside + 1_000_000, "the engine says {inside} ns, the client saw {outside} ns");
        assert_eq!(record.events.len() == 1, unary || record.events.len() == 1);
        let first = record.first_token().expect("a token").0;
        let last = record.last_token().expect("a token").0;
        assert!(record.sent.expect("sent").0 < first && first <= last && last <= record.closed.expect("closed").0);
        assert_eq!(last - first, record.events.gaps.iter().sum::<u64>());
    }
}

#[track_caller]
fn check(point: &PointSummary, flags: &[&str]) {
    // The other tests come and go on the processors that the engine and the client share: lateness, and latencies that
    // shift within two seconds, are true findings here.
    let is_the_machines = |code: ReasonCode| {
        use ReasonCode::{ClientBusy, ClientLate, ClientReadLate, ClientWaited, NotSteady};
        matches!(code, ClientLate | ClientBusy | ClientWaited | ClientReadLate | NotSteady)
    };
    let invalid = point.reasons.iter().filter(|reason| reason.severity == Severity::Invalid);
    let of_the_run: Vec<_> = invalid.filter(|reason| !is_the_machines(reason.code)).collect();
    assert!(of_the_run.is_empty(), "{flags:?}: {of_the_run:?}");
    assert!(point.requests.failed.is_empty(), "{:?}", point.requests);
    assert_eq!(point.output_tokens.server_mean, Some(24.0));
    assert_eq!(point.output_tokens.source.as_deref(), Some("server"));
    assert!(point.throughput.output_tok_s.expect("counted") > 0.0);
    assert!(point.ttft_ms.p50 <= point.e2e_ms.p50);
    assert!(!point.simulated);
}

#[test]
fn chat_in_constant_rate_streamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["--rate", "4,8"];
    let summary = measure(folder.path(), &flags);
    let rates: Vec<_> = summary.points.iter().map(|point| point.load.rate_rps).collect();
    assert_eq!(rates, [Some(4.0), Some(8.0)]);
    for point in &summary.points {
        check(point, &flags);
        assert!(point.tpot_ms.n > 0 && point.icl_ms.n > 0);
        assert_eq!(point.open_loop, Some(true));
    }
    assert_eq!(summary.points[1].requests.scheduled, 16);
}

#[test]
fn chat_in_concurrency_not_streamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["--concurrency", "1,2", "--no-stream"];
    let summary = measure(folder.path(), &flags);
    for point in &summary.points {
        check(point, &flags);
        assert_eq!(point.icl_ms.n, 0, "one piece has no gaps");
        assert_eq!(point.open_loop, None);
    }
}

#[test]
fn completions_in_concurrency_streamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["--concurrency", "1,4", "--dialect", "openai-completions"];
    let summary = measure(folder.path(), &flags);
    for point in &summary.points {
        check(point, &flags);
    }
    // Between the end of an answer and the next request lies the end of its framing, and a new connection where the
    // engine closes the old one: short answers leave a slot empty for part of the time.
    let busy: Vec<f64> = summary.points.iter().filter_map(|point| point.throughput.in_flight_mean).collect();
    assert!(busy[0] > 0.5 && busy[0] <= 1.0 && busy[1] > 2.0 && busy[1] <= 4.0, "{busy:?}");
}

#[test]
fn completions_in_poisson_rate_not_streamed_on_new_connections() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [
        "--rate",
        "6",
        "--arrival",
        "poisson",
        "--dialect",
        "openai-completions",
        "--no-stream",
        "--connection",
        "per-request",
    ];
    let summary = measure(folder.path(), &flags);
    for point in &summary.points {
        check(point, &flags);
        assert_eq!(point.requests.new_connections, point.requests.sent);
        assert!(point.phases.tcp_connect_ms.n > 0);
    }
}

#[test]
fn a_model_that_is_cut_by_the_context_is_refused_before_any_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, tokenizer) = engine();
    let out = folder.path().join("bundle");
    let _turn = turn();
    let flags = [
        "run",
        "--url",
        &url,
        "--model",
        "tiny",
        "--tokenizer",
        &tokenizer,
        "--rate",
        "1",
        "--input",
        "6000",
        "--output",
        "8",
        "--out",
        out.to_str().expect("UTF-8"),
    ];
    let output = ends_with(2, flags);
    let text = stderr(&output);
    assert!(text.contains("http_400") && text.contains("context"), "{text}");
}
