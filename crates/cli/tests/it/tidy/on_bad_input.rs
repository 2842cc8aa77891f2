//! Each check can fail.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::assert_none;
use super::checks::*;

fn tree_with(name: &str, uses: &str, kind: &Value) -> Value {
    let dependency = json!({"name": uses, "kind": kind});
    json!({"workspace_members": ["a", "b"], "packages": [
        {"id": "a", "name": name, "dependencies": [dependency, {"name": "serde", "kind": null}]},
        {"id": "b", "name": uses, "dependencies": []},
    ]})
}

#[test]
fn edges() {
    let table: [(&str, &[&str]); 2] = [("kneepoint-wire", &["kneepoint-model"]), ("kneepoint-sim", &[])];
    let none = json!(null);
    let upward = tree_with("kneepoint-wire", "kneepoint-sim", &none);
    assert_eq!(check_edges(&upward, &table, &[]), ["kneepoint-wire may not use kneepoint-sim"]);
    let in_tests = tree_with("kneepoint-wire", "kneepoint-sim", &json!("dev"));
    assert_eq!(check_edges(&in_tests, &table, &[]), ["tests of kneepoint-wire may not use kneepoint-sim"]);
    assert_none(&check_edges(&in_tests, &table, &[("kneepoint-wire", &["kneepoint-sim"])]));
    let still_refused = check_edges(&upward, &table, &[("kneepoint-wire", &["kneepoint-sim"])]);
    assert_eq!(still_refused, ["kneepoint-wire may not use kneepoint-sim"]);
    let unknown = tree_with("kneepoint-new", "kneepoint-sim", &none);
    assert_eq!(check_edges(&unknown, &table, &[]), ["crate kneepoint-new is not in the table of allowed edges"]);
}

#[test]
fn used() {
    let dependencies =
        json!([{"name": "a-b", "kind": null}, {"name": "c", "kind": "dev"}, {"name": "d", "kind": null}]);
    let metadata =
        json!({"workspace_members": ["x"], "packages": [{"id": "x", "name": "x", "dependencies": dependencies}]});
    let manifest = "[workspace.dependencies]\na-b = \"1\"\nc = \"1\"\nd = \"1\"\n";
    let sources = |code: &str, tests: &str| {
        let both = (code.to_owned(), tests.to_owned());
        move |_: &Value| both.clone()
    };
    assert_none(&check_used(&metadata, manifest, sources("use a_b::x; d::y();", "use c::z;")));
    let expected = ["x declares c and does not use it", "x declares d and does not use it"];
    assert_eq!(check_used(&metadata, manifest, sources("use a_b::x; ab::c_d();", "use d::z;")), expected);
    let more = format!("{manifest}e = \"1\"\n");
    let expected = ["no crate uses the workspace's dependency e"];
    assert_eq!(check_used(&metadata, &more, sources("use a_b::x; d::y(); c::z();", "")), expected);
}

#[test]
fn licences() {
    let allowed: BTreeSet<_> = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned).into();
    for good in ["MIT", "GPL-3.0 OR MIT", "Apache-2.0/MIT", "(MIT OR ISC) AND Unicode-3.0", "Apache-2.0 WITH X OR Y"] {
        assert!(licence_allowed(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", "MIT OR", "(MIT", "MIT MIT", ""] {
        assert!(!licence_allowed(bad, &allowed), "{bad}");
    }
    let packages =
        json!({"packages": [{"name": "a", "version": "1", "license": "GPL-3.0"}, {"name": "b", "version": "2"}]});
    let problems = check_licences(&packages, &allowed);
    let expected = ["a 1 has the licence GPL-3.0, which deny.toml does not allow", "b 2 states no licence"];
    assert_eq!(problems, expected);
    assert!(allowed_licences("[bans]\nallow = [\"x\"]").is_empty());
}

#[test]
fn lint_table() {
    assert_none(&check_lint_table("x", "[package]\n[lints]\nworkspace = true\n"));
    assert_eq!(check_lint_table("x", "[package]\nworkspace = true\n").len(), 1);
    assert_eq!(check_lint_table("x", "[lints]\n[dependencies]\nworkspace = true\n").len(), 1);
}

#[track_caller]
fn refused(source: &str, expected: &str) {
    let problems = check_source("crates/x/src/lib.rs", source);
    assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
}

#[test]
fn sources() {
    assert_none(&check_source("crates/x/src/lib.rs", "//! Owns x.\n\nfn x() {}\n"));
    assert_none(&check_source("crates/x/tests/it/x.rs", "fn x() {}\n"));
    refused("fn x() {}\n", "does not begin");
    refused("//! x\nfn x() {} \n", ":2 ends with white space");
    refused("//! x\n\tfn x() {}\n", ":2 contains a tab");
    refused("//! x\nfn x() {}", "does not end with a newline");
    refused(&format!("//! x\n{}", "\n".repeat(LONGEST_FILE)), "601 lines");
    for word in FORBIDDEN {
        let word = word.replace('~', "");
        refused(&format!("//! x\n{word}\n"), &format!(":2 contains `{word}`"));
    }
}

#[test]
fn decisions() {
    let file = |name: &str, content: &str| (name.to_owned(), content.to_owned());
    assert_none(&check_decisions(&[file("0001-a.md", "# 0001 A"), file("0002-b.md", "# 0002 B")]));
    let twice = check_decisions(&[file("0001-a.md", "# 0001 A"), file("0001-b.md", "# 0001 B")]);
    assert_eq!(twice, ["docs/decisions/0001-b.md has the number of 0001-a.md"]);
    assert_eq!(check_decisions(&[file("notes.md", "# Notes")]).len(), 1);
    assert_eq!(check_decisions(&[file("0001-a.md", "A")]).len(), 1);
}

#[test]
fn reasons() {
    let manifest =
        "[workspace.dependencies]\nkneepoint-model = {}\nserde = \"1\"\n# c\ntoml = \"1\"\n\n[profile]\nx = 1\n";
    let expected = ["docs/decisions/ gives no reason for the dependency `toml`"];
    assert_eq!(check_reasons(manifest, "We use `serde`, and toml."), expected);
}

#[test]
fn links() {
    let exists = |path: &str| path == "docs/metrics.md" || path == "docs/decisions/";
    let good = "[a](metrics.md) [b](metrics.md#ttft) [c](decisions/) [d](https://example.com/x) [e](#here)";
    assert_none(&check_links("docs/x.md", good, exists));
    let expected = ["README.md links to metrics.md, which does not exist"];
    assert_eq!(check_links("README.md", "[a](docs/metrics.md) [b](metrics.md)", exists), expected);
}

#[test]
fn flags() {
    let help = "Options:\n  -q, --quiet   be [default: x]\n      --rate <R>\n";
    let good = "```sh\nkneepoint run --rate 1\ncargo run -- --release\n```\nSay `--quiet`, or `scripts/test --fast`.";
    assert_none(&check_flags("x", good, help));
    let expected = ["x shows the flag --loud, which no verb has", "x shows the flag --speed, which no verb has"];
    assert_eq!(check_flags("x", "```sh\nkneepoint run --speed 1\n```\nSay `--loud`.", help), expected);
}

#[test]
fn same_commands() {
    let english = "```sh\ncargo run  # builds\n```\n";
    assert_none(&check_same_commands(english, "```sh\ncargo run  # 构建\n```\n"));
    assert_eq!(check_same_commands(english, "```sh\ncargo test\n```\n").len(), 2);
    assert_eq!(check_same_commands("no block", "no block").len(), 1);
}
