//! Runs that end before their time: by a signal, and by `kill -9`.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use kneepoint_model::bundle::RunStatus;
use rustix::process::{Pid, Signal, kill_process};

use crate::kneepoint::{Sim, command, ends_with, records, stdout, summary};

fn start(sim: &Sim, out: &Path) -> Child {
    let out = out.to_str().expect("UTF-8");
    let flags = [
        "run",
        "--url",
        &sim.url,
        "--model",
        "simulated",
        "--rate",
        "50",
        "--input",
        "16",
        "--output",
        "8",
        "--for",
        "60s",
        "--warm-up",
        "100ms",
        "--min-samples",
        "1",
        "--out",
        out,
        "--quiet",
    ];
    command().args(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

/// Waits until the journal holds something.
fn wait_for_records(bundle: &Path) {
    for _ in 0..600 {
        if std::fs::metadata(bundle.join("requests.jsonl.zst")).is_ok_and(|file| file.len() > 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no record within 30 s");
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
    kill_process(pid, signal).expect("it is ours and alive");
}

#[test]
fn the_first_interrupt_drains_and_keeps_the_bundle() {
    let sim = Sim::start("test");
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    let child = start(&sim, &bundle);
    wait_for_records(&bundle);
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = summary(&bundle);
    assert_eq!(summary.run.status, RunStatus::Interrupted);
    assert!(summary.points[0].requests.ok > 20);
    assert_eq!(summary.points[0].requests.cut, 0, "open requests were drained");
    assert!(bundle.join("report.html").exists());
}

#[test]
fn a_killed_run_loses_at_most_its_last_second_and_says_so() {
    let sim = Sim::start("test");
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    let mut child = start(&sim, &bundle);
    wait_for_records(&bundle);
    std::thread::sleep(Duration::from_millis(1500));
    child.kill().expect("it is ours and alive");
    child.wait().expect("ends");
    let kept = records(&bundle).len();
    assert!(kept >= 50, "{kept} records of 50 a second");
    let output = ends_with(0, ["report", bundle.to_str().expect("UTF-8"), "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["run"]["lost"]["unflushed"], true);
    assert_eq!(summary["run"]["status"], "running");
    assert_eq!(summary["points"][0]["valid"], false);
    assert!(summary["points"][0]["requests"]["ok"].as_u64() >= Some(40));
}
