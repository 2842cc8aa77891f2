//! Policy as a test: what CONTRIBUTING.md and ARCHITECTURE.md promise of the tree, held by code.

mod checks;
mod on_bad_input;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use checks::*;

/// Who may use whom. `kneepoint-cli` wires everything together and is not listed.
const EDGES: [(&str, &[&str]); 8] = [
    ("kneepoint-model", &[]),
    ("kneepoint-workload", &["kneepoint-model"]),
    ("kneepoint-wire", &["kneepoint-model"]),
    ("kneepoint-load", &["kneepoint-model", "kneepoint-wire", "kneepoint-analysis"]),
    ("kneepoint-analysis", &["kneepoint-model"]),
    ("kneepoint-store", &["kneepoint-model"]),
    ("kneepoint-report", &["kneepoint-model", "kneepoint-analysis"]),
    ("kneepoint-sim", &["kneepoint-model"]),
];

/// Further crates that tests, and only tests, may use.
const TEST_EDGES: [(&str, &[&str]); 1] = [("kneepoint-load", &["kneepoint-store"])];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders deep").to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names and contents of the files directly in a folder.
fn read_folder(path: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let names = entries
        .map(|entry| entry.expect("the folder can be read"))
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().into_string().expect("names are UTF-8"));
    let mut files: Vec<_> = names.map(|name| (name.clone(), read(&format!("{path}/{name}")))).collect();
    files.sort();
    files
}

/// Every `.rs` file below a folder, as a path from the root.
fn rust_files(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("the folder can be read").path()) {
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let path = path.strip_prefix(root()).expect("the walk began at the root");
            found.push(path.to_str().expect("names are UTF-8").to_owned());
        }
    }
}

/// `cargo metadata` of the workspace, from what is on the disk; only where a package has never been downloaded (cargo
/// leaves out those of other systems) from the registry.
fn metadata() -> Value {
    let run = |offline: &[&str]| {
        let arguments = ["metadata", "--locked", "--format-version", "1"];
        Command::new(env!("CARGO")).args(arguments).args(offline).current_dir(root()).output().expect("cargo runs")
    };
    let mut output = run(&["--offline"]);
    if !output.status.success() {
        output = run(&[]);
    }
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

#[track_caller]
fn assert_none(problems: &Problems) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn crates_use_each_other_downwards_only() {
    assert_none(&check_edges(&metadata(), &EDGES, &TEST_EDGES));
}

#[test]
fn dependencies_are_used() {
    let code_below = |folder: &Path| {
        let mut paths = Vec::new();
        rust_files(folder, &mut paths);
        paths.iter().map(|path| read(path)).collect::<String>()
    };
    let sources = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap();
        (code_below(&folder.join("src")), code_below(&folder.join("tests")))
    };
    assert_none(&check_used(&metadata(), &read("Cargo.toml"), sources));
}

#[test]
fn licences_are_on_the_list() {
    let allowed = allowed_licences(&read("deny.toml"));
    assert!(allowed.contains("MIT") && allowed.len() > 3, "deny.toml could not be read: {allowed:?}");
    assert_none(&check_licences(&metadata(), &allowed));
}

#[test]
fn manifests_take_the_lint_table() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let paths: Vec<_> = crates.map(|name| format!("crates/{}/Cargo.toml", name.to_str().unwrap())).collect();
    assert!(paths.len() >= 9);
    assert_none(&paths.iter().flat_map(|path| check_lint_table(path, &read(path))).collect());
}

#[test]
fn sources_are_tidy() {
    let mut paths = Vec::new();
    for folder in ["crates", "fuzz", "bench"] {
        rust_files(&root().join(folder), &mut paths);
    }
    assert!(paths.iter().any(|path| path == "crates/cli/tests/it/tidy.rs"), "the walk went nowhere: {paths:?}");
    assert_none(&paths.iter().flat_map(|path| check_source(path, &read(path))).collect());
}

#[test]
fn decisions_are_numbered_once() {
    assert_none(&check_decisions(&read_folder("docs/decisions")));
}

#[test]
fn dependencies_have_their_reasons() {
    let decisions: String = read_folder("docs/decisions").into_iter().map(|(_, content)| content).collect();
    let manifest = read("Cargo.toml");
    assert!(dependency_names(&manifest).contains(&"serde"), "Cargo.toml could not be read");
    assert_none(&check_reasons(&manifest, &decisions));
}

#[test]
fn both_readmes_show_the_same_commands() {
    assert_none(&check_same_commands(&read("README.md"), &read("README.zh-CN.md")));
}

#[test]
fn links_lead_somewhere() {
    let mut paths = vec!["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let docs: Vec<String> = read_folder("docs").into_iter().map(|(name, _)| format!("docs/{name}")).collect();
    paths.extend(docs.iter().map(String::as_str));
    let exists = |path: &str| root().join(path).exists();
    assert_none(&paths.iter().flat_map(|path| check_links(path, &read(path), exists)).collect());
}

#[test]
fn readmes_show_flags_that_exist() {
    let mut help = String::new();
    for verb in ["demo", "init", "check", "calibrate", "run", "report", "sim", "schema", "completions"] {
        let run = Command::new(env!("CARGO_BIN_EXE_kneepoint")).args([verb, "--help"]).output().unwrap();
        assert!(run.status.success(), "kneepoint {verb} --help: {}", String::from_utf8_lossy(&run.stderr));
        help.push_str(&String::from_utf8(run.stdout).unwrap());
    }
    let documents = ["README.md", "README.zh-CN.md"];
    assert_none(&documents.iter().flat_map(|path| check_flags(path, &read(path), &help)).collect());
}
