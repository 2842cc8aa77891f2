//! Calls of the command: what is refused, with which code, and what is left behind.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::kneepoint::{Sim, command, ends_with, run, stderr, stdout};

#[test]
fn a_plan_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.yaml");
    std::fs::write(&plan, "precious").expect("writes");
    let path = plan.to_str().expect("UTF-8");
    let flags = ["run", "--url", "http://127.0.0.1:1", "--model", "m", "--rate", "1", "--save-plan", path];
    let output = ends_with(2, flags.iter().chain(&["--out", folder.path().join("out").to_str().expect("UTF-8")]));
    assert!(stderr(&output).contains("exists already"));
    let output = ends_with(2, ["init", path]);
    assert!(stderr(&output).contains("exists already"));
    assert_eq!(std::fs::read_to_string(&plan).expect("reads"), "precious");
}

#[test]
fn an_absent_platform_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let flags = ["run", "--url", "http://127.0.0.1:1", "--model", "m", "--rate", "1"];
    let output = ends_with(4, flags.iter().chain(&["--out", out.to_str().expect("UTF-8")]));
    assert!(stderr(&output).contains("could not be reached") && stderr(&output).contains("hint:"));
    assert!(!out.exists());
}

#[test]
fn a_gate_without_an_slo_is_refused() {
    let output = ends_with(2, ["run", "--url", "http://127.0.0.1:1", "--model", "m", "--rate", "1", "--require-slo"]);
    assert!(stderr(&output).contains("the plan has no SLO"));
}

#[test]
fn a_missed_slo_is_named_and_ends_with_one() {
    let sim = Sim::start("test");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let flags = [
        "run",
        "--url",
        &sim.url,
        "--model",
        "simulated",
        "--rate",
        "20",
        "--input",
        "8",
        "--output",
        "4",
        "--for",
        "1s",
        "--warm-up",
        "0s",
        "--min-samples",
        "1",
        "--slo",
        "name=strict,e2e=1us,share=99%",
        "--require-slo",
    ];
    let output = run(flags.iter().chain(&["--out", out.to_str().expect("UTF-8")]));
    // 3: a busy machine made the client late, and a point that is not valid judges nobody.
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", stderr(&output));
    if output.status.code() == Some(1) {
        assert!(stderr(&output).contains("SLO strict missed by"), "{}", stderr(&output));
    }
    assert!(stdout(&output).contains("SIMULATED"));
}

#[test]
fn an_interrupt_while_probing_ends_the_run_at_once() {
    // Accepts and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let flags = ["run", "--url", &url, "--model", "m", "--rate", "1", "--out", out.to_str().expect("UTF-8")];
    let child = command().args(flags).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    // Five handshakes for the round trip, then the probe's own connection: from then on it waits for an answer.
    let connections: Vec<_> = silent.incoming().take(6).collect();
    std::thread::sleep(Duration::from_millis(100));
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
    kill_process(pid, Signal::INT).expect("it is ours and alive");
    let output = child.wait_with_output().expect("ends");
    drop(connections);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!out.exists());
}

#[test]
fn data_goes_to_standard_output_alone() {
    for arguments in [vec!["schema"], vec!["schema", "summary"], vec!["schema", "profile"]] {
        let output = ends_with(0, arguments);
        serde_json::from_str::<serde_json::Value>(&stdout(&output)).expect("JSON");
        assert_eq!(stderr(&output), "");
    }
    assert!(stdout(&ends_with(0, ["completions", "bash"])).contains("kneepoint"));
    assert!(stdout(&ends_with(0, ["init"])).contains("kneepoint: 1"));
}
