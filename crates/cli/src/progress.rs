//! Progress: a bar with an ETA on a terminal, plain lines elsewhere, nothing when quiet.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kneepoint_load::progress::Phase;
use kneepoint_load::{PointProgress, Progress};
use kneepoint_model::bundle::PointEnd;
use kneepoint_model::plan::{Level, Point};
use kneepoint_model::{Nanos, Plan};
use kneepoint_report::Console;

use crate::output::Output;

/// Where there is no terminal, a point that takes long says so this often.
const LINE_EVERY: Nanos = Nanos::from_secs(15);

/// Shows the progress of one run.
pub(crate) struct Display<'a> {
    output: Output,
    plan: &'a Plan,
    /// Those of the plan, then those that searches chose.
    points: Vec<Point>,
    /// The step of its search that each of the latter is.
    steps: Vec<usize>,
    bar: Option<ProgressBar>,
    /// Point and elapsed time of the last plain line.
    told: Option<(u32, Nanos)>,
}

impl<'a> Display<'a> {
    pub(crate) fn new(output: Output, plan: &'a Plan) -> Self {
        let points = plan.points();
        let bar = (output.terminal && !output.quiet).then(|| {
            let total = points.iter().map(|point| millis(expected(point))).sum();
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
            let template = "{bar:24} {elapsed_precise}  {prefix}  {wide_msg}";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { output, plan, points, steps: Vec::new(), bar, told: None }
    }

    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Probing { platform } => self.line(&self.output.text(Console::Probing, &[("platform", platform)])),
            Progress::Preflight(found) => {
                self.line(&self.output.text(Console::PreflightFound, &[("found", &found.to_string())]));
            }
            Progress::Calibrating => self.line(&self.output.text(Console::Calibrating, &[])),
            Progress::NotCalibrated(error) => {
                let whole = crate::exit::with_causes(error);
                self.line(&self.output.text(Console::NotCalibrated, &[("error", &whole)]));
            }
            Progress::Searching { point, at, step } => {
                // Searches follow the plan's points, one step after another.
                if self.points.len() == *point as usize {
                    self.points.push(**at);
                    self.steps.push(*step);
                }
                if let Some(bar) = &self.bar {
                    bar.inc_length(millis(expected(at)));
                }
            }
            Progress::Point(state) => self.point(state),
            Progress::PointDone { ended } => {
                let window = ended.window_end.saturating_sub(ended.window_start).as_secs_f64();
                let message = match ended.end {
                    PointEnd::Planned => Console::PointDone,
                    PointEnd::OverSaturated => Console::PointSaturated,
                    PointEnd::Limit => Console::PointAtLimit,
                    PointEnd::Stopped => Console::PointInterrupted,
                };
                let values = [
                    ("point", &*self.name(ended.point)),
                    ("requests", &ended.scheduled.to_string()),
                    ("seconds", &format!("{window:.1}")),
                ];
                self.line(&self.output.text(message, &values));
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => self.output.say(text),
        }
    }

    fn point(&mut self, state: &PointProgress) {
        let text = self.state(state);
        let seconds = self.remaining(state).as_secs_f64().ceil().to_string();
        if let Some(bar) = &self.bar {
            let done = self.points.iter().take(state.point as usize).map(|point| millis(expected(point))).sum::<u64>();
            bar.set_position(done + millis(state.elapsed.min(state.expected)));
            bar.set_prefix(self.output.text(Console::Eta, &[("seconds", &seconds)]));
            bar.set_message(text);
            return;
        }
        let is_due = self
            .told
            .is_none_or(|(point, elapsed)| point != state.point || state.elapsed.saturating_sub(elapsed) >= LINE_EVERY);
        if is_due && !matches!(state.phase, Phase::Preparing | Phase::Draining) {
            self.told = Some((state.point, state.elapsed));
            self.output.tell(Console::TimeLeft, &[("text", &text), ("seconds", &seconds)]);
        }
    }

    /// One point's state in words.
    fn state(&self, state: &PointProgress) -> String {
        let point = self.name(state.point);
        let message = match state.phase {
            Phase::Preparing => {
                let (made, wanted) = (state.dispatched.to_string(), state.ended.to_string());
                let values = [("point", &*point), ("made", &made), ("wanted", &wanted)];
                return self.output.text(Console::Preparing, &values);
            }
            Phase::WarmUp => Console::WarmUp,
            Phase::Measuring => Console::Measuring,
            Phase::Draining => Console::Draining,
        };
        let counts = [
            ("sent", &*state.dispatched.to_string()),
            ("ended", &state.ended.to_string()),
            ("failed", &state.failed.to_string()),
            ("in_flight", &state.in_flight.to_string()),
        ];
        let counts = self.output.text(Console::Counts, &counts);
        self.output.text(message, &[("point", &point), ("counts", &counts)])
    }

    fn remaining(&self, state: &PointProgress) -> Nanos {
        let here = match state.phase {
            Phase::Preparing => expected(&self.points[state.point as usize]),
            _ => state.expected.saturating_sub(state.elapsed),
        };
        self.points.iter().skip(state.point as usize + 1).map(expected).fold(here, |sum, next| sum + next)
    }

    fn name(&self, index: u32) -> String {
        let point = &self.points[index as usize];
        let level = match point.level {
            Level::Rate { rate, .. } => self.output.text(Console::LevelRate, &[("rate", &rate.to_string())]),
            Level::Concurrency(n) => self.output.text(Console::LevelConcurrency, &[("concurrency", &n.to_string())]),
        };
        let planned = self.points.len() - self.steps.len();
        let step = (index as usize).checked_sub(planned).map(|step| self.steps[step]);
        let values = [
            ("index", &*(index + 1).to_string()),
            ("total", &planned.to_string()),
            ("step", &step.unwrap_or_default().to_string()),
            ("platform", &self.plan.platforms[point.platform].name),
            ("workload", &self.plan.workloads[point.workload].name),
            ("level", &level),
        ];
        self.output.text(if step.is_some() { Console::SearchStep } else { Console::PointName }, &values)
    }
}

/// How long a point will take at least: warm-up and window; what it must drain is not known before.
pub(crate) fn expected(point: &Point) -> Nanos {
    let hold = &point.hold;
    let samples = match point.level {
        Level::Rate { rate, .. } => Nanos::from_secs_f64(hold.min_samples as f64 / rate.get()),
        Level::Concurrency(_) => Nanos::ZERO,
    };
    hold.warm_up + hold.at_least.max(samples.min(hold.at_most))
}

fn millis(span: Nanos) -> u64 {
    span.0 / 1_000_000
}
