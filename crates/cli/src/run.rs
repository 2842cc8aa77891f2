//! `kneepoint run`: measures a plan, or the plan that flags describe.

use std::path::{Path, PathBuf};

use anyhow::Context;
use kneepoint_load::clock;
use kneepoint_model::Plan;
use kneepoint_model::plan::ResolveContext;
use kneepoint_report::Console;

use crate::exit::{Ended, Failed, Result};
use crate::flags::PlanFlags;
use crate::measure::{self, Measurement};
use crate::output::Output;
use crate::{git, plan_source, settings};

/// Measure a plan, or the plan that flags describe.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kneepoint run --url http://127.0.0.1:8000 --model my-model --rate 1,2,4 --input 512 --output 256 --for 60s
  kneepoint run --url https://api.example.com/v1 --model m --key-env API_KEY --concurrency 1,4,16 --slo ttft=500ms,tpot=40ms
  kneepoint run plan.yaml --out runs/today
  kneepoint run plan.yaml --json | jq '.points[].ttft_ms.p99'")]
pub(crate) struct RunArgs {
    /// The plan file; without one, flags describe the plan
    plan: Option<PathBuf>,
    #[command(flatten)]
    flags: PlanFlags,
    /// Folder for the bundle; must not exist or be empty [default: runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the plan which the flags make to this file as well
    #[arg(long, value_name = "FILE")]
    save_plan: Option<PathBuf>,
    /// Exit with 1 if a point misses an SLO
    #[arg(long)]
    require_slo: bool,
    /// Worker threads [default: one less than the cores, at least 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Do not measure beforehand what this client itself adds, which takes about 3 seconds
    #[arg(long)]
    no_calibration: bool,
}

pub(crate) fn run(args: &RunArgs, output: Output) -> Result<Ended> {
    let mut plan = plan(args)?;
    if let (Some(_), Some(seed)) = (&args.plan, args.flags.seed()) {
        plan.seed = seed;
    }
    if args.require_slo && plan.slos.is_empty() {
        return Err(Failed::usage(anyhow::anyhow!("--require-slo was given, and the plan has no SLO"))
            .hint("add --slo 'ttft=500ms,share=99%' (`slo:` in a plan), or leave --require-slo out"));
    }
    if let Some(path) = &args.save_plan {
        save(path, &plan)?;
        output.tell(Console::PlanAt, &[("path", &path.display().to_string())]);
    }
    let directory = directory(args.out.as_deref(), &plan.name)?;
    let folder = args.plan.as_deref().map_or_else(|| PathBuf::from("."), plan_source::folder_of);
    let measurement = Measurement {
        directory,
        git: git::state(&folder),
        workers: args.workers.map(usize::from),
        calibrate: !args.no_calibration,
    };
    let left = measure::measure(&plan, measurement, output)?;
    measure::tell(&left, args.require_slo, output)
}

fn plan(args: &RunArgs) -> Result<Plan> {
    match (&args.plan, args.flags.is_empty_but_for_seed()) {
        (Some(path), true) => plan_source::from_file(path),
        (None, false) => from_flags(&args.flags),
        (Some(_), false) => Err(Failed::usage(anyhow::anyhow!("a plan file and plan flags were both given"))
            .hint("change the plan, or leave it out; `--save-plan` turns flags into a plan")),
        (None, true) => Err(Failed::usage(anyhow::anyhow!(
            "nothing to measure: neither a plan file nor `--url` was given"
        ))
        .hint("kneepoint run --url http://127.0.0.1:8000 --model my-model --rate 1,2,4, or kneepoint run plan.yaml")),
    }
}

fn from_flags(flags: &PlanFlags) -> Result<Plan> {
    let folder = plan_source::absolute(Path::new("."));
    let context = ResolveContext { base_dir: &folder, env: &settings::variable };
    flags.resolve(&context).map_err(Failed::usage)
}

fn save(path: &Path, plan: &Plan) -> Result<()> {
    crate::output::create(path, plan.to_yaml().as_bytes())
}

/// The bundle's folder, made sure to be new: a run never mixes with another one.
pub(crate) fn directory(out: Option<&Path>, name: &str) -> Result<PathBuf> {
    let path = match out {
        Some(path) => path.to_owned(),
        None => fresh(name),
    };
    let is_taken = match std::fs::read_dir(&path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if let Some(file) = path.ancestors().skip(1).find(|above| above.is_file()) {
        return Err(Failed::usage(anyhow::anyhow!("`{}` is a file, not a folder", file.display())));
    }
    if is_taken {
        let error = anyhow::anyhow!("`{}` exists and is not an empty folder", path.display());
        return Err(Failed::usage(error).hint("name another folder with --out: a run never overwrites another one"));
    }
    std::fs::create_dir_all(&path)
        .with_context(|| format!("could not create `{}`", path.display()))
        .map_err(Failed::usage)?;
    Ok(path)
}

/// `runs/2026-11-30T08-15-00Z-name`, with a number behind it if there is one already.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let label = clock::rfc3339(clock::unix_seconds()).replace(':', "-");
    let first = Path::new("runs").join(format!("{label}-{name}"));
    let numbered = (2..).map(|n| first.with_file_name(format!("{label}-{name}-{n}")));
    std::iter::once(first.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(first)
}
