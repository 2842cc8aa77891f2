//! What is wrong with a document, told so that it can be mended: place, offending text, what was expected.

use std::fmt;

use super::path::Path;

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where in the document's structure.
    pub path: Path,
    /// What the path is called where there is no text to point into: the path, or the flag that set the value.
    pub label: String,
    /// Line, from 1; absent where the document did not come from a text.
    pub line: Option<usize>,
    /// Column, from 1, in characters.
    pub column: Option<usize>,
    /// What is wrong, as one sentence without its end.
    pub message: String,
    /// The offending text, shortened; empty where something is missing. Never a secret.
    pub found: String,
    /// What was expected; empty where the message says it.
    pub expected: String,
    /// What to do about it, where that can be said.
    pub hint: Option<String>,
    /// The line of the text that `line` points at, secrets masked.
    pub(super) excerpt: Option<Excerpt>,
}

/// A line of the text with the offending part marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The line.
    pub(super) text: String,
    /// How many characters from the column on are marked; at least 1.
    pub(super) marked: usize,
}

impl Problem {
    /// A problem at a path, not located in a text.
    pub fn new(path: Path, message: impl Into<String>) -> Self {
        Self {
            label: path.to_string(),
            path,
            line: None,
            column: None,
            message: message.into(),
            found: String::new(),
            expected: String::new(),
            hint: None,
            excerpt: None,
        }
    }

    /// With the offending text.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = shortened(&found.into());
        self
    }

    /// With what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything wrong with one document; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    source_name: String,
    list: Vec<Problem>,
}

impl std::error::Error for Problems {}

impl Problems {
    /// The problems of a document, ordered by place; `None` if there are none.
    pub fn of(source_name: &str, mut list: Vec<Problem>) -> Option<Self> {
        list.sort_by_key(|p| (p.line, p.column));
        list.dedup();
        (!list.is_empty()).then(|| Self { source_name: source_name.to_owned(), list })
    }

    /// The file's name as given, or what the document is called.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// The problems, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// How many there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty by construction")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Gives each problem the name by which the user knows its place (a flag, say). One thing set several entries, and
    /// so went wrong several times, is one problem.
    #[must_use]
    pub fn labelled(mut self, label: impl Fn(&Path) -> Option<String>) -> Self {
        for problem in &mut self.list {
            if let Some(label) = label(&problem.path) {
                problem.label = label;
            }
        }
        let mut list: Vec<Problem> = Vec::new();
        for problem in self.list {
            let same =
                |p: &Problem| (&p.label, &p.message, &p.found) == (&problem.label, &problem.message, &problem.found);
            if !list.iter().any(same) {
                list.push(problem);
            }
        }
        Self { list, ..self }
    }
}

impl fmt::Display for Problems {
    /// The first 50, each with its line marked, then how many there are. Ends without a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Nobody mends more in one go.
        const MOST: usize = 50;

        for problem in self.list.iter().take(MOST) {
            write_problem(f, &self.source_name, problem)?;
            f.write_str("\n")?;
        }
        if self.list.len() > MOST {
            write!(f, "… and {} more\n\n", self.list.len() - MOST)?;
        }
        match self.list.len() {
            1 => write!(f, "1 problem in {}", self.source_name),
            n => write!(f, "{n} problems in {}", self.source_name),
        }
    }
}

fn write_problem(f: &mut fmt::Formatter<'_>, source_name: &str, problem: &Problem) -> fmt::Result {
    let message = &problem.message;
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => {
            writeln!(f, "{source_name}:{line}:{column}: {message}")?;
            if let Some(excerpt) = problem.excerpt.as_ref().filter(|excerpt| !excerpt.text.trim().is_empty()) {
                write_excerpt(f, line, column, excerpt)?;
            }
        }
        _ if problem.label.is_empty() => writeln!(f, "{source_name}: {message}")?,
        _ => writeln!(f, "{source_name}: {}: {message}", problem.label)?,
    }
    if !problem.found.is_empty() {
        writeln!(f, "  found: {}", problem.found)?;
    }
    if !problem.expected.is_empty() {
        writeln!(f, "  expected: {}", problem.expected)?;
    }
    if let Some(hint) = &problem.hint {
        writeln!(f, "  hint: {hint}")?;
    }
    Ok(())
}

fn write_excerpt(f: &mut fmt::Formatter<'_>, line: usize, column: usize, excerpt: &Excerpt) -> fmt::Result {
    /// Characters shown of a long line, and how many of them before the marked part.
    const WIDTH: usize = 100;
    const BEFORE: usize = 40;

    let chars: Vec<char> = excerpt.text.chars().collect();
    let at = (column - 1).min(chars.len());
    let from = if chars.len() <= WIDTH { 0 } else { at.saturating_sub(BEFORE) };
    let to = (from + WIDTH).min(chars.len());
    let shown: String = chars[from..to].iter().map(|&c| if c.is_control() { ' ' } else { c }).collect();
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let (lead, tail) = (if from > 0 { "…" } else { "" }, if to < chars.len() { "…" } else { "" });

    let pad: usize = lead.chars().count() + chars[from..at].iter().map(|&c| cells(c)).sum::<usize>();
    let marked_to = (at + excerpt.marked).min(to).max(at);
    let marked: usize = chars[at..marked_to].iter().map(|&c| cells(c)).sum::<usize>().max(1);
    writeln!(f, "  {number} | {lead}{}{tail}", shown.trim_end())?;
    writeln!(f, "  {gutter} | {}{}", " ".repeat(pad), "^".repeat(marked))
}

/// How many cells of a terminal a character takes: East Asian wide ones take two (UAX #11, the common ranges).
fn cells(c: char) -> usize {
    let wide = matches!(u32::from(c),
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x20000..=0x3fffd);
    if wide { 2 } else { 1 }
}

/// One line, at most 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let one_line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST + 1).collect();
    if one_line.chars().count() > MOST { one_line.chars().take(MOST - 1).chain(['…']).collect() } else { one_line }
}
