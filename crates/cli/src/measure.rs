//! From a resolved plan to a sealed bundle with its report: what `run` and `demo` share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use kneepoint_analysis::{RunFacts, summarise};
use kneepoint_load::probe::ProbeError;
use kneepoint_load::{Progress, RunError, RunOptions, StopSignal};
use kneepoint_model::bundle::{self, GitState, RunStatus};
use kneepoint_model::summary::Summary;
use kneepoint_model::{FailureKind, Plan, RequestSource};
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
    /// Whether what the client itself adds is measured first.
    pub(crate) calibrate: bool,
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
    let source = kneepoint_workload::source(plan).map_err(|error| {
        let _ = std::fs::remove_dir(&measurement.directory);
        Failed::usage(error)
    })?;
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
        calibrate: measurement.calibrate,
    };
    let mut display = Display::new(output, plan);
    let measured =
        kneepoint_load::run(plan, &source, options, &stop, &mut |progress: Progress<'_>| display.show(&progress));
    display.end();
    match measured {
        Ok(_) => {}
        Err(RunError::Probe(error)) => {
            // Takes only an empty folder away: there is nothing in it, and the next run wants its name.
            let _ = std::fs::remove_dir(&measurement.directory);
            return Err(probe_failed(&error));
        }
        Err(error) if measurement.directory.join(bundle::MANIFEST).exists() => {
            let kept = measurement.directory.display().to_string();
            return Err(Failed::measurement(error)
                .hint(format!("what was measured is kept; `kneepoint report {kept}` shows it")));
        }
        Err(error) => return Err(Failed::measurement(error)),
    }
    complete(plan, &measurement.directory, output)
}

/// What a failed look at the platforms means for the caller.
pub(crate) fn probe_failed(error: &ProbeError) -> Failed {
    let whole = anyhow::anyhow!("{}", crate::exit::with_causes(error));
    match error {
        ProbeError::Stopped => Failed::interrupted(whole),
        ProbeError::Unreachable { .. } if whole.to_string().contains("HTTP/2") => Failed::unreachable(whole)
            .hint("`--http 2` (`http: 2` in a plan) speaks nothing else; leave it out for a server of HTTP/1.1"),
        ProbeError::Unreachable { .. } => {
            Failed::unreachable(whole).hint("is the server up, and are host and port of the URL right?")
        }
        ProbeError::Unanswered { .. } => Failed::unreachable(whole).hint(
            "the server accepts connections; if it is only slow, raise --request-timeout (`time_limits: {total: …}` in a plan)",
        ),
        ProbeError::Refused { failure, .. } => match failure.kind {
            FailureKind::Http { status: 401 | 403, .. } => Failed::usage(whole)
                .hint("is the key right? --key-env NAME (`key: ${NAME}` in a plan) says where it is"),
            FailureKind::Http { status: 404, .. } => {
                Failed::usage(whole).hint("`kneepoint check` prints URL and request: are path and model name right?")
            }
            FailureKind::Http { status: 400..=499, .. } if !is_too_many(failure.kind) => {
                Failed::usage(whole).hint("`kneepoint check` prints the request that was refused")
            }
            _ => Failed::unreachable(whole).hint("`kneepoint check` prints the request that was sent"),
        },
        ProbeError::Endpoint { .. } => Failed::unreachable(whole),
        ProbeError::Template { .. } => Failed::usage(whole),
    }
}

/// Too many requests is the platform's state, not a mistake of the caller's.
fn is_too_many(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Http { status: 429, .. })
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
    let telemetry = bundle.telemetry().map_err(Failed::measurement)?;
    let facts = RunFacts {
        plan,
        manifest: &bundle.manifest,
        environment: &bundle.environment,
        points: &bundle.points,
        searches: &bundle.searches,
        telemetry: &telemetry,
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
    Ok(verdict(left, require_slo, output))
}

fn verdict(left: &Left, require_slo: bool, output: Output) -> Ended {
    let points = &left.summary.points;
    let has_valid_point = |platform: &str| points.iter().any(|point| point.platform == platform && point.valid);
    if left.interrupted {
        Ended::Interrupted
    } else if points.is_empty() || points.iter().any(|point| !has_valid_point(&point.platform)) {
        Ended::Invalid
    } else if require_slo && !missed(left, output).is_empty() {
        Ended::SloMissed
    } else {
        Ended::Fine
    }
}

/// The SLOs that were missed or could not be judged, told one by one.
fn missed(left: &Left, output: Output) -> Vec<&str> {
    let all = left.summary.points.iter().flat_map(|point| point.slo.iter().map(move |(name, slo)| (point, name, slo)));
    let missed = all.filter(|(_, _, slo)| slo.met != Some(true));
    missed
        .map(|(point, name, slo)| {
            let load = match (point.load.rate_rps, point.load.concurrency) {
                (Some(rate), _) => output.text(Console::LevelRate, &[("rate", &rate.to_string())]),
                (None, n) => {
                    output.text(Console::LevelConcurrency, &[("concurrency", &n.unwrap_or_default().to_string())])
                }
            };
            let (platform, workload) = (point.platform.as_str(), point.workload.as_str());
            let percent = |share: f64| format!("{:.2}%", share * 100.0);
            let (wanted, reached) = (percent(slo.share), slo.attainment.map(percent));
            let message = if reached.is_some() { Console::SloMissedAt } else { Console::SloNotJudged };
            let reached = reached.unwrap_or_default();
            let values = [
                ("slo", name.as_str()),
                ("platform", platform),
                ("workload", workload),
                ("load", &load),
                ("reached", &reached),
                ("wanted", &wanted),
            ];
            output.tell(message, &values);
            name.as_str()
        })
        .collect()
}
