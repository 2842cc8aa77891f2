//! `kneepoint schema`: the JSON Schemas of what people write and machines read.

use crate::exit::{Ended, Result};
use crate::output::Output;

/// Print a JSON Schema.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  kneepoint schema > plan.schema.json\n  kneepoint schema summary")]
pub(crate) struct SchemaArgs {
    /// Of which file
    #[arg(value_enum, default_value = "plan")]
    of: Of,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Of {
    /// The plan
    Plan,
    /// `summary.json`, as `run --json` prints it
    Summary,
    /// A profile of the simulated platform
    Profile,
}

pub(crate) fn run(args: &SchemaArgs) -> Result<Ended> {
    let schema = match args.of {
        Of::Plan => kneepoint_model::plan::plan_schema(),
        Of::Summary => kneepoint_model::summary::summary_schema(),
        Of::Profile => kneepoint_sim::profile::schema(),
    };
    Output::data(&format!("{schema:#}"))?;
    Ok(Ended::Fine)
}
