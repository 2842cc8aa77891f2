//! What documents promise is there: every defect in `docs/rivals.md` has its test, and every flag in a help text is used.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::kneepoint::{ends_with, stdout};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders deep").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a folder, build output aside.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("can be read").path()) {
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("target") {
            files(&path, found);
        }
    }
}

/// `true` if the source holds a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    source.split("#[test]").skip(1).any(|rest| {
        // Attributes may stand between.
        let signature = rest.lines().find(|line| line.trim_start().starts_with("fn "));
        signature.is_some_and(|line| line.trim_start().starts_with(&format!("fn {name}(")))
    })
}

/// The rows of the table: what stands in backquotes in the last column, as file and test.
fn named_tests(document: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let rows = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| defect"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let tests = cells.last().expect("a cell").split('`').skip(1).step_by(2);
        (cells[0].trim(), tests.filter_map(|test| test.split_once("::")).collect())
    })
    .collect()
}

#[test]
fn every_defect_of_a_rival_has_its_test() {
    let document = read(&root().join("docs/rivals.md"));
    let rows = named_tests(&document);
    assert!(rows.len() >= 12, "the table could not be read: {rows:?}");
    for (defect, tests) in rows {
        assert!(!tests.is_empty(), "no test is named for: {defect}");
        for (file, name) in tests {
            assert!(has_test(&read(&root().join(file)), name), "{defect}: {file} has no test `{name}`");
        }
    }
}

#[test]
fn a_test_that_is_not_there_would_be_missed() {
    let source = "#[test]\n#[cfg(unix)]\nfn there() {}\nfn helper() {}\n";
    assert!(has_test(source, "there") && !has_test(source, "helper") && !has_test(source, "ther"));
    assert_eq!(
        named_tests("| defect | test |\n|---|---|\n| a | x | `f.rs::t`, `g.rs::u` |"),
        [("a", vec![("f.rs", "t"), ("g.rs", "u")])]
    );
}

/// The wall clock as a source of durations (`GuideLLM`, vLLM): nothing outside the clock modules can read it.
///
/// `clippy.toml` refuses both of the standard library's clocks, and those who are excused are known: the clocks themselves,
/// the tests, and what never times a request.
#[test]
fn the_wall_clock_is_banned_from_timing_code() {
    let lints = read(&root().join("clippy.toml"));
    for clock in ["std::time::Instant::now", "std::time::SystemTime::now"] {
        assert!(lints.contains(&format!("path = \"{clock}\"")), "clippy.toml does not refuse {clock}");
    }
    // The simulator is measured and does not measure; its clock is a module of its own.
    let excused = |name: &str| name == "crates/load/src/clock.rs" || name.starts_with("crates/sim/");
    let mut paths = Vec::new();
    files(&root().join("crates"), &mut paths);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let name = path.strip_prefix(root()).expect("below the root").to_str().expect("UTF-8");
        if !name.contains("/src/") || excused(name) {
            continue;
        }
        let source = read(path);
        for call in ["SystemTime::now(", "Instant::now(", "ClockId::Realtime", "CLOCK_REALTIME", "Timestamp::now("] {
            assert!(!source.contains(call), "{name} calls {call}…): instants come from the run's one clock");
        }
    }
}

/// The long flags that a help text offers.
fn offered(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .map(|flag| flag.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned())
        .collect()
}

/// Words of a text that are flags.
fn used(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.split(move |c| !is_part(c)).filter(|word| word.starts_with("--") && word.len() > 2)
}

/// Features promised and absent (genai-bench's prices, `GuideLLM`'s SLOs): a flag in a help text that nothing ever uses may
/// just as well do nothing.
///
/// Every flag of every verb is given in a test, in the README's commands, or in a script that the CI runs.
#[test]
fn every_documented_flag_is_exercised() {
    let verbs_of = |help: &str| -> Vec<String> {
        let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let verbs = verbs_of(&stdout(&ends_with(0, ["--help"])));
    assert!(verbs.iter().any(|verb| verb == "run") && verbs.len() >= 8, "{verbs:?}");
    let mut texts = String::new();
    let mut paths = Vec::new();
    files(&root().join("crates"), &mut paths);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let (name, source) = (path.to_str().expect("UTF-8"), read(path));
        if name.contains("/tests/") || name.ends_with("/tests.rs") {
            // A flag in this file's own words would prove itself.
            if !name.ends_with("promises.rs") {
                texts.push_str(&source);
            }
        } else if let Some((_, tests)) = source.split_once("#[cfg(test)]") {
            texts.push_str(tests);
        }
        texts.push('\n');
    }
    for path in ["README.md", "scripts/test", "bench/observer/run", "bench/peers/run"] {
        texts.push_str(&read(&root().join(path)));
        texts.push('\n');
    }
    let exercised: BTreeSet<&str> = used(&texts).collect();
    let mut problems = Vec::new();
    for verb in verbs.iter().filter(|verb| *verb != "help") {
        let help = stdout(&ends_with(0, [verb.as_str(), "--help"]));
        let offered = offered(&help);
        assert!(offered.contains("--json"), "the help of {verb} could not be read: {offered:?}");
        let idle = offered.iter().filter(|flag| *flag != "--help" && !exercised.contains(flag.as_str()));
        problems
            .extend(idle.map(|flag| format!("kneepoint {verb} offers {flag}, and no test, README or script uses it")));
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
