//! Runs the built binary and reads what it leaves.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use kneepoint_model::Record;
use kneepoint_model::summary::Summary;

/// The command, with an environment that does not depend on who runs the tests.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kneepoint"));
    command.env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs the command to its end.
#[track_caller]
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    command().args(arguments).output().expect("the binary runs")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Runs the command, which must end with this code.
#[track_caller]
pub(crate) fn ends_with<S: AsRef<std::ffi::OsStr>>(code: i32, arguments: impl IntoIterator<Item = S>) -> Output {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", stdout(&output), stderr(&output));
    output
}

pub(crate) fn summary(bundle: &Path) -> Summary {
    let text = std::fs::read_to_string(bundle.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("a summary of this version")
}

pub(crate) fn records(bundle: &Path) -> Vec<Record> {
    let bundle = kneepoint_store::Bundle::open(bundle).expect("a bundle");
    bundle.records().expect("opens").map(|record| record.expect("a record")).collect()
}

/// A simulated platform in a process of its own; ended when dropped.
pub(crate) struct Sim {
    process: std::process::Child,
    pub(crate) url: String,
}

impl Sim {
    pub(crate) fn start(profile: &str) -> Self {
        use std::io::BufRead as _;
        let mut process = command()
            .args(["sim", "--profile", profile, "--host", "127.0.0.1", "--port", "0", "--quiet"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut url = String::new();
        let out = process.stdout.take().expect("piped");
        std::io::BufReader::new(out).read_line(&mut url).expect("prints its address");
        Self { process, url: url.trim().to_owned() }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
