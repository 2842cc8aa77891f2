//! `kneepoint check`: validates a plan, shows the exact request, and probes each platform once.

use std::fmt::Write as _;
use std::path::PathBuf;

use kneepoint_load::StopSignal;
use kneepoint_load::clock::Clock;
use kneepoint_load::preflight::{MachineLimits, preflight};
use kneepoint_load::probe::{self, Probed};
use kneepoint_model::plan::{LengthControl, Platform};
use kneepoint_model::{Nanos, Plan};
use kneepoint_report::Console;
use kneepoint_wire::request::RequestTemplate;
use serde_json::{Value, json};

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;
use crate::{measure, plan_source, progress};

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
    let values = [
        ("plan", &*args.plan.display().to_string()),
        ("points", &points.len().to_string()),
        ("platforms", &plan.platforms.len().to_string()),
        ("seconds", &format!("{seconds:.0}")),
    ];
    let mut text = output.text(Console::CheckPlan, &values) + "\n";
    let searches = plan.loads.iter().filter(|load| load.search.is_some()).count();
    let searches = searches * plan.platforms.len() * plan.workloads.len();
    report["searches"] = json!(searches);
    if searches > 0 {
        text.push_str(&(output.text(Console::CheckSearches, &[("searches", &searches.to_string())]) + "\n"));
    }
    let findings = preflight(&plan, &points, &MachineLimits::here());
    for found in &findings {
        let _ = writeln!(text, "{}", output.text(Console::PreflightFound, &[("found", &found.to_string())]));
    }
    report["machine"] = findings.iter().map(ToString::to_string).collect();
    let first_points = kneepoint_load::first_points(&plan);
    let mut failed = None;
    // Ctrl-C simply ends a check: there is nothing to keep.
    let (clock, stop) = (Clock::start(), StopSignal::default());
    for (index, platform) in plan.platforms.iter().enumerate() {
        let prompt = probe::prompt(&source, &first_points, index);
        let request = request_text(&plan, platform, &prompt)?;
        let _ = write!(text, "\n{} ({})\n{}\n", platform.name, platform.dialect.name(), indent(&request));
        let mut entry = json!({ "request": request });
        if !args.offline {
            output.tell(Console::Probing, &[("platform", &platform.name)]);
            match probe::probe(&plan, platform, &prompt, clock, &stop) {
                Ok(probed) => {
                    text.push_str(&verdict(&plan, platform, &probed, output));
                    entry["probe"] = facts(&probed);
                }
                Err(error) => {
                    let whole = crate::exit::with_causes(&error);
                    let _ = writeln!(text, "  {}", output.text(Console::CheckFailed, &[("error", &whole)]));
                    entry["error"] = json!(whole);
                    failed.get_or_insert(error);
                }
            }
        }
        report["platforms"][&platform.name] = entry;
    }
    Output::data(&if output.json { format!("{report:#}") } else { text })?;
    match failed {
        Some(error) => Err(measure::probe_failed(&error)),
        None => Ok(Ended::Fine),
    }
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

/// The verdict of one probe, a row a question.
fn verdict(plan: &Plan, platform: &Platform, probed: &Probed, output: Output) -> String {
    let seen = &probed.environment.observed;
    let answer = &probed.answer;
    let say = |message| output.text(message, &[]);
    let number = |value: Option<u64>| value.map_or_else(|| say(Console::NotTold), |n| n.to_string());
    let millis = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |ms| if ms < 1.0 { format!("{ms:.3} ms") } else { format!("{ms:.1} ms") })
    };
    let streams = match answer.events {
        _ if !plan.workloads[0].stream => say(Console::StreamNotAsked),
        0 => say(Console::StreamsNothing),
        1 => say(Console::StreamsOnePiece),
        n => output.text(Console::StreamsYes, &[("events", &n.to_string())]),
    };
    let (connect, addresses) = (millis(seen.tcp_connect_ms), seen.addresses.join(", "));
    let (ttft, e2e) = (millis(answer.ttft_ms), millis(answer.e2e_ms));
    let counted = number(answer.input_tokens);
    let wanted = plan.workloads[0].input.to_string();
    let length = serde_json::to_value(seen.length_control).ok().and_then(|v| v.as_str().map(str::to_owned));
    let authenticated = if platform.key.is_some() { Console::AuthenticatedYes } else { Console::NoKeyNeeded };
    let mut rows = vec![
        (Console::UrlIs, seen.url.clone()),
        (Console::Reachable, output.text(Console::ReachableYes, &[("addresses", &addresses), ("connect", &connect)])),
    ];
    rows.extend(seen.tls.clone().map(|version| (Console::Tls, version)));
    rows.extend([
        (Console::Authenticated, say(authenticated)),
        (Console::Streams, streams),
        (Console::FirstAndEnd, output.text(Console::FirstAndEndValue, &[("ttft", &ttft), ("e2e", &e2e)])),
        (Console::InputTokens, output.text(Console::InputTokensValue, &[("counted", &counted), ("target", &wanted)])),
        (Console::OutputTokens, number(answer.output_tokens)),
        (Console::LengthControl, length.unwrap_or_else(|| "–".to_owned())),
        (Console::Server, seen.server_header.clone().unwrap_or_else(|| say(Console::NotTold))),
    ]);
    rows.extend(seen.engine_version.clone().map(|version| (Console::Version, version)));
    rows.extend((!seen.models.is_empty()).then(|| (Console::Models, seen.models.join(", "))));
    rows.extend(seen.simulated.then(|| (Console::Simulated, say(Console::Yes))));
    rows.into_iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "  {}: {value}", say(name));
        text
    })
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
