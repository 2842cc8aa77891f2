//! `kneepoint report`: the report of one or several bundles, made anew from their records.

use std::path::PathBuf;

use anyhow::Context;
use kneepoint_model::Plan;
use kneepoint_model::plan::ResolveContext;
use kneepoint_model::summary::Summary;
use kneepoint_report::{Console, Run};
use kneepoint_store::Bundle;

use crate::exit::{Ended, Failed, Result};
use crate::measure;
use crate::output::Output;

/// Write the report of one or several bundles again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kneepoint report runs/2026-11-30T08-15-00Z-my-model
  kneepoint report runs/a runs/b --out comparison --lang zh
  kneepoint report runs/a --json")]
pub(crate) struct ReportArgs {
    /// Bundle folders
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// Folder to write to [default: the bundle's; required for several bundles]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ReportArgs, output: Output) -> Result<Ended> {
    let directory = match (&args.out, args.bundles.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            let error = anyhow::anyhow!("several bundles were given, and no folder for their common report");
            return Err(Failed::usage(error).hint("add --out DIR"));
        }
    };
    let mut opened = Vec::with_capacity(args.bundles.len());
    for path in &args.bundles {
        let bundle = Bundle::open(path).map_err(Failed::usage)?;
        for mismatch in kneepoint_store::mismatches(path, &bundle.manifest) {
            let bundle = path.display().to_string();
            output.tell(Console::ChangedFile, &[("file", &mismatch.file), ("bundle", &bundle)]);
        }
        let plan = plan_of(&bundle)?;
        let summary = measure::summary_of(&plan, &bundle)?;
        opened.push((bundle, summary));
    }
    let runs: Vec<Run<'_>> = opened.iter().map(|(bundle, summary)| view(bundle, summary)).collect();
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("could not create `{}`", directory.display()))
        .map_err(Failed::usage)?;
    measure::write_reports(&directory, &runs, output)?;
    tell(&opened, output)?;
    let report = directory.join(kneepoint_model::bundle::REPORT_HTML).display().to_string();
    output.tell(Console::ReportAt, &[("path", &report)]);
    Ok(Ended::Fine)
}

fn view<'a>(bundle: &'a Bundle, summary: &'a Summary) -> Run<'a> {
    Run { summary, manifest: &bundle.manifest, environment: &bundle.environment, plan_yaml: &bundle.plan_yaml }
}

fn tell(opened: &[(Bundle, Summary)], output: Output) -> Result<()> {
    if output.json {
        let summaries: Vec<&Summary> = opened.iter().map(|(_, summary)| summary).collect();
        let text = match summaries.as_slice() {
            [only] => serde_json::to_string_pretty(only),
            several => serde_json::to_string_pretty(several),
        };
        return Output::data(&text.map_err(Failed::measurement)?);
    }
    for (_, summary) in opened {
        Output::data(&kneepoint_report::text_table(summary, output.language))?;
    }
    Ok(())
}

/// The plan of a bundle. Its secrets are not needed to value it, so any text stands for them.
fn plan_of(bundle: &Bundle) -> Result<Plan> {
    let stand_in = |_: &str| Some(String::from("not-needed"));
    let context = ResolveContext { base_dir: &bundle.directory, env: &stand_in };
    let name = bundle.directory.join(kneepoint_model::bundle::PLAN).display().to_string();
    kneepoint_model::plan::resolve(&name, &bundle.plan_yaml, &context).map_err(Failed::usage)
}
