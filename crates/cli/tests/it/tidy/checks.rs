//! The checks: functions from text, or from `cargo metadata`, to a list of problems. They touch no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Longest a source file may be, in lines: beyond, it is two things that want two files.
pub(crate) const LONGEST_FILE: usize = 600;

pub(crate) type Problems = Vec<String>;

/// Every edge between workspace crates is one that `EDGES` (for tests also `TEST_EDGES`) allows.
pub(crate) fn check_edges(metadata: &Value, edges: &[(&str, &[&str])], test_edges: &[(&str, &[&str])]) -> Problems {
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

/// Every dependency that a crate declares is named in its sources (in its tests, where only they may use it), and every
/// entry of `[workspace.dependencies]` is declared by a crate. `sources` gives a crate's code: its `src`, and its tests.
pub(crate) fn check_used(metadata: &Value, manifest: &str, sources: impl Fn(&Value) -> (String, String)) -> Problems {
    let mut problems = Problems::new();
    let mut declared = BTreeSet::new();
    for package in workspace_members(metadata) {
        let (code, tests) = sources(package);
        for dependency in array(package, "dependencies") {
            let name = text(dependency, "name");
            declared.insert(name);
            let identifier = name.replace('-', "_");
            let in_tests = dependency["kind"] == "dev" && names(&tests, &identifier);
            if !names(&code, &identifier) && !in_tests {
                problems.push(format!("{} declares {name} and does not use it", text(package, "name")));
            }
        }
    }
    let unused = dependency_names(manifest).into_iter().filter(|name| !declared.contains(name));
    problems.extend(unused.map(|name| format!("no crate uses the workspace's dependency {name}")));
    problems
}

/// Every dependency can be had under licences from the list.
pub(crate) fn check_licences(metadata: &Value, allowed: &BTreeSet<String>) -> Problems {
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
pub(crate) fn check_lint_table(path: &str, manifest: &str) -> Problems {
    let takes_it =
        manifest.split("[lints]").nth(1).is_some_and(|rest| rest.trim_start().starts_with("workspace = true"));
    if takes_it { vec![] } else { vec![format!("{path} lacks `[lints]` with `workspace = true`")] }
}

/// What holds for every Rust file.
pub(crate) fn check_source(path: &str, source: &str) -> Problems {
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
pub(crate) const FORBIDDEN: [&str; 6] =
    ["to~do!(", "unimple~mented!(", "#[ig~nore", "db~g!(", "#[al~low(", "#![al~low("];

/// Decisions are called `NNNN-words-of-it.md`, each number is given once, and each begins with its title.
pub(crate) fn check_decisions(files: &[(String, String)]) -> Problems {
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
        if !content.starts_with("# ") {
            problems.push(format!("docs/decisions/{name} does not begin with its title"));
        }
    }
    problems
}

/// Every entry of `[workspace.dependencies]` that is not ours has its reason in `docs/decisions/`.
pub(crate) fn check_reasons(manifest: &str, decisions: &str) -> Problems {
    dependency_names(manifest)
        .into_iter()
        .filter(|name| !name.starts_with("kneepoint-") && !decisions.contains(&format!("`{name}`")))
        .map(|name| format!("docs/decisions/ gives no reason for the dependency `{name}`"))
        .collect()
}

/// Both languages of a document show the same commands.
pub(crate) fn check_same_commands(english: &str, chinese: &str) -> Problems {
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
pub(crate) fn check_links(path: &str, markdown: &str, exists: impl Fn(&str) -> bool) -> Problems {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let targets = markdown.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let local = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    local
        .filter(|target| !exists(&format!("{folder}{target}")))
        .map(|target| format!("{path} links to {target}, which does not exist"))
        .collect()
}

/// Every flag that a document shows, outside of other programs' commands, is one that `--help` knows.
pub(crate) fn check_flags(path: &str, markdown: &str, help: &str) -> Problems {
    let known: BTreeSet<&str> = words_of_help(help).collect();
    let spans = markdown.split("```").enumerate().flat_map(|(index, part)| {
        // Even parts are text with `spans` in it, odd ones code blocks.
        let pieces: Vec<&str> =
            if index % 2 == 1 { part.lines().collect() } else { part.split('`').skip(1).step_by(2).collect() };
        pieces
    });
    let ours = spans.filter(|span| !["cargo ", "scripts/"].iter().any(|other| span.trim_start().starts_with(other)));
    let flags: BTreeSet<&str> =
        ours.flat_map(str::split_whitespace).filter(|word| word.starts_with("--") && word.len() > 2).collect();
    let unknown = flags.into_iter().filter(|flag| !known.contains(flag));
    unknown.map(|flag| format!("{path} shows the flag {flag}, which no verb has")).collect()
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
pub(crate) fn allowed_licences(deny: &str) -> BTreeSet<String> {
    let section = deny.split("[licenses]").nth(1).unwrap_or_default();
    let list = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split(',').map(|item| item.trim().trim_matches('"').to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Evaluates an SPDX expression. `/` is the old way to write `OR`; a licence `WITH` an exception counts as the licence,
/// to which an exception only adds rights.
pub(crate) fn licence_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
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

/// Whether a word stands in the code as a whole.
fn names(code: &str, identifier: &str) -> bool {
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == identifier)
}

/// The keys of `[workspace.dependencies]`.
pub(crate) fn dependency_names(manifest: &str) -> Vec<&str> {
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

/// The flags in a help text.
fn words_of_help(help: &str) -> impl Iterator<Item = &str> {
    help.split(|letter: char| letter.is_whitespace() || ",[]='`".contains(letter)).filter(|word| word.starts_with("--"))
}
