//! `kneepoint demo`: three simulated platforms, compared in one report, with no configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kneepoint_model::Plan;
use kneepoint_model::plan::ResolveContext;
use kneepoint_report::Console;
use kneepoint_sim::{Profile, Running};

use crate::exit::{Ended, Failed, Result};
use crate::measure::{self, Measurement};
use crate::output::Output;

const PLAN: &str = include_str!("demo-plan.yaml");
const PROFILES: [&str; 3] = ["fast", "cheap", "serverless"];

/// Compare three simulated platforms in one report, in under a minute.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  kneepoint demo\n  kneepoint demo --lang zh --out /tmp/demo")]
pub(crate) struct DemoArgs {
    /// Folder for the bundle [default: runs/TIME-demo]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &DemoArgs, output: Output) -> Result<Ended> {
    let directory = crate::run::directory(args.out.as_deref(), "demo")?;
    let mut platforms = Vec::with_capacity(PROFILES.len());
    for name in PROFILES {
        platforms.push(start(name)?);
    }
    let plan = plan(&platforms)?;
    output.tell(Console::DemoStarts, &[]);
    let left = measure::measure(&plan, Measurement { directory, git: None, workers: None, calibrate: false }, output)?;
    for (name, platform) in PROFILES.iter().zip(platforms) {
        crate::sim::warn_if_late(name, &platform, output);
        platform.stop();
    }
    // Its platforms are driven past their limits on purpose, so invalid points are part of what the demo shows.
    match measure::tell(&left, false, output)? {
        Ended::Interrupted => Ok(Ended::Interrupted),
        Ended::Fine | Ended::Invalid | Ended::SloMissed => Ok(Ended::Fine),
    }
}

fn start(name: &str) -> Result<Running> {
    let profile = Profile::embedded(name)
        .ok_or_else(|| Failed::usage(anyhow::anyhow!("the profile `{name}` is missing from this build")))?;
    kneepoint_sim::start(profile, SocketAddr::from(([127, 0, 0, 1], 0))).map_err(Failed::measurement)
}

fn plan(platforms: &[Running]) -> Result<Plan> {
    let text = PROFILES.iter().zip(platforms).fold(PLAN.to_owned(), |text, (name, running)| {
        text.replace(&format!("{{{name}}}"), &format!("http://{}", running.address()))
    });
    let context = ResolveContext { base_dir: Path::new("."), env: &|_| None };
    kneepoint_model::plan::resolve("demo-plan.yaml", &text, &context).map_err(Failed::usage)
}
