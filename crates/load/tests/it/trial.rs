//! Runs a small plan against a server and reads the bundle back.

use std::path::Path;
use std::sync::Arc;

use kneepoint_load::{Measured, Progress, RunError, RunOptions, StopSignal};
use kneepoint_model::plan::{Level, Point, ResolveContext};
use kneepoint_model::{Arrivals, Nanos, Plan, PointSchedule, Prompt, Record, RequestSource, Tokens};

/// Prompts that say whether they are the probe's, and constant rates.
#[derive(Debug)]
pub(crate) struct Numbered;

impl RequestSource for Numbered {
    fn prompt(&self, point: usize, _: &Point, index: u64) -> Prompt {
        let text = if index == u64::MAX { "probe-me".into() } else { format!("request {point} {index}") };
        Prompt { text: text.into(), target_input: Tokens(4), local_input: None, output: Tokens(1) }
    }

    fn count(&self, _text: &str) -> Option<Tokens> {
        None
    }

    fn schedule(&self, number: usize, point: &Point) -> Option<PointSchedule> {
        let Level::Rate { .. } = point.level else { return None };
        let window_start = point.hold.warm_up;
        let window_end = window_start + point.hold.at_least;
        let before = |end: Nanos| self.arrivals(number, point).take_while(|at| *at < end).count() as u64;
        let (arrivals, warm_up) = (before(window_end), before(window_start));
        Some(PointSchedule { arrivals, measured: arrivals - warm_up, window_start, window_end })
    }

    fn arrivals(&self, _: usize, point: &Point) -> Arrivals {
        let Level::Rate { rate, .. } = point.level else { return Box::new(std::iter::empty()) };
        Box::new((0..).map(move |i| Nanos::from_secs_f64(f64::from(i) / rate.get())))
    }
}

pub(crate) struct Trial {
    pub(crate) measured: Measured,
    pub(crate) records: Vec<Record>,
    _directory: tempfile::TempDir,
}

/// The plan, which must be a good one.
pub(crate) fn resolve(plan: &str) -> Plan {
    let env = |name: &str| (name == "TEST_KEY").then(|| "sk-very-secret".to_owned());
    let context = ResolveContext { base_dir: Path::new("."), env: &env };
    kneepoint_model::plan::resolve("test", plan, &context).expect("a good plan")
}

/// Resolves the plan and runs it into a temporary folder.
pub(crate) fn run(plan: &str) -> Result<Trial, RunError> {
    run_watched(plan, &Arc::new(StopSignal::default()), &mut |_| {})
}

pub(crate) fn run_watched(
    plan: &str,
    stop: &Arc<StopSignal>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Trial, RunError> {
    let source: Arc<dyn RequestSource> = Arc::new(Numbered);
    run_from(plan, &source, stop, progress)
}

/// The same, with requests from elsewhere.
pub(crate) fn run_from(
    plan: &str,
    source: &Arc<dyn RequestSource>,
    stop: &Arc<StopSignal>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Trial, RunError> {
    let plan = resolve(plan);
    let directory = tempfile::tempdir().expect("a temporary folder");
    let options = RunOptions {
        directory: directory.path().join("bundle"),
        plan_yaml: plan.to_yaml(),
        tool: "test".into(),
        git: None,
        workers: None,
        calibrate: false,
    };
    let measured = kneepoint_load::run(&plan, source, options, stop, progress)?;
    let bundle = kneepoint_store::Bundle::open(&measured.directory).expect("a bundle");
    let records = bundle.records().expect("opens").map(|record| record.expect("a record")).collect();
    Ok(Trial { measured, records, _directory: directory })
}
