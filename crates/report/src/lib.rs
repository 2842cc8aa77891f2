//! What people read: HTML, Markdown and a terminal table, in English and Chinese.
//!
//! Owns every sentence and every chart. Pure: summaries in, text out; it measures nothing, reads no file and no clock.
//! All text that came from elsewhere (names, server messages, the plan) is escaped where it is written out.

mod charts;
mod format;
mod html;
mod markdown;
mod messages;
mod terminal;
mod view;

use kneepoint_model::bundle::{Environment, Manifest};
use kneepoint_model::summary::Summary;

pub use markdown::Markdown;
pub use messages::{Console, Language, UnknownLanguage};

use view::comparison::Comparison;
use view::document::Document;

/// One run, as its bundle tells it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// `summary.json`.
    pub summary: &'a Summary,
    /// `manifest.json`.
    pub manifest: &'a Manifest,
    /// `environment.json`.
    pub environment: &'a Environment,
    /// `plan.yaml`, verbatim.
    pub plan_yaml: &'a str,
}

/// The report as one HTML file that loads nothing from anywhere.
pub fn html(runs: &[Run<'_>], language: Language) -> String {
    let comparison = Comparison::new(runs);
    html::render(&comparison, &Document::new(&comparison, language))
}

/// The report as Markdown with its charts as SVG files.
pub fn markdown(runs: &[Run<'_>], language: Language) -> Markdown {
    let comparison = Comparison::new(runs);
    markdown::render(&Document::new(&comparison, language))
}

/// One line a measured point, for terminals: plain text, columns aligned also where names are Chinese.
pub fn text_table(summary: &Summary, language: Language) -> String {
    terminal::text_table(summary, language)
}
