//! The `kneepoint` command: a table of contents. Each verb is a file; the logic lives in the other crates.

mod calibrate;
mod check;
mod completions;
mod demo;
mod exit;
mod flags;
mod git;
mod init;
mod measure;
mod output;
mod plan_source;
mod progress;
mod report;
mod run;
mod schema;
mod settings;
mod signals;
mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures what an AI inference platform really delivers, and writes a report people can believe.
#[derive(Debug, Parser)]
#[command(
    name = "kneepoint",
    version,
    about = "Measures what an AI inference platform really delivers, and writes a report people can believe",
    max_term_width = 100,
    after_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    output: output::OutputFlags,
}

const EXAMPLES: &str = "\
Examples:
  kneepoint demo
  kneepoint run --url http://127.0.0.1:8000 --model my-model --rate 1,2,4 --input 512 --output 256
  kneepoint init > plan.yaml && kneepoint check plan.yaml && kneepoint run plan.yaml

Exit codes: 0 fine; 1 an SLO was missed (with --require-slo); 2 the plan or the call is wrong;
3 a platform has no valid point; 4 a platform could not be reached; 130 interrupted (bundle kept).";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compare three simulated platforms in one report, in under a minute
    Demo(demo::DemoArgs),
    /// Write a commented plan to standard output or a file
    Init(init::InitArgs),
    /// Validate a plan and probe its platforms, without any load
    Check(check::CheckArgs),
    /// Measure what this client itself adds on this machine, and how much load it keeps up with
    Calibrate(calibrate::CalibrateArgs),
    /// Measure a plan, or the plan that flags describe; leaves a bundle
    Run(Box<run::RunArgs>),
    /// Write the report of one or several bundles again
    Report(report::ReportArgs),
    /// Serve a simulated platform
    Sim(sim::SimArgs),
    /// Print a JSON Schema
    Schema(schema::SchemaArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = output::Output::new(&cli.output, &settings::Settings::from_environment());
    let result = match cli.verb {
        Verb::Demo(args) => demo::run(&args, output),
        Verb::Init(args) => init::run(&args, output),
        Verb::Check(args) => check::run(&args, output),
        Verb::Calibrate(args) => calibrate::run(&args, output),
        Verb::Run(args) => run::run(&args, output),
        Verb::Report(args) => report::run(&args, output),
        Verb::Sim(args) => sim::run(&args, output),
        Verb::Schema(args) => schema::run(&args),
        Verb::Completions(args) => completions::run(&args),
    };
    exit::finish(result, output)
}
