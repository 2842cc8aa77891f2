//! Exit codes, and how an error reads at the end of a command.

use std::process::ExitCode;

use crate::output::Output;

/// How a command ended well enough to have no error to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Fine,
    /// `--require-slo`, and a point missed its SLO.
    SloMissed,
    /// A platform has no valid point.
    Invalid,
    /// Stopped by a signal; the bundle is kept.
    Interrupted,
}

/// Why a command failed, with the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failed {
    code: u8,
    error: anyhow::Error,
    hint: Option<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Failed>;

impl Failed {
    /// The plan or the call is wrong.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 2, error: error.into(), hint: None }
    }

    /// The measurement could not be made or kept, for reasons of this machine.
    pub(crate) fn measurement(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 3, error: error.into(), hint: None }
    }

    /// A platform could not be reached.
    pub(crate) fn unreachable(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 4, error: error.into(), hint: None }
    }

    /// Stopped by the user before there was anything to keep.
    pub(crate) fn interrupted(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 130, error: error.into(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// An error and all its causes as one message.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Tells the error, if there is one, and gives the exit code.
pub(crate) fn finish(result: Result<Ended>, output: Output) -> ExitCode {
    match result {
        Ok(Ended::Fine) => ExitCode::SUCCESS,
        Ok(Ended::SloMissed) => ExitCode::from(1),
        Ok(Ended::Invalid) => ExitCode::from(3),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(failed) => {
            output.error(&format!("{:#}", failed.error), failed.hint.as_deref());
            ExitCode::from(failed.code)
        }
    }
}
