//! A platform that freezes once: what its users waited must be what the report says.

use std::process::Stdio;
use std::time::Duration;

use kneepoint_analysis::stats::percentile::{Ppm, nearest};
use kneepoint_model::record::Phase;
use rustix::process::{Pid, Signal, kill_process};

use crate::kneepoint::{Sim, command, records, stderr, summary};

const RATE: f64 = 100.0;
const WINDOW_S: u32 = 10;
const FREEZE: Duration = Duration::from_secs(2);

/// Coordinated omission (every closed-loop client, and every open-loop one whose clock starts at the sending): the
/// requests that should have been sent while the platform was frozen are missing from its percentiles.
///
/// The simulator's process is stopped for F seconds. The arrivals of that time wait F − i ÷ r, whatever the client does
/// meanwhile; so the percentile with k values above it is F − k ÷ r, but for half an interval. The summary's p99 and the
/// records' p99.9 (which a summary shows from 6,636 requests on) lie within 2% of that, and the second of the stall
/// stands out in the series.
#[test]
fn a_freeze_of_two_seconds_is_in_the_percentiles_and_in_the_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("profile.yaml");
    // Room for all that gathers, so that nothing queues once the platform goes on.
    let engine = "{step: 1ms, decode: 0us, prefill: 0us, max_sequences: 1024, token_budget: 65536}";
    std::fs::write(&profile, format!("name: freezes\nseed: 1\nengine: {engine}\n")).expect("writes");
    let sim = Sim::start(profile.to_str().expect("UTF-8"));
    let bundle = folder.path().join("bundle");
    let flags = format!(
        "run --url {} --model simulated --rate {RATE} --input 8 --output 2 --for {WINDOW_S}s --warm-up 0s \
         --min-samples 1 --quiet --no-calibration --out",
        sim.url
    );
    let mut call = command();
    call.args(flags.split_whitespace()).arg(&bundle).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = call.spawn().expect("the binary runs");
    // Once the journal holds something, the window has begun.
    while !std::fs::metadata(bundle.join("requests.jsonl.zst")).is_ok_and(|file| file.len() > 0) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_raw(i32::try_from(sim.id()).expect("a pid")).expect("not zero");
    kill_process(pid, Signal::STOP).expect("it is ours and alive");
    std::thread::sleep(FREEZE);
    kill_process(pid, Signal::CONT).expect("it is ours and alive");
    let output = run.wait_with_output().expect("ends");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));

    let point = summary(&bundle).points.remove(0);
    let records = records(&bundle);
    // How long the platform was silent, by when answers came and not by what they waited: a busy machine lets a stopped
    // process go on late.
    let mut answers: Vec<f64> = records.iter().filter_map(|record| Some(record.first_token()?.as_secs_f64())).collect();
    answers.sort_by(f64::total_cmp);
    let frozen_s = answers.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    assert!((1.98..2.6).contains(&frozen_s), "silent for {frozen_s} s");
    let mut ttft_ms: Vec<f64> = records
        .iter()
        .filter(|record| record.phase == Phase::Measured)
        .map(|record| record.first_token().and_then(|at| at.since(record.intended)).expect("a token").as_millis_f64())
        .collect();
    ttft_ms.sort_by(f64::total_cmp);
    let n = ttft_ms.len();
    assert_eq!((n, point.requests.scheduled), (1_000, 1_000), "nobody's request is missing");
    let expected_ms = |above: usize| (frozen_s - (above as f64 + 0.5) / RATE) * 1e3;
    let close = |what: &str, got: Option<f64>, above: usize| {
        let (got, want) = (got.expect("enough samples"), expected_ms(above));
        assert!((got / want - 1.0).abs() < 0.02, "{what}: {got} ms, by arithmetic {want} ms");
    };
    // Of 1,000 values ten are above the 99th percentile, and one above the 99.9th.
    close("p99", point.ttft_ms.p99, 10);
    assert_eq!(point.ttft_ms.p99, nearest(&ttft_ms, Ppm::P99));
    close("p99.9", nearest(&ttft_ms, Ppm::P999), 1);
    // As many waited more than half a second as arrived more than half a second before the platform went on; some more
    // where a busy machine lets it go on late.
    let long = ttft_ms.iter().filter(|ms| **ms > 500.0).count();
    let wanted = (frozen_s - 0.5) * RATE;
    assert!((long as f64 - wanted).abs() <= 15.0, "{long} waited more than half a second, by arithmetic {wanted}");
    // The series: the seconds of the stall and no other hold the long waits, and their first holds the longest.
    let stalled: Vec<usize> =
        (0..point.series.len()).filter(|i| point.series[*i].ttft_max_ms.is_some_and(|ms| ms > 500.0)).collect();
    assert!((2..=3).contains(&stalled.len()), "{stalled:?}");
    assert!(stalled.windows(2).all(|pair| pair[1] == pair[0] + 1), "{stalled:?}");
    let most = point.series[stalled[0]].ttft_max_ms.expect("just seen");
    assert!((most / (frozen_s * 1e3) - 1.0).abs() < 0.02, "{most} ms in the second in which it began");
    let answered_in: u64 = stalled.iter().skip(1).take(1).map(|i| point.series[*i].ok).sum();
    assert_eq!(answered_in, 0, "a whole second of the stall in which nothing was answered");
}
