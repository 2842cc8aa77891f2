//! `kneepoint check`: validates a plan, shows the exact request, and probes each platform once.

use std::fmt::Write as _;
use std::path::PathBuf;

use kneepoint_load::clock::Clock;
use kneepoint_load::probe::{self, ProbeError, Probed};
use kneepoint_model::plan::{LengthControl, Platform, Point};
use kneepoint_model::{Nanos, Plan, RequestSource};
use kneepoint_wire::request::RequestTemplate;
use serde_json::{Value, json};

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;
use crate::{plan_source, progress};

/// Validate a plan and probe its platforms, without any load.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kneepoint check plan.yaml
  kneepoint check plan.yaml --offline    # the plan alone; nothing is sent
  kneepoint check plan.yaml --json")]
pub(crate) struct CheckArgs {
    /// The plan file
    plan: PathBuf,
    /// Check the plan alone; send nothing
    #[arg(long)]
    offline: bool,
}

pub(crate) fn run(args: &CheckArgs, output: Output) -> Result<Ended> {
    let plan = plan_source::from_file(&args.plan)?;
    let source = kneepoint_workload::source(&plan).map_err(Failed::usage)?;
    let points = plan.points();
    let seconds = points.iter().map(progress::expected).fold(Nanos::ZERO, |sum, next| sum + next).as_secs_f64();
    let mut report = json!({
        "plan": plan.name, "points": points.len(), "expected_s": seconds, "platforms": {},
    });
    let mut text = format!(
        "{}: {} points, {} platforms, at least {seconds:.0} s\n",
        args.plan.display(),
        points.len(),
        plan.platforms.len()
    );
    let mut failed = None;
    let clock = Clock::start();
    for (index, platform) in plan.platforms.iter().enumerate() {
        let prompt = source.prompt(first_point(&points, index), u64::MAX);
        let request = request_text(&plan, platform, &prompt)?;
        let _ = write!(text, "\n{} ({})\n{}\n", platform.name, platform.dialect.name(), indent(&request));
        let mut entry = json!({ "request": request });
        if !args.offline {
            output.say(&format!("probing {}", platform.name));
            match probe::probe(&plan, platform, &prompt, clock) {
                Ok(probed) => {
                    text.push_str(&verdict(platform, &probed));
                    entry["probe"] = facts(&probed);
                }
                Err(error) => {
                    let _ = writeln!(text, "  FAILED: {:#}", anyhow::Error::from(wrap(&error)));
                    entry["error"] = json!(format!("{:#}", anyhow::Error::from(wrap(&error))));
                    failed.get_or_insert(error);
                }
            }
        }
        report["platforms"][&platform.name] = entry;
    }
    Output::data(&if output.json { format!("{report:#}") } else { text })?;
    match failed {
        Some(error) => Err(Failed::unreachable(error)),
        None => Ok(Ended::Fine),
    }
}

/// The error's whole chain as one message: a probe's error is shown for each platform and returned for the first.
fn wrap(error: &ProbeError) -> std::io::Error {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let _ = write!(text, ": {next}");
        cause = next.source();
    }
    std::io::Error::other(text)
}

fn first_point(points: &[Point], platform: usize) -> usize {
    points.iter().position(|point| point.platform == platform).unwrap_or(0)
}

/// The request as it will be sent, secrets masked.
fn request_text(plan: &Plan, platform: &Platform, prompt: &kneepoint_model::Prompt) -> Result<String> {
    let model = platform.model.as_deref().unwrap_or(&plan.model.id);
    let length = match platform.length_control {
        LengthControl::Auto => LengthControl::IgnoreEos,
        settled => settled,
    };
    let template = RequestTemplate::new(platform, &plan.workloads[0], model, length).map_err(Failed::usage)?;
    Ok(template.render_masked(prompt))
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

fn verdict(platform: &Platform, probed: &Probed) -> String {
    let seen = &probed.environment.observed;
    let answer = &probed.answer;
    let number = |value: Option<u64>| value.map_or_else(|| "not told".to_owned(), |n| n.to_string());
    let millis = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1} ms"));
    let streams = match answer.events {
        0 => "no visible output".to_owned(),
        1 => "one piece: it does not stream, or the answer is too short to tell".to_owned(),
        n => format!("yes, {n} events"),
    };
    let length = serde_json::to_value(seen.length_control).ok().and_then(|v| v.as_str().map(str::to_owned));
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<16} {value}");
    };
    row("reachable", &format!("yes, {} (TCP connect {})", seen.addresses.join(", "), millis(seen.tcp_connect_ms)));
    if platform.url.starts_with("https") {
        row("TLS", seen.tls.as_deref().unwrap_or("–"));
    }
    row("authenticated", if platform.key.is_some() { "yes" } else { "no key needed" });
    row("streams", &streams);
    row("TTFT, E2E", &format!("{}, {} (one request)", millis(answer.ttft_ms), millis(answer.e2e_ms)));
    row("input tokens", &number(answer.input_tokens));
    row("output tokens", &number(answer.output_tokens));
    row("length control", length.as_deref().unwrap_or("–"));
    row("server", seen.server_header.as_deref().unwrap_or("not told"));
    if let Some(version) = &seen.engine_version {
        row("version", version);
    }
    if !seen.models.is_empty() {
        row("models", &seen.models.join(", "));
    }
    if seen.simulated {
        row("simulated", "yes");
    }
    text
}

fn facts(probed: &Probed) -> Value {
    let answer = &probed.answer;
    json!({
        "observed": probed.environment.observed,
        "ttft_ms": answer.ttft_ms,
        "e2e_ms": answer.e2e_ms,
        "events": answer.events,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "finish": answer.finish,
    })
}
