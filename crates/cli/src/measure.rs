//! From a resolved plan to a sealed bundle with its report: what `run` and `demo` share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use kneepoint_analysis::{RunFacts, summarise};
use kneepoint_load::{Progress, RunError, RunOptions, StopSignal};
use kneepoint_model::bundle::{self, GitState, RunStatus};
use kneepoint_model::summary::Summary;
use kneepoint_model::{Plan, RequestSource};
use kneepoint_report::{Console, Run};
use kneepoint_store::Bundle;

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;
use crate::progress::Display;
use crate::signals;

/// What a measurement is made with, beside its plan.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) directory: PathBuf,
    pub(crate) git: Option<GitState>,
    pub(crate) workers: Option<usize>,
}

/// What a measurement left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) summary: Summary,
    pub(crate) report: PathBuf,
    pub(crate) interrupted: bool,
}

/// Runs the plan and completes the bundle.
pub(crate) fn measure(plan: &Plan, measurement: Measurement, output: Output) -> Result<Left> {
    let source = kneepoint_workload::source(plan).map_err(Failed::usage)?;
    let source: Arc<dyn RequestSource> = Arc::new(source);
    let stop = Arc::new(StopSignal::default());
    signals::listen(&stop, move |count| {
        output.tell(if count == 1 { Console::StoppingOnce } else { Console::StoppingNow }, &[]);
    })
    .map_err(Failed::measurement)?;

    let options = RunOptions {
        directory: measurement.directory.clone(),
        plan_yaml: plan.to_yaml(),
        tool: env!("CARGO_PKG_VERSION").into(),
        git: measurement.git,
        workers: measurement.workers,
    };
    let mut display = Display::new(output, plan);
    let measured =
        kneepoint_load::run(plan, &source, options, &stop, &mut |progress: Progress<'_>| display.show(&progress));
    display.end();
    match measured {
        Ok(_) => {}
        Err(error @ RunError::Probe(_)) => return Err(probe_failed(error)),
        Err(error) if measurement.directory.join(bundle::MANIFEST).exists() => {
            let kept = measurement.directory.display().to_string();
            return Err(Failed::measurement(error)
                .hint(format!("what was measured is kept; `kneepoint report {kept}` shows it")));
        }
        Err(error) => return Err(Failed::measurement(error)),
    }
    complete(plan, &measurement.directory, output)
}

fn probe_failed(error: RunError) -> Failed {
    use kneepoint_load::probe::ProbeError;
    match &error {
        RunError::Probe(ProbeError::Unreachable { .. }) => {
            Failed::unreachable(error).hint("is the server up, and is the URL's host and port right?")
        }
        RunError::Probe(ProbeError::Refused { .. }) => Failed::unreachable(error)
            .hint("`kneepoint check` prints the request that was sent; compare model name, path and key"),
        RunError::Probe(ProbeError::Endpoint { .. }) => Failed::unreachable(error),
        _ => Failed::usage(error),
    }
}

/// Makes summary and reports of a measured bundle and seals it.
fn complete(plan: &Plan, directory: &Path, output: Output) -> Result<Left> {
    let bundle = Bundle::open(directory).map_err(Failed::measurement)?;
    let summary = summary_of(plan, &bundle)?;
    let mut text = serde_json::to_vec_pretty(&summary).map_err(Failed::measurement)?;
    text.push(b'\n');
    kneepoint_store::write(directory, bundle::SUMMARY, &text).map_err(Failed::measurement)?;
    kneepoint_store::seal(directory, bundle.manifest.clone()).map_err(Failed::measurement)?;
    let run = Run {
        summary: &summary,
        manifest: &bundle.manifest,
        environment: &bundle.environment,
        plan_yaml: &bundle.plan_yaml,
    };
    write_reports(directory, &[run], output)?;
    let interrupted = bundle.manifest.status != RunStatus::Complete;
    Ok(Left { summary, report: directory.join(bundle::REPORT_HTML), interrupted })
}

/// The summary of a bundle, from its records.
pub(crate) fn summary_of(plan: &Plan, bundle: &Bundle) -> Result<Summary> {
    let facts = RunFacts {
        plan,
        manifest: &bundle.manifest,
        environment: &bundle.environment,
        points: &bundle.points,
        loss: bundle.loss,
    };
    let mut failed = None;
    let records = bundle.records().map_err(Failed::measurement)?;
    let whole = records.map_while(|record| record.map_err(|error| failed = Some(error)).ok());
    let summary = summarise(&facts, whole);
    match failed {
        Some(error) => Err(Failed::measurement(error)),
        None => Ok(summary),
    }
}

/// Writes `report.html`, `report.md` and its charts into `directory`.
pub(crate) fn write_reports(directory: &Path, runs: &[Run<'_>], output: Output) -> Result<()> {
    let html = kneepoint_report::html(runs, output.language);
    kneepoint_store::write(directory, bundle::REPORT_HTML, html.as_bytes()).map_err(Failed::measurement)?;
    let markdown = kneepoint_report::markdown(runs, output.language);
    kneepoint_store::write(directory, bundle::REPORT_MD, markdown.text.as_bytes()).map_err(Failed::measurement)?;
    for (name, svg) in &markdown.svgs {
        let path = directory.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not create `{}`", folder.display()))
                .map_err(Failed::measurement)?;
        }
        std::fs::write(&path, svg)
            .with_context(|| format!("could not write `{}`", path.display()))
            .map_err(Failed::measurement)?;
    }
    Ok(())
}

/// Prints the result and says how the command ended.
pub(crate) fn tell(left: &Left, require_slo: bool, output: Output) -> Result<Ended> {
    if output.json {
        Output::data(&serde_json::to_string_pretty(&left.summary).map_err(Failed::measurement)?)?;
    } else {
        Output::data(&kneepoint_report::text_table(&left.summary, output.language))?;
    }
    output.tell(Console::ReportAt, &[("path", &left.report.display().to_string())]);
    Ok(verdict(left, require_slo))
}

fn verdict(left: &Left, require_slo: bool) -> Ended {
    let points = &left.summary.points;
    let has_valid_point = |platform: &str| points.iter().any(|point| point.platform == platform && point.valid);
    if left.interrupted {
        Ended::Interrupted
    } else if points.is_empty() || points.iter().any(|point| !has_valid_point(&point.platform)) {
        Ended::Invalid
    } else if require_slo && points.iter().any(|point| point.slo.values().any(|slo| slo.met != Some(true))) {
        Ended::SloMissed
    } else {
        Ended::Fine
    }
}
