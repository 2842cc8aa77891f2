//! The git state of the folder a plan lies in, by asking git.

use std::path::Path;
use std::process::{Command, Stdio};

use kneepoint_model::bundle::GitState;

/// Commit and difference of the repository around `folder`; `None` outside one, or without git.
pub(crate) fn state(folder: &Path) -> Option<GitState> {
    let commit = String::from_utf8(git(folder, &["rev-parse", "HEAD"])?).ok()?.trim().to_owned();
    let diff = git(folder, &["diff", "HEAD", "--no-color", "--no-ext-diff"])?;
    let dirty_diff_sha256 = (!diff.is_empty()).then(|| kneepoint_store::sha256_hex(&diff));
    Some(GitState { commit, dirty_diff_sha256 })
}

fn git(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}
