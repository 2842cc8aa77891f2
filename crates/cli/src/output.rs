//! Where words go: data to standard output, everything else to standard error.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use kneepoint_report::{Console, Language};

use crate::exit::Failed;
use crate::settings::Settings;

/// Flags every verb understands.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputFlags {
    /// Language of reports and tables [default: the system's, else en]
    #[arg(long, global = true, value_name = "en|zh", value_parser = language)]
    lang: Option<Language>,
    /// Print JSON for machines instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing but the result and errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

fn language(text: &str) -> Result<Language, String> {
    text.parse().map_err(|_| format!("`{text}` is not a language of the reports; expected en or zh"))
}

/// How this command speaks.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about one terminal")]
pub(crate) struct Output {
    pub(crate) language: Language,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) color: bool,
    /// Standard error is a terminal.
    pub(crate) terminal: bool,
}

impl Output {
    pub(crate) fn new(flags: &OutputFlags, settings: &Settings) -> Self {
        let locale_is_chinese = settings.locale.as_deref().is_some_and(|locale| locale.starts_with("zh"));
        let default = if locale_is_chinese { Language::Chinese } else { Language::English };
        let terminal = io::stderr().is_terminal();
        Self {
            language: flags.lang.unwrap_or(default),
            json: flags.json,
            quiet: flags.quiet,
            color: terminal && !settings.no_color,
            terminal,
        }
    }

    /// Prints data, whatever the flags say. A reader that went away (`| head`) is no error.
    pub(crate) fn data(text: &str) -> Result<(), Failed> {
        let mut out = io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failed::usage(anyhow::Error::new(error).context("could not write to standard output")))
            }
            _ => Ok(()),
        }
    }

    /// A sentence in the user's language.
    pub(crate) fn text(self, message: Console, values: &[(&str, &str)]) -> String {
        self.language.console(message, values)
    }

    /// Tells a sentence of the catalogue.
    pub(crate) fn tell(self, message: Console, values: &[(&str, &str)]) {
        self.say(&self.text(message, values));
    }

    /// Tells something that is not data.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Tells an error and what to do about it.
    pub(crate) fn error(self, text: &str, hint: Option<&str>) {
        let (red, cyan, plain) = if self.color { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        let mut err = io::stderr().lock();
        let _ = writeln!(err, "{red}error:{plain} {text}");
        if let Some(hint) = hint {
            let _ = writeln!(err, "\n{cyan}hint:{plain} {hint}");
        }
    }
}

/// Writes a new file; one that is there already is never overwritten.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let shown = path.display();
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let error = anyhow::anyhow!("`{shown}` exists already");
            return Err(Failed::usage(error).hint("name another file, or remove this one first"));
        }
        other => other.with_context(|| format!("could not create `{shown}`")).map_err(Failed::usage)?,
    };
    file.write_all(bytes).with_context(|| format!("could not write `{shown}`")).map_err(Failed::usage)
}
