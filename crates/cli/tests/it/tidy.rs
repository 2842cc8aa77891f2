//! Policy as a test: what CONTRIBUTING.md and ARCHITECTURE.md promise of the tree, held by code.
//!
//! Each check is a function from text (or `cargo metadata`) to a list of problems, so that the second half of this file
//! can show for each of them that it fails on bad input.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Longest a source file may be, in lines: beyond, it is two things that want two files.
const LONGEST_FILE: usize = 600;

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
const TEST_EDGES: [(&str, &[&str]); 0] = [];

type Problems = Vec<String>;

// The checks.

/// Every edge between workspace crates is one that `EDGES` (for tests also `TEST_EDGES`) allows.
fn check_edges(metadata: &Value, edges: &[(&str, &[&str])], test_edges: &[(&str, &[&str])]) -> Problems {
    let allowed: BTreeMap<_, _> = edges.iter().copied().collect();
    let allowed_in_tests: BTreeMap<_, _> = test_edges.iter().copied().collect();
    let members = workspace_members(metadata);
    let names: BTreeSet<&str> = members.iter().map(|package| text(package, "name")).collect();
    let mut problems = Problems::new();
    for package in members {
        let name = text(package, "name");
        if name == "kneepoint-cli" {
            continue;
        }
        let Some(may_use) = allowed.get(name) else {
            problems.push(format!("crate {name} is not in the table of allowed edges"));
            continue;
        };
        for dependency in array(package, "dependencies") {
            let used = text(dependency, "name");
            let test_only = dependency["kind"] == "dev";
            let by_tests = test_only && allowed_in_tests.get(name).is_some_and(|more| more.contains(&used));
            if names.contains(used) && !may_use.contains(&used) && !by_tests {
                let kind = if test_only { "tests of " } else { "" };
                problems.push(format!("{kind}{name} may not use {used}"));
            }
        }
    }
    problems
}

/// Every dependency can be had under licences from the list.
fn check_licences(metadata: &Value, allowed: &BTreeSet<String>) -> Problems {
    array(metadata, "packages")
        .iter()
        .filter_map(|package| {
            let what = format!("{} {}", text(package, "name"), text(package, "version"));
            match package["license"].as_str() {
                None => Some(format!("{what} states no licence")),
                Some(expression) if licence_allowed(expression, allowed) => None,
                Some(expression) => {
                    Some(format!("{what} has the licence {expression}, which deny.toml does not allow"))
                }
            }
        })
        .collect()
}

/// Every crate takes the workspace's lint table.
fn check_lint_table(path: &str, manifest: &str) -> Problems {
    let takes_it =
        manifest.split("[lints]").nth(1).is_some_and(|rest| rest.trim_start().starts_with("workspace = true"));
    if takes_it { vec![] } else { vec![format!("{path} lacks `[lints]` with `workspace = true`")] }
}

/// What holds for every Rust file.
fn check_source(path: &str, source: &str) -> Problems {
    let mut problems = Problems::new();
    if path.contains("/src/") && !source.starts_with("//!") {
        problems.push(format!("{path} does not begin with `//!`: say what it owns and what it must not know"));
    }
    let n_lines = source.lines().count();
    if n_lines > LONGEST_FILE {
        problems.push(format!("{path} has {n_lines} lines, {LONGEST_FILE} are allowed"));
    }
    if !source.is_empty() && !source.ends_with('\n') {
        problems.push(format!("{path} does not end with a newline"));
    }
    for (number, line) in source.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        if line.ends_with([' ', '\t', '\r']) {
            problems.push(format!("{path}:{number} ends with white space"));
        }
        if line.contains('\t') {
            problems.push(format!("{path}:{number} contains a tab"));
        }
        for word in FORBIDDEN {
            let word = word.replace('~', "");
            if line.contains(&word) {
                problems.push(format!("{path}:{number} contains `{word}`"));
            }
        }
    }
    problems
}

/// What no Rust file may contain, each with a `~` in it so that this file does not.
const FORBIDDEN: [&str; 6] = ["to~do!(", "unimple~mented!(", "#[ig~nore", "db~g!(", "#[al~low(", "#![al~low("];

/// Decisions are called `NNNN-words-of-it.md`, each number is given once, and each begins with its number and title.
fn check_decisions(files: &[(String, String)]) -> Problems {
    let mut problems = Problems::new();
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, content) in files {
        let number = name.split('-').next().unwrap_or_default();
        let well_named = number.len() == 4
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && Path::new(name).extension().is_some_and(|extension| extension == "md");
        if !well_named {
            problems.push(format!("docs/decisions/{name} is not called NNNN-words.md"));
            continue;
        }
        if let Some(other) = taken.insert(number, name) {
            problems.push(format!("docs/decisions/{name} has the number of {other}"));
        }
        if !content.starts_with(&format!("# {number}")) {
            problems.push(format!("docs/decisions/{name} does not begin with `# {number}` and its title"));
        }
    }
    problems
}

/// Every entry of `[workspace.dependencies]` that is not ours has its reason in `docs/decisions/`.
fn check_reasons(manifest: &str, decisions: &str) -> Problems {
    dependency_names(manifest)
        .into_iter()
        .filter(|name| !name.starts_with("kneepoint-") && !decisions.contains(&format!("`{name}`")))
        .map(|name| format!("docs/decisions/ gives no reason for the dependency `{name}`"))
        .collect()
}

/// Both languages of a document show the same commands.
fn check_same_commands(english: &str, chinese: &str) -> Problems {
    let (english, chinese) = (commands(english), commands(chinese));
    if english.is_empty() {
        return vec!["README.md shows no command".into()];
    }
    let differ = |from: &[String], other: &[String], name: &str| -> Problems {
        from.iter().filter(|line| !other.contains(line)).map(|line| format!("only {name} shows `{line}`")).collect()
    };
    let mut problems = differ(&english, &chinese, "README.md");
    problems.extend(differ(&chinese, &english, "README.zh-CN.md"));
    problems
}

/// Every link of a document to a file of the tree leads somewhere.
fn check_links(path: &str, markdown: &str, exists: impl Fn(&str) -> bool) -> Problems {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let targets = markdown.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let local = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    local
        .filter(|target| !exists(&format!("{folder}{target}")))
        .map(|target| format!("{path} links to {target}, which does not exist"))
        .collect()
}

// What the checks are made of.

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn workspace_members(metadata: &Value) -> Vec<&Value> {
    let ids: BTreeSet<&str> = array(metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    array(metadata, "packages").iter().filter(|package| ids.contains(text(package, "id"))).collect()
}

/// The strings of the list `licenses.allow` in `deny.toml`.
fn allowed_licences(deny: &str) -> BTreeSet<String> {
    let section = deny.split("[licenses]").nth(1).unwrap_or_default();
    let list = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split(',').map(|item| item.trim().trim_matches('"').to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Evaluates an SPDX expression. `/` is the old way to write `OR`; a licence `WITH` an exception counts as the licence,
/// to which an exception only adds rights.
fn licence_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    either(&words, allowed).is_some_and(|(value, rest)| value && rest.is_empty())
}

/// What an expression's first part evaluates to, and the words after it; `None` where it is malformed.
type Evaluated<'a> = Option<(bool, &'a [&'a str])>;

fn either<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> Evaluated<'a> {
    let (mut value, mut rest) = both(words, allowed)?;
    while let ["OR", after @ ..] = rest {
        let (right, then) = both(after, allowed)?;
        (value, rest) = (value | right, then);
    }
    Some((value, rest))
}

fn both<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> Evaluated<'a> {
    let (mut value, mut rest) = one(words, allowed)?;
    while let ["AND", after @ ..] = rest {
        let (right, then) = one(after, allowed)?;
        (value, rest) = (value & right, then);
    }
    Some((value, rest))
}

fn one<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> Evaluated<'a> {
    match words {
        ["(", inside @ ..] => match either(inside, allowed)? {
            (value, [")", rest @ ..]) => Some((value, rest)),
            _ => None,
        },
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => Some((allowed.contains(*licence), rest)),
        [] => None,
    }
}

/// The keys of `[workspace.dependencies]`.
fn dependency_names(manifest: &str) -> Vec<&str> {
    let section = manifest.split("[workspace.dependencies]\n").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .collect()
}

/// The lines inside code blocks marked `sh`, without their comments.
fn commands(markdown: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in markdown.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = language == "sh";
        } else if inside {
            let command = line.split(" #").next().unwrap_or_default().trim_end();
            if !command.is_empty() && !command.starts_with('#') {
                lines.push(command.to_owned());
            }
        }
    }
    lines
}

// The tree.

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

// Each check can fail.

#[cfg(test)]
mod on_bad_input {
    use serde_json::json;

    use super::*;

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
    fn licences() {
        let allowed: BTreeSet<_> = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned).into();
        for good in
            ["MIT", "GPL-3.0 OR MIT", "Apache-2.0/MIT", "(MIT OR ISC) AND Unicode-3.0", "Apache-2.0 WITH X OR Y"]
        {
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
    fn same_commands() {
        let english = "```sh\ncargo run  # builds\n```\n";
        assert_none(&check_same_commands(english, "```sh\ncargo run  # 构建\n```\n"));
        assert_eq!(check_same_commands(english, "```sh\ncargo test\n```\n").len(), 2);
        assert_eq!(check_same_commands("no block", "no block").len(), 1);
    }
}
