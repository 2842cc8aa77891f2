//! Defects seen in other load generators, as far as figures and the command could have them: each test names one.
//!
//! `docs/rivals.md` is the list; the defects of the instrument itself are in `crates/load/tests/it/rivals.rs`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use kneepoint_model::Record;
use kneepoint_model::summary::{PointSummary, Ranked, Summary};

use crate::kneepoint::{Sim, records, run, stderr, summary};

/// A run of flags against a platform, and what it left. One point.
fn measure(url: &str, flags: &str) -> (PointSummary, Vec<Record>) {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    let bundle_flag = bundle.to_str().expect("UTF-8");
    let always = ["run", "--url", url, "--model", "simulated", "--quiet", "--no-calibration", "--out", bundle_flag];
    let output = run(always.into_iter().chain(flags.split_whitespace()));
    // 3: on a busy machine a point may be invalid; each test says what of it must hold all the same.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let manifest = std::fs::read_to_string(bundle.join("manifest.json")).expect("a manifest");
    assert!(!manifest.contains("\"calibration\""), "none was wanted: {manifest}");
    let Summary { mut points, .. } = summary(&bundle);
    assert_eq!(points.len(), 1);
    (points.remove(0), records(&bundle))
}

/// A simulated platform of this profile, but for name and sizes.
fn platform(profile: &str) -> Sim {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.yaml");
    std::fs::write(&path, format!("name: rivals\nseed: 1\n{profile}\n")).expect("writes");
    Sim::start(path.to_str().expect("UTF-8"))
}

/// The middle value: no percentile floor applies to what a test looks at.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A server that answers every completion with one token, and keeps what it was asked.
fn listener_that_keeps() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("an address");
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let keep = Arc::clone(&keep);
            std::thread::spawn(move || while answer(&stream, &keep).is_some() {});
        }
    });
    (address, kept)
}

fn answer(mut stream: &TcpStream, kept: &Mutex<Vec<String>>) -> Option<()> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    let body = loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break body.to_owned();
            }
        }
        let n = stream.read(&mut buffer).ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&buffer[..n]);
    };
    let answer = if body.is_empty() {
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned()
    } else {
        kept.lock().expect("nobody panics").push(body);
        let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\n\
                      data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{events}",
            events.len()
        )
    };
    stream.write_all(answer.as_bytes()).ok()
}

/// "Constant" rates that are exponential, and unseeded (inference-perf).
///
/// Of a run as it was recorded: the gaps between intended instants vary by less than 1% of their mean, and a second run
/// with the same seed sends the same bytes at the same instants. The schedule by itself is in
/// `crates/workload/tests/it/arrivals.rs`.
#[test]
fn what_is_sent_at_a_constant_rate_is_constant_and_repeats() {
    let run = |seed: u32| {
        let (address, kept) = listener_that_keeps();
        let flags = "--rate 50 --input 8 --output 1 --for 1s --warm-up 0s --min-samples 1 --length-control natural";
        let (_, records) = measure(&format!("http://{address}"), &format!("{flags} --seed {seed}"));
        let mut records = records;
        records.sort_by_key(|record| record.index);
        let start = records[0].intended;
        let offsets: Vec<u64> =
            records.iter().map(|record| record.intended.since(start).expect("ascending").0).collect();
        // Requests of one instant may overtake each other on their way; which were sent must be the same.
        let mut bodies = kept.lock().expect("nobody panics").clone();
        bodies.sort_unstable();
        (offsets, bodies)
    };
    let (offsets, bodies) = run(5);
    assert_eq!(offsets.len(), 50);
    let gaps: Vec<f64> = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (gaps.len() - 1) as f64;
    assert!(variance.sqrt() / mean < 0.01, "coefficient of variation {}", variance.sqrt() / mean);
    assert!(bodies.len() >= 50, "{} bodies", bodies.len());
    let again = run(5);
    assert!((offsets, &bodies) == (again.0, &again.1), "the same seed sends the same bytes at the same instants");
    assert_ne!(bodies, run(6).1, "another seed sends others");
}

/// Chunks counted as tokens (`GuideLLM` where usage is missing, vLLM's peak rate).
///
/// A platform that sends five tokens a chunk: token counts, time per token, throughput and the busiest second are those
/// of the tokens, through a whole run.
#[test]
fn five_tokens_a_chunk_are_five_tokens() {
    let sim = platform("engine: {step: 4ms, decode: 1us, prefill: 1us}\nstream: {tokens_per_event: 5}");
    let flags = "--rate 40 --input 8 --output 20 --for 2s --warm-up 500ms --min-samples 1";
    let (point, records) = measure(&sim.url, flags);
    assert!(records.iter().all(|record| record.events.len() == 4), "20 tokens in 4 chunks");
    assert_eq!((point.output_tokens.used.min, point.output_tokens.used.max), (Some(20.0), Some(20.0)));
    let tokens_s = point.throughput.output_tok_s.expect("the server counts");
    assert!((tokens_s / 800.0 - 1.0).abs() < 0.15, "40 answers of 20 tokens a second, not of 4 chunks: {tokens_s}");
    let peak = point.throughput.max_output_tok_s.expect("the server counts");
    assert!((700.0..1_600.0).contains(&peak), "the busiest second holds tokens, not 160 chunks: {peak}");
    // Four milliseconds a step, a token a step: a chunk every 20 ms, and never 20 ms a token.
    let chunk_ms = point.icl_ms.p50.expect("gaps");
    let token_ms = point.tpot_ms.p50.expect("tokens are counted");
    assert!(chunk_ms > 18.0 && token_ms < 6.0, "{chunk_ms} a chunk, {token_ms} a token");
    for record in &records {
        let first = record.events.tokens.first().copied().unwrap_or(1);
        let span = record.events.gaps.iter().sum::<u64>() as f64;
        // A machine that is busy may read all of an answer at once: that has no time per token.
        let Some(tpot) = kneepoint_analysis::stats::timeline::Timeline::of(record).tpot.ns() else { continue };
        assert!((tpot - span / f64::from(20 - first)).abs() < 1.0, "{tpot}");
    }
}

/// An empty first chunk taken for the first token (vLLM's client stops its clock at the chunk that only names the role).
///
/// The platform sends that chunk at once and the first token 40 ms later: TTFT is the token's.
#[test]
fn a_role_only_chunk_is_not_the_first_token() {
    let sim = platform("engine: {step: 40ms, decode: 1us, prefill: 1us}\nstream: {role: at-once}");
    let (point, records) = measure(&sim.url, "--rate 10 --input 8 --output 2 --for 2s --warm-up 0s --min-samples 1");
    let early =
        median(records.iter().filter_map(|record| Some(record.first_byte?.since(record.sent?)?.as_millis_f64())));
    assert!(early < 20.0, "the role came at once: after {early} ms");
    let ttft = point.ttft_sent_ms.min.expect("answers");
    assert!(ttft >= 40.0, "and the first token no sooner than a step: after {ttft} ms");
}

/// Failures that vanish from percentiles (vLLM, `SGLang`, `GuideLLM`): a platform that refuses a twentieth of what it is
/// sent looks better than one that serves all.
///
/// With 5% of the requests failing, a limit on the 99th percentile is missed, however quick the others are: where failures
/// count as infinitely late, p99 falls on one.
#[test]
fn failures_do_not_vanish_from_percentiles() {
    let sim = platform("engine: {step: 1ms, decode: 1us, prefill: 1us}\nfaults: {http_500: 5%}");
    let flags =
        "--rate 250 --input 8 --output 2 --for 3s --warm-up 0s --min-samples 1 --slo name=generous,e2e=1m,share=99%";
    let (point, _) = measure(&sim.url, flags);
    assert_eq!(point.requests.scheduled, 750);
    let failed: u64 = point.requests.failed.values().sum();
    assert!((15..80).contains(&failed), "5% of 750: {failed}");
    for ranked in [&point.e2e_with_failures_ms, &point.ttft_with_failures_ms] {
        assert_eq!(ranked.n, 750);
        assert!(matches!(ranked.p50, Ranked::Value(_)) && matches!(ranked.p90, Ranked::Value(_)), "{ranked:?}");
        assert_eq!(ranked.p99, Ranked::Failed);
    }
    assert_eq!(point.e2e_ms.n, 750 - failed, "the latencies of the others stand beside it");
    let slo = &point.slo["generous"];
    assert_eq!((slo.offered, slo.good, slo.met), (750, 750 - failed, Some(false)));
}

/// Arrivals dropped unseen (inference-benchmarker), where it is the machine that cannot send them.
///
/// A client that may open few files meets a server that never answers: what it cannot open a connection for is counted,
/// failed on the client's side, and the point does not pass for one that kept its load.
#[cfg(target_os = "linux")]
#[test]
fn arrivals_that_the_machine_cannot_send_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    let sim = platform("engine: {step: 1s, decode: 1us, prefill: 1us}");
    let plan = format!(
        "{{kneepoint: 1, name: few, model: {{id: simulated}}, platforms: {{p: {{url: '{}', length_control: natural, \
         request_timeout: 20s}}}}, workloads: {{w: {{input: 8, output: 2}}}}, \
         load: [{{rate: {{sweep: [100], for: 1s, warm_up: 0s, min_samples: 1, drain: 1s}}}}]}}",
        sim.url
    );
    let path = folder.path().join("plan.yaml");
    std::fs::write(&path, plan).expect("writes");
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 60; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_kneepoint"), "run"])
        .args([&path, Path::new("--out"), &bundle, Path::new("--quiet")])
        .output()
        .expect("a shell");
    assert!(matches!(output.status.code(), Some(3)), "{}", stderr(&output));
    let (point, records) = (summary(&bundle).points.remove(0), records(&bundle));
    let client = point.requests.failed_by_side.get("client").copied().unwrap_or(0);
    assert!(client >= 30, "100 arrivals, fewer than 60 files: {client}");
    let failed: u64 = point.requests.failed.values().sum();
    let told = point.requests.ok + failed + point.requests.cut + point.requests.unsent;
    assert_eq!((point.requests.scheduled, told), (100, 100));
    assert_eq!(point.requests.sent, records.iter().filter(|record| record.sent.is_some()).count() as u64);
    assert!(point.requests.sent + client <= 100 && !point.valid);
}

/// A cap that turns an open loop into a closed one in silence (`AIPerf`, `GuideLLM` at 512, vLLM).
///
/// Where the plan's `max_in_flight` binds, the summary says that the point was no open loop; where it does not, that it
/// was.
#[test]
fn a_point_whose_cap_bound_is_no_open_loop() {
    let sim = platform("engine: {step: 100ms, decode: 0us, prefill: 0us}");
    for (cap, binds) in [("max_in_flight: 2", true), ("max_in_flight: 1000", false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, bundle) = (folder.path().join("plan.yaml"), folder.path().join("bundle"));
        let plan = format!(
            "{{kneepoint: 1, name: capped, model: {{id: simulated}}, platforms: {{p: {{url: '{}'}}}}, \
             workloads: {{w: {{input: 8, output: 2}}}}, \
             load: [{{rate: {{sweep: [40], for: 2s, warm_up: 0s, min_samples: 1, drain: 5s, {cap}}}}}]}}",
            sim.url
        );
        std::fs::write(&path, plan).expect("writes");
        let output = run([Path::new("run"), &path, Path::new("--out"), &bundle, Path::new("--quiet")]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
        let point = summary(&bundle).points.remove(0);
        if binds {
            assert_eq!((point.open_loop, point.valid), (Some(false), false));
            assert!(point.requests.late > 5, "what was held back is late: {:?}", point.requests);
            assert!(point.requests.sent < 60, "80 arrivals, two at a time of 200 ms each: {:?}", point.requests);
        } else {
            // A busy machine may be late by itself; it sends all the same.
            assert_eq!(point.requests.sent, 80);
        }
    }
}
