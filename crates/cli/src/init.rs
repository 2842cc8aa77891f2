//! `kneepoint init`: a commented plan to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use anyhow::Context;
use kneepoint_report::Console;

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;

const PLAN: &str = include_str!("../../../examples/plan.yaml");

/// Write a commented plan.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  kneepoint init plan.yaml\n  kneepoint init > plan.yaml")]
pub(crate) struct InitArgs {
    /// File to write; must not exist [default: standard output]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &InitArgs, output: Output) -> Result<Ended> {
    let Some(path) = &args.file else {
        Output::data(PLAN)?;
        return Ok(Ended::Fine);
    };
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let error = anyhow::anyhow!("`{}` exists already", path.display());
            return Err(Failed::usage(error).hint("name another file, or remove this one first"));
        }
        other => other.with_context(|| format!("could not create `{}`", path.display())).map_err(Failed::usage)?,
    };
    file.write_all(PLAN.as_bytes())
        .with_context(|| format!("could not write `{}`", path.display()))
        .map_err(Failed::usage)?;
    output.tell(Console::InitWrote, &[("path", &path.display().to_string())]);
    Ok(Ended::Fine)
}
