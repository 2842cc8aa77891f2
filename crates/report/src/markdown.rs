//! The report as Markdown (GitHub's flavour), its charts as SVG files beside it.

use std::fmt::Write as _;

use crate::charts::stills::{Place, Still};
use crate::messages::{Label, Language, Message as _, Sentence};
use crate::view::document::Document;
use crate::view::method::RunMethod;
use crate::view::table::{Cell, Table};

/// A Markdown report and the charts it refers to.
#[derive(Clone, Debug)]
pub struct Markdown {
    /// The text; it names the charts by relative path.
    pub text: String,
    /// File name and SVG of each chart, to be written beside the text.
    pub svgs: Vec<(String, String)>,
}

/// Writes the report out.
pub(crate) fn render(document: &Document<'_>) -> Markdown {
    let language = document.language;
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", escape(&document.title));
    for line in &document.subtitles {
        let _ = writeln!(out, "{}  ", escape(line));
    }
    if let Some(simulated) = &document.simulated {
        let banner = Label::SimulatedBanner.text(language);
        let _ = writeln!(out, "\n> [!WARNING]\n> **{banner}** — {}", escape(simulated));
    }
    verdict(&mut out, document);
    read_first(&mut out, document);
    if document.has_points {
        measured(&mut out, document);
    }
    heading(&mut out, Label::MethodTitle, language);
    for run in &document.methods {
        method(&mut out, run, language);
    }
    if document.has_points {
        heading(&mut out, Label::ValidityTitle, language);
        table_body(&mut out, &document.validity);
    }
    heading(&mut out, Label::GlossaryTitle, language);
    let _ = writeln!(out, "{}\n", escape(&document.glossary_intro));
    for (term, definition) in &document.glossary {
        let _ = writeln!(out, "- **{}**{}{}", escape(term), language.colon(), escape(definition));
    }
    let _ = writeln!(out, "\n---\n\n{}", escape(&document.made_with));
    let svgs = document.stills.iter().map(|still| (file_name(still), still.svg.clone())).collect();
    Markdown { text: out, svgs }
}

/// What was measured: charts and tables.
fn measured(out: &mut String, document: &Document<'_>) {
    let language = document.language;
    heading(out, Label::CurveTitle, language);
    paragraph(out, Sentence::CurveIntro.text(language));
    charts(out, &document.stills, Place::Curve);
    if let Some(capacity) = &document.capacity {
        heading(out, Label::CapacityTitle, language);
        paragraph(out, Sentence::CapacityIntro.text(language));
        for fact in &capacity.facts {
            let _ = writeln!(out, "- {}", escape(fact));
        }
        out.push('\n');
        for t in &capacity.tables {
            table(out, t, language);
        }
    }
    heading(out, Label::DistributionTitle, language);
    paragraph(out, Sentence::DistributionIntro.text(language));
    charts(out, &document.stills, Place::Distribution);
    heading(out, Label::SeriesTitle, language);
    charts(out, &document.stills, Place::Series);
    heading(out, Label::FiguresTitle, language);
    for t in &document.figures {
        table(out, t, language);
    }
}

fn file_name(still: &Still) -> String {
    format!("report-{}.svg", still.name)
}

fn heading(out: &mut String, label: Label, language: Language) {
    let _ = writeln!(out, "\n## {}\n", label.text(language));
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", escape(text));
}

fn verdict(out: &mut String, document: &Document<'_>) {
    heading(out, Label::Verdict, document.language);
    for verdict in &document.verdicts {
        if let Some(text) = &verdict.heading {
            let _ = writeln!(out, "### {}\n", escape(text));
        }
        if let Some((first, rest)) = verdict.conclusions.split_first() {
            let _ = writeln!(out, "**{}**\n", escape(first));
            if !rest.is_empty() {
                let _ = writeln!(out, "{}\n", escape(&rest.join(document.language.space())));
            }
        }
        for fact in &verdict.facts {
            let _ = writeln!(out, "- {}", escape(fact));
        }
        out.push('\n');
    }
    if document.compared {
        let _ = writeln!(out, "{}", escape(Sentence::OneRunOnly.text(document.language)));
    }
}

fn read_first(out: &mut String, document: &Document<'_>) {
    heading(out, Label::ReadFirst, document.language);
    if document.warnings.is_empty() {
        paragraph(out, Sentence::NoWarnings.text(document.language));
    }
    for warning in &document.warnings {
        let word = warning.weight.word(document.language);
        let _ = write!(out, "- **{word}**{}{}", document.language.colon(), escape(&warning.text));
        if !warning.figures.is_empty() {
            let figures = warning.figures.join(document.language.semicolon());
            let _ = write!(out, "{}{}", document.language.space(), escape(&figures));
        }
        out.push('\n');
    }
}

fn charts(out: &mut String, stills: &[Still], place: Place) {
    for still in stills.iter().filter(|s| s.place == place) {
        let _ = writeln!(out, "![{}]({})\n", escape(&still.title), file_name(still));
    }
}

fn method(out: &mut String, run: &RunMethod<'_>, language: Language) {
    let _ = writeln!(out, "### {}\n", escape(run.name));
    table_body(out, &run.run);
    let _ = writeln!(out, "**{}**\n", run.environment.caption);
    table_body(out, &run.environment);
    let _ = writeln!(out, "**{}**\n", Label::RepeatTitle.text(language));
    paragraph(out, &run.repeat);
    let _ = writeln!(out, "```sh\n{}\n```\n", run.command);
    paragraph(out, &run.seed);
    let _ = writeln!(out, "**{}**\n", Label::PlanTitle.text(language));
    let fence = fence(run.plan);
    let _ = writeln!(out, "{fence}yaml\n{}\n{fence}", run.plan.trim_end());
}

/// A fence longer than any run of backticks in `text`.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn table(out: &mut String, table: &Table, language: Language) {
    let _ = writeln!(out, "### {}\n", escape(&table.caption));
    if table.rows.is_empty() {
        for remark in &table.remarks {
            paragraph(out, remark);
        }
        return;
    }
    if table.open {
        table_body(out, table);
    } else {
        let _ = writeln!(out, "<details><summary>{}</summary>\n", Label::FiguresTitle.text(language));
        table_body(out, table);
        out.push_str("</details>\n\n");
    }
}

fn table_body(out: &mut String, table: &Table) {
    let heads: Vec<String> = table.columns.iter().map(|c| escape(&c.text)).collect();
    let _ = writeln!(out, "| {} |", heads.join(" | "));
    let aligns: Vec<&str> = table.columns.iter().map(|c| if c.numeric { "---:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |", aligns.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
    for (i, note) in table.notes.iter().enumerate() {
        let _ = writeln!(out, "<sup>{}</sup> {}  ", i + 1, escape(note));
    }
    for remark in &table.remarks {
        let _ = writeln!(out, "{}  ", escape(remark));
    }
    out.push('\n');
}

fn cell(cell: &Cell) -> String {
    let note = cell.note.map(|n| format!("<sup>{n}</sup>")).unwrap_or_default();
    let sub = cell.sub.as_ref().map(|s| format!("<br><sub>{}</sub>", escape(s))).unwrap_or_default();
    let lines: Vec<String> = cell.text.lines().map(escape).collect();
    format!("{}{note}{sub}", lines.join("<br>"))
}

/// Text that renders as itself: no markup, no table cell, no HTML, no line break; code in backticks stays code.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' | '`' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_renders_as_itself() {
        assert_eq!(escape("a|b <img> **x**\n`y`"), "a\\|b &lt;img&gt; \\*\\*x\\*\\* \\`y\\`");
    }

    #[test]
    fn a_plan_cannot_close_its_own_fence() {
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(fence("none"), "```");
    }
}
