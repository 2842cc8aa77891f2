//! `kneepoint completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::{Ended, Result};
use crate::output::Output;

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  kneepoint completions bash > ~/.local/share/bash-completion/completions/kneepoint")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Ended> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "kneepoint", &mut text);
    Output::data(&String::from_utf8_lossy(&text))?;
    Ok(Ended::Fine)
}
