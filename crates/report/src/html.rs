//! The report as one HTML file that needs nothing else: styles, scripts, data and still charts inside.
//!
//! A content security policy forbids any request and any script but the two this crate ships, so even a mistake in
//! escaping could not run a foreign script.

use std::fmt::Write as _;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::charts::data;
use crate::charts::palette::{ON_DARK, ON_LIGHT};
use crate::charts::stills::{Place, Still};
use crate::messages::{Label, Language, Message as _, Sentence};
use crate::view::comparison::Comparison;
use crate::view::document::Document;
use crate::view::table::{Row, Table};

/// The chart library, vendored.
const ECHARTS: &str = include_str!("../vendor/echarts/echarts.common.min.js");
/// Draws the live charts.
const SCRIPT: &str = include_str!("../templates/report.js");
/// The look.
const STYLE: &str = include_str!("../templates/report.css");

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'d, 'a> {
    doc: &'d Document<'a>,
    lang: Language,
    policy: String,
    style: &'static str,
    echarts: &'static str,
    script: &'static str,
    data: String,
    platforms: Vec<(usize, &'d str)>,
}

impl Page<'_, '_> {
    fn t(&self, label: Label) -> &'static str {
        label.text(self.lang)
    }

    fn s(&self, sentence: Sentence) -> &'static str {
        sentence.text(self.lang)
    }

    fn stills(&self, place: Place) -> Vec<&Still> {
        self.doc.stills.iter().filter(|s| s.place == place).collect()
    }

    /// The colours of the platforms as style rules, for chips and row marks.
    fn colour_rules(&self) -> String {
        let mut rules = String::new();
        for (i, _) in &self.platforms {
            let n = i % ON_LIGHT.len();
            let _ = write!(rules, ".platform-{i}{{--light:{};--dark:{}}}", ON_LIGHT[n], ON_DARK[n]);
        }
        rules
    }
}

/// The class of a row in a table.
fn row_class(row: &Row) -> String {
    let mut class = String::new();
    if row.invalid {
        class.push_str("invalid-row ");
    }
    if let Some(platform) = row.platform {
        class.push_str("platform-row platform-");
        class.push_str(&platform.to_string());
    }
    class
}

/// Rows the first cell of a row spans: one platform's name stands once; 0 where the name above goes on.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the template engine passes every argument by reference")]
fn span(table: &Table, row: &usize) -> usize {
    let row = *row;
    let name = |i: usize| {
        let row = table.rows.get(i).filter(|r| r.platform.is_some() && r.n_heads > 0)?;
        Some((row.platform, &row.cells.first()?.text))
    };
    let Some(own) = name(row) else { return 1 };
    if row > 0 && name(row - 1) == Some(own) {
        return 0;
    }
    (row..table.rows.len()).take_while(|i| name(*i) == Some(own)).count()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the template engine passes every argument by reference")]
fn note_id(table: &Table, note: &usize) -> String {
    format!("{}-note-{note}", table.id)
}

/// Writes the page.
pub(crate) fn render(comparison: &Comparison<'_>, document: &Document<'_>) -> String {
    let page = Page {
        doc: document,
        lang: document.language,
        policy: policy(),
        style: STYLE,
        echarts: ECHARTS,
        script: SCRIPT,
        data: data::json(comparison, document.language),
        platforms: comparison.platforms.iter().map(|p| p.label.as_str()).enumerate().collect(),
    };
    page.render().expect("invariant: the template writes to a string and calls nothing that fails")
}

/// Nothing is loaded from anywhere, and only the scripts with these hashes run. Inline styles are the chart library's.
fn policy() -> String {
    let hash = |script: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {} {}; base-uri 'none'; \
         form-action 'none'",
        hash(ECHARTS),
        hash(SCRIPT)
    )
}
