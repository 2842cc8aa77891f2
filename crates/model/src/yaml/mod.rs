//! YAML read so that every mistake in it can be shown where it stands.
//!
//! [`from_str`] reads any type that has a JSON Schema. The schema decides how a scalar is taken (where it wants text,
//! `1.10` stays `1.10`) and all that does not fit is reported in one pass, each with line, column and what was
//! expected. [`to_string`] writes. Knows nothing of plans. Never panics, whatever the text.

mod convert;
mod emit;
mod path;
mod problem;
mod scalar;
mod secret;
mod shape;
mod tree;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use convert::Place;
use problem::Excerpt;
use secret::Suspect;
use tree::{Span, TextProblem};

pub use emit::to_string;
pub use path::{Path, Step};
pub(crate) use problem::shortened;
pub use problem::{Problem, Problems};

/// A value read from a text, and where its parts stand.
#[derive(Clone, Debug)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// The text it came from.
    pub source: Source,
}

/// A text, and where each part of the document in it stands: what locates problems found later.
#[derive(Clone, Debug, Default)]
pub struct Source {
    name: String,
    lines: Vec<String>,
    places: BTreeMap<Path, Place>,
    blamed: Vec<Path>,
    /// Texts that no problem may repeat.
    hidden: Vec<String>,
}

/// Which part of an entry a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

impl Source {
    /// A document that did not come from a text: its problems are named by their paths alone.
    pub fn without_text(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The file's name as given, or what the document is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives a problem its line, column and excerpt, by its path. If nothing stands at the path itself, the nearest
    /// part of the document that leads to it is shown.
    #[must_use]
    pub fn locate(&self, problem: Problem, part: Part) -> Problem {
        let mut path = Some(problem.path.clone());
        let mut part = part;
        while let Some(at) = path {
            if let Some(place) = self.places.get(&at) {
                let span = match (part, place.key) {
                    (Part::Key, Some(key)) => key,
                    _ => place.value,
                };
                return self.at(span, problem);
            }
            // What is absent is best shown by the key it is absent from.
            part = Part::Key;
            path = at.parent();
        }
        problem
    }

    /// `true` if a problem about this very place, or one that leads to it, was already found while reading: a second
    /// one would only repeat it.
    pub fn is_blamed(&self, path: &Path) -> bool {
        self.blamed.iter().any(|blamed| blamed.leads_to(path))
    }

    /// `true` if a problem about something inside this part of the document was already found while reading.
    pub fn is_blamed_within(&self, path: &Path) -> bool {
        self.blamed.iter().any(|blamed| path.leads_to(blamed))
    }

    fn at(&self, span: Span, mut problem: Problem) -> Problem {
        problem.line = Some(span.line);
        problem.column = Some(span.column);
        for text in [&mut problem.message, &mut problem.found] {
            *text = secret::without_credentials(text);
            for secret in &self.hidden {
                *text = text.replace(secret, "***");
            }
        }
        if let Some(hint) = &mut problem.hint {
            // Hints are mostly our own words, which are no secret even where a header's value is made of them.
            *hint = secret::without_credentials(hint);
            for secret in self.hidden.iter().filter(|secret| secret::is_opaque(secret)) {
                *hint = hint.replace(secret, "***");
            }
        }
        problem.excerpt = self.lines.get(span.line - 1).map(|line| {
            let blotted = |text: String, secret: &String| text.replace(secret, &"*".repeat(secret.chars().count()));
            Excerpt { text: self.hidden.iter().fold(line.clone(), blotted), marked: span.length }
        });
        problem
    }
}

/// Reads a value from YAML.
///
/// # Errors
/// Everything that is wrong with the text and its structure, all at once.
pub fn from_str<T: DeserializeOwned + JsonSchema>(source_name: &str, text: &str) -> Result<Parsed<T>, Problems> {
    let (value, source, problems) = read(source_name, text);
    match (value, Problems::of(source_name, problems)) {
        (Some(value), None) => Ok(Parsed { value, source }),
        (_, Some(problems)) => Err(problems),
        (None, None) => unreachable!("without a value there is a problem"),
    }
}

/// Reads as much as can be read: the value (stand-ins where something did not fit) if there is one, and the problems.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    source_name: &str,
    text: &str,
) -> (Option<T>, Source, Vec<Problem>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut source = Source {
        name: source_name.to_owned(),
        lines: text
            .split('\n')
            .map(|line| secret::without_secret_comment(&secret::without_credentials(line)))
            .collect(),
        ..Source::default()
    };
    let schema = schemars::schema_for!(T).to_value();
    let (root, faults) = tree::parse(&text);
    let Some(root) = root else {
        let mut problems: Vec<Problem> = faults.into_iter().map(|fault| source.fault(fault, true)).collect();
        if problems.is_empty() {
            let nothing = Problem::new(Path::ROOT, "there is nothing in it").expected(convert::expected_of(&schema));
            problems.push(source.at(Span::START, nothing));
        }
        return (None, source, problems);
    };
    let outcome = convert::convert(&root, &schema);
    let suspects = faults.iter().flat_map(|fault| &fault.secrets).chain(&outcome.secrets);
    source.hide(suspects.cloned().collect());
    source.places = outcome.places;
    source.blamed = outcome.blamed;

    let mut problems: Vec<Problem> = faults.into_iter().map(|fault| source.fault(fault, false)).collect();
    problems.extend(outcome.problems.into_iter().map(|(span, problem)| source.at(span, problem)));
    match serde_json::from_value(outcome.value) {
        Ok(value) => (Some(value), source, problems),
        Err(error) => {
            if problems.is_empty() {
                problems.push(source.at(root.span, Problem::new(Path::ROOT, error.to_string())));
            }
            (None, source, problems)
        }
    }
}

impl Source {
    /// A fault of the text itself as a problem. Where the text could not be read, nothing in it is masked, and so no
    /// line is shown that may hold a secret.
    fn fault(&self, fault: TextProblem, unread: bool) -> Problem {
        let mut problem = self.at(fault.span, Problem::new(Path::ROOT, fault.message));
        problem.hint = fault.hint;
        if unread {
            let fit = problem.line.and_then(|line| secret::fit_line(&self.lines, line));
            problem.excerpt = fit.map(|text| Excerpt { text, marked: fault.span.length });
        }
        problem
    }

    /// Keeps what may be a secret out of every problem and every line shown. References (`${NAME}`) are no secret.
    fn hide(&mut self, suspects: Vec<Suspect>) {
        /// Shorter ones are in too many words to be taken out of them.
        const SHORTEST: usize = 4;

        /// No document of this kind has so many; past it, only where they stand is blotted out.
        const MOST: usize = 5_000;

        for suspect in suspects.into_iter().filter(|suspect| !secret::is_reference(&suspect.text)) {
            mask(&mut self.lines, suspect.span);
            let words = suspect
                .text
                .split_whitespace()
                .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
                .filter(|word| word.len() >= SHORTEST);
            let room = MOST.saturating_sub(self.hidden.len());
            self.hidden.extend(words.filter(|word| !word.contains("${")).map(str::to_owned).take(room));
        }
    }
}

/// Blots out what stands at a span, character by character, so that the columns after it stay true.
fn mask(lines: &mut [String], span: Span) {
    for number in span.line..=span.last_line {
        let Some(line) = lines.get_mut(number - 1) else { return };
        let from = if number == span.line { span.column - 1 } else { 0 };
        let to = if span.last_line > span.line { usize::MAX } else { from + span.length };
        let blot = |(i, c): (usize, char)| if (from..to).contains(&i) && !c.is_whitespace() { '*' } else { c };
        *line = line.chars().enumerate().map(blot).collect();
    }
}
