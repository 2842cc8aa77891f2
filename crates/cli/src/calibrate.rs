//! `kneepoint calibrate`: what the client itself adds on this machine, and the largest load it keeps up with.

use std::sync::Arc;

use kneepoint_load::calibrate::{
    self, CalibrateError, CalibrationLoad, EVENTS_PER_STREAM, KEPT_ITL_MS, Ladder, LadderEnd, LadderProgress,
    ON_TIME_MS, Verdict,
};
use kneepoint_load::{StopSignal, host};
use kneepoint_model::bundle::Calibration;
use kneepoint_report::Console;
use serde_json::{Value, json};

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;
use crate::signals;

/// Measure what this client itself adds on this machine, and how much load it keeps up with.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The server it measures against has known timing and runs inside this process, on the same cores: what is found is what
both keep together. Nothing is sent beyond the loopback interface.

Examples:
  kneepoint calibrate                                           # 16, 32, 64, ... streams until a load is not kept
  kneepoint calibrate --streams 1000 --events-per-second 50000  # one load
  kneepoint calibrate --json | jq .largest_kept")]
pub(crate) struct CalibrateArgs {
    /// Measure this many streams only, instead of more and more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    streams: Option<u32>,
    /// Token events a second, all streams together [default: 50 a stream]
    #[arg(long, value_name = "R", requires = "streams")]
    events_per_second: Option<f64>,
    /// How long to measure, 0.1 to 60 seconds
    #[arg(long, value_name = "S", requires = "streams", default_value_t = 5.0)]
    seconds: f64,
    /// Worker threads [default: one less than the cores, at least 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

pub(crate) fn run(args: &CalibrateArgs, output: Output) -> Result<Ended> {
    let workers = args.workers.map_or_else(|| host::cores().saturating_sub(1).max(1), usize::from);
    let stop = Arc::new(StopSignal::default());
    signals::listen(&stop, move |_| output.tell(Console::StoppingNow, &[])).map_err(Failed::measurement)?;
    let mut tell = |progress: LadderProgress<'_>| {
        if let LadderProgress::Measuring(load) = progress {
            let (streams, events) = (load.streams.to_string(), format!("{:.0}", load.token_events_s));
            output.tell(Console::CalibrateMeasuring, &[("streams", &streams), ("events", &events)]);
        }
    };
    let found = match args.streams {
        None => Found::of(calibrate::limit(workers, &stop, &mut tell)),
        Some(streams) => {
            let token_events_s = args.events_per_second.unwrap_or(f64::from(streams) * EVENTS_PER_STREAM);
            let load = CalibrationLoad { streams, token_events_s, seconds: args.seconds };
            tell(LadderProgress::Measuring(&load));
            Found::of_one(calibrate::measure(&load, workers, &stop))
        }
    };
    if let (true, Some(LadderEnd::Failed(error))) = (found.steps.is_empty(), &found.end) {
        return Err(failed(error));
    }
    Output::data(&if output.json { format!("{:#}", found.machine()) } else { found.text(output) })?;
    Ok(if matches!(found.end, Some(LadderEnd::Stopped)) { Ended::Interrupted } else { Ended::Fine })
}

fn failed(error: &CalibrateError) -> Failed {
    let whole = anyhow::anyhow!("{}", crate::exit::with_causes(error));
    match error {
        CalibrateError::Load(_) => Failed::usage(whole),
        CalibrateError::Descriptors { needed, .. } => Failed::usage(whole)
            .hint(format!("`ulimit -n {needed}` as root raises the limit, or ask for fewer streams")),
        CalibrateError::Failed { .. } | CalibrateError::NoAnswer => {
            Failed::measurement(whole).hint("is this machine busy with something else? fewer streams may do")
        }
        _ => Failed::measurement(whole),
    }
}

/// The loads that were measured, and why there are no more: `None` if only one was asked for.
struct Found {
    steps: Vec<Calibration>,
    end: Option<LadderEnd>,
}

impl Found {
    fn of(ladder: Ladder) -> Self {
        Self { steps: ladder.steps, end: Some(ladder.end) }
    }

    fn of_one(measured: std::result::Result<Calibration, CalibrateError>) -> Self {
        match measured {
            Ok(calibration) => Self { steps: vec![calibration], end: None },
            Err(CalibrateError::Stopped) => Self { steps: Vec::new(), end: Some(LadderEnd::Stopped) },
            Err(error) => Self { steps: Vec::new(), end: Some(LadderEnd::Failed(error)) },
        }
    }

    fn largest_kept(&self) -> Option<&Calibration> {
        calibrate::largest_kept(&self.steps)
    }

    fn machine(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(step).collect();
        let end = self.end.as_ref().map(|end| match end {
            LadderEnd::NotKept => "not_kept",
            LadderEnd::NoHigherStep => "no_higher_step",
            LadderEnd::Failed(_) => "failed",
            LadderEnd::Stopped => "stopped",
        });
        let error = match &self.end {
            Some(LadderEnd::Failed(error)) => Some(crate::exit::with_causes(error)),
            _ => None,
        };
        json!({
            "steps": steps,
            "largest_kept": self.largest_kept().map(step),
            "kept_itl_p99_ms": KEPT_ITL_MS,
            "server_on_time_p99_ms": ON_TIME_MS,
            "end": end,
            "error": error,
        })
    }

    fn text(&self, output: Output) -> String {
        let mut text = table(&self.steps, output);
        let mut add = |message, values: &[(&str, &str)]| text.extend([&output.text(message, values), "\n"]);
        add(Console::CalibrateHow, &[]);
        if let Some(end) = &self.end {
            let limit = KEPT_ITL_MS.to_string();
            match self.largest_kept() {
                Some(kept) => {
                    let (streams, events) = (kept.streams.to_string(), format!("{:.0}", kept.token_events_s));
                    let values = [("limit", &*limit), ("streams", &streams), ("events", &events)];
                    add(Console::CalibrateLargest, &values);
                }
                None => add(Console::CalibrateNoneKept, &[("limit", &limit)]),
            }
            match end {
                LadderEnd::NoHigherStep => add(Console::CalibrateNoHigher, &[]),
                LadderEnd::Failed(error) => {
                    add(Console::CalibrateEnded, &[("error", &crate::exit::with_causes(error))]);
                }
                LadderEnd::NotKept | LadderEnd::Stopped => {}
            }
        }
        if self.steps.last().is_some_and(|step| calibrate::verdict(step) == Verdict::CannotTell) {
            add(Console::CalibrateCannotTell, &[("limit", &ON_TIME_MS.to_string())]);
        }
        text
    }
}

fn step(calibration: &Calibration) -> Value {
    let verdict = match calibrate::verdict(calibration) {
        Verdict::Kept => "kept",
        Verdict::ClientLate => "client_late",
        Verdict::CannotTell => "cannot_tell",
    };
    let mut step = serde_json::to_value(calibration).expect("invariant: bundle types serialise");
    step["verdict"] = json!(verdict);
    step
}

/// One line a load, columns aligned, numbers to the right.
fn table(steps: &[Calibration], output: Output) -> String {
    let say = |message| output.text(message, &[]);
    let of = |message, percentile| output.text(message, &[("percentile", percentile)]);
    let head = vec![
        say(Console::CalibrateStreams),
        say(Console::CalibrateEvents),
        say(Console::CalibrateAnswers),
        of(Console::CalibrateTtft, "p50"),
        of(Console::CalibrateTtft, "p99"),
        of(Console::CalibrateItl, "p50"),
        of(Console::CalibrateItl, "p99"),
        say(Console::CalibrateServer),
        say(Console::CalibrateVerdict),
    ];
    let rows = steps.iter().map(|step| {
        let verdict = match calibrate::verdict(step) {
            Verdict::Kept => Console::CalibrateVerdictKept,
            Verdict::ClientLate => Console::CalibrateVerdictLate,
            Verdict::CannotTell => Console::CalibrateVerdictUnknown,
        };
        let millis = |ms: f64| format!("{ms:.3}");
        vec![
            step.streams.to_string(),
            format!("{:.0}", step.token_events_s),
            step.samples.to_string(),
            millis(step.ttft_added_ms.p50),
            millis(step.ttft_added_ms.p99),
            millis(step.itl_added_ms.p50),
            millis(step.itl_added_ms.p99),
            millis(step.server_late_p99_ms),
            say(verdict),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0)).collect();
    let lines = rows.iter().map(|row| {
        let (verdict, numbers) = row.split_last().expect("invariant: a row has cells");
        let cells = numbers.iter().zip(&widths);
        let padded = cells.map(|(cell, wanted)| format!("{}{cell}  ", " ".repeat(wanted - width(cell))));
        format!("{}{verdict}\n", padded.collect::<String>())
    });
    lines.collect()
}

/// Columns of a terminal: Chinese characters take two.
fn width(text: &str) -> usize {
    text.chars().map(|c| if ('\u{2e80}'..='\u{ffef}').contains(&c) { 2 } else { 1 }).sum()
}
