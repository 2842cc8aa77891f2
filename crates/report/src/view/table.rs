//! A table as a reader sees it, with numbered footnotes for what is missing.

use crate::format;
use crate::messages::{Label, Language, Message as _, Sentence};

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Anchor, unique in the report.
    pub(crate) id: String,
    /// Its heading.
    pub(crate) caption: String,
    /// Column heads.
    pub(crate) columns: Vec<Column>,
    /// Rows, each as long as the heads.
    pub(crate) rows: Vec<Row>,
    /// Footnotes; a cell's note is the position + 1.
    pub(crate) notes: Vec<String>,
    /// Remarks on the whole table.
    pub(crate) remarks: Vec<String>,
    /// `false` to show it folded at first.
    pub(crate) open: bool,
}

/// A column head.
#[derive(Debug)]
pub(crate) struct Column {
    /// The text.
    pub(crate) text: String,
    /// Numbers stand to the right.
    pub(crate) numeric: bool,
}

/// A row.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Its cells.
    pub(crate) cells: Vec<Cell>,
    /// `true` if its point is not valid.
    pub(crate) invalid: bool,
    /// So many of the first cells name the row.
    pub(crate) n_heads: usize,
    /// Position of its platform, for its colour.
    pub(crate) platform: Option<usize>,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// The text.
    pub(crate) text: String,
    /// A second, smaller line.
    pub(crate) sub: Option<String>,
    /// Number of its footnote.
    pub(crate) note: Option<usize>,
    /// Numbers stand to the right.
    pub(crate) numeric: bool,
    /// Small and grey: stands for a missing value.
    pub(crate) muted: bool,
}

impl Cell {
    /// Words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number already in digits.
    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), numeric: true, ..Self::default() }
    }

    /// A number and a smaller line under it.
    pub(crate) fn with_sub(text: impl Into<String>, sub: Option<String>) -> Self {
        Self { text: text.into(), sub, numeric: true, ..Self::default() }
    }
}

impl Table {
    /// An empty table.
    pub(crate) fn new(id: impl Into<String>, caption: impl Into<String>) -> Self {
        Self { id: id.into(), caption: caption.into(), open: true, ..Self::default() }
    }

    /// Adds a column of words.
    pub(crate) fn words(&mut self, label: Label, language: Language) {
        self.columns.push(Column { text: label.text(language).to_owned(), numeric: false });
    }

    /// Adds columns of numbers.
    pub(crate) fn numbers(&mut self, labels: &[Label], language: Language) {
        self.columns.extend(labels.iter().map(|l| Column { text: l.text(language).to_owned(), numeric: true }));
    }

    /// The number of a footnote; the same text gets the same number.
    pub(crate) fn note(&mut self, text: &str) -> usize {
        let known = self.notes.iter().position(|n| n == text);
        known.unwrap_or_else(|| {
            self.notes.push(text.to_owned());
            self.notes.len() - 1
        }) + 1
    }

    /// A dash with a footnote that says why.
    pub(crate) fn missing(&mut self, why: Sentence, language: Language) -> Cell {
        let note = self.note(why.text(language));
        Cell { text: format::NONE.to_owned(), note: Some(note), numeric: true, muted: true, ..Cell::default() }
    }

    /// A number, or a dash with the reason.
    pub(crate) fn number_or(
        &mut self,
        value: Option<f64>,
        show: impl Fn(f64) -> String,
        why: Sentence,
        language: Language,
    ) -> Cell {
        match value {
            Some(value) => Cell::number(show(value)),
            None => self.missing(why, language),
        }
    }

    /// Adds a row; `n_heads` of its first cells name it.
    pub(crate) fn row(&mut self, cells: Vec<Cell>, n_heads: usize) {
        self.rows.push(Row { cells, n_heads, ..Row::default() });
    }
}
