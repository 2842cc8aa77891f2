//! `kneepoint init`: a commented plan to start from.

use std::path::PathBuf;

use kneepoint_report::Console;

use crate::exit::{Ended, Result};
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
    crate::output::create(path, PLAN.as_bytes())?;
    output.tell(Console::InitWrote, &[("path", &path.display().to_string())]);
    Ok(Ended::Fine)
}
