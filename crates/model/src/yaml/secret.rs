//! Which parts of a text may hold a secret, judged by name, for the places where no schema says so.

use super::tree::{Kind, Node, Span};

/// What may be a secret: where it stands, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    pub(super) span: Span,
    pub(super) text: String,
}

/// Words that names of secrets end in.
const TELLING: [&str; 14] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pass",
    "auth",
    "authorization",
    "bearer",
    "credential",
    "credentials",
    "cookie",
    "keys",
];

/// Names that end in such a word and are known to hold none: the time to a first token.
const HARMLESS: [&str; 1] = ["first_token"];

/// `true` if a value of this name may be a secret: `key`, `api_key`, `X-Auth-Token`, but not `token_budget`.
pub(super) fn name_may_hold_one(name: &str) -> bool {
    let name = name.to_lowercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    let last = name.rsplit(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("");
    TELLING.contains(&last)
}

/// `true` if a line has a word that tells of a secret.
fn line_may_hold_one(line: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).any(name_may_hold_one)
}

/// A line of a text that could not be read, fit to be shown: `None` if it, or one of the two before it, names a secret;
/// words that look like one are blotted out.
pub(super) fn fit_line(lines: &[String], number: usize) -> Option<String> {
    let first = number.saturating_sub(3);
    if lines.get(first..number)?.iter().any(|line| line_may_hold_one(line)) {
        return None;
    }
    Some(without_opaque_words(&lines[number - 1]))
}

/// The text with words that look like secrets blotted out.
fn without_opaque_words(text: &str) -> String {
    let is_in_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !is_in_word(c)) {
        let word = part.trim_end_matches(|c: char| !is_in_word(c));
        if is_opaque(word) {
            out.extend(word.chars().map(|_| '*'));
            out.push_str(&part[word.len()..]);
        } else {
            out.push_str(part);
        }
    }
    out
}

/// A line with what may be a secret in its comment blotted out: no schema says what a comment holds.
pub(super) fn without_secret_comment(line: &str) -> String {
    let starts = line.char_indices().find(|&(at, c)| c == '#' && !line[..at].ends_with(|c: char| !c.is_whitespace()));
    let (code, comment) = line.split_at(starts.map_or(line.len(), |(at, _)| at));
    format!("{code}{}", without_opaque_words(comment))
}

/// `true` for text with a word like `sk-4f9a81c0d2e7`: long, of letters and digits mixed.
pub(super) fn is_opaque(word: &str) -> bool {
    const LONG: usize = 12;
    word.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
        .any(|word| word.chars().count() >= LONG && has_letters_and_digits(word))
}

fn has_letters_and_digits(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) && word.contains(char::is_alphabetic)
}

/// Blots out the values of every URL's query in a line, which are keys as often as not.
fn without_query_values(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_inclusive(char::is_whitespace) {
        let (base, query) = word.split_at(word.find('?').unwrap_or(word.len()));
        out.push_str(base);
        let mut in_value = false;
        out.extend(query.chars().map(|c| match c {
            '&' | ';' | '"' | '\'' | ',' | '}' | ']' => {
                in_value = false;
                c
            }
            '=' if !in_value => {
                in_value = true;
                c
            }
            c if in_value && !c.is_whitespace() => '*',
            c => c,
        }));
    }
    out
}

/// Blots out the user and password of every URL in a line, also of URLs that are not quite well formed, and the values
/// of its query.
pub(super) fn without_credentials(line: &str) -> String {
    let line = &without_query_values(line);
    let mut out = String::with_capacity(line.len());
    for word in line.split_inclusive(char::is_whitespace) {
        match (word.find(':'), word.rfind('@')) {
            (Some(colon), Some(at)) if colon < at => {
                out.push_str(&word[..=colon]);
                out.extend(word[colon + 1..at].chars().map(|c| if matches!(c, '/' | '"' | '\'') { c } else { '*' }));
                out.push_str(&word[at..]);
            }
            _ => out.push_str(word),
        }
    }
    out
}

/// `true` for `${NAME}`.
pub(super) fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains(['$', '{', '}']))
}

/// Collects the scalars of a node, and the keys that do not look like keys.
pub(super) fn all_within(node: &Node, suspects: &mut Vec<Suspect>) {
    match &node.kind {
        Kind::Scalar { text, .. } => suspects.push(Suspect { span: node.span, text: text.clone() }),
        Kind::List(items) => items.iter().for_each(|item| all_within(item, suspects)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                // A lost colon or quote makes a value part of its key.
                if is_opaque(&key.text) {
                    suspects.push(Suspect { span: key.span, text: key.text.clone() });
                }
                all_within(value, suspects);
            }
        }
    }
}

/// Collects what may be a secret below a node, by the names in it.
pub(super) fn named_within(node: &Node, suspects: &mut Vec<Suspect>) {
    match &node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => items.iter().for_each(|item| named_within(item, suspects)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                if name_may_hold_one(&key.text) {
                    all_within(value, suspects);
                } else {
                    named_within(value, suspects);
                }
            }
        }
    }
}

/// What may be a secret in an entry that no schema judges, because it is there a second time: by its name, the names in
/// it, and its looks.
pub(super) fn of_dropped(key: &str, value: &Node) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    all_within(value, &mut suspects);
    if !name_may_hold_one(key) {
        suspects.retain(|suspect| is_opaque(&suspect.text));
        named_within(value, &mut suspects);
    }
    suspects
}
