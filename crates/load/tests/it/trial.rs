//! Runs a small plan against a server and reads the bundle back.

use std::path::Path;
use std::sync::Arc;

use kneepoint_load::{Measured, Progress, RunError, RunOptions, StopSignal};
use kneepoint_model::plan::{Level, ResolveContext};
use kneepoint_model::{Nanos, Plan, PointSchedule, Prompt, Record, RequestSource, Tokens};

/// Prompts that say whether they are the probe's, and constant rates.
#[derive(Debug)]
struct Numbered {
    plan: Plan,
}

impl RequestSource for Numbered {
    fn prompt(&self, point: usize, index: u64) -> Prompt {
        let text = if index == u64::MAX { "probe-me".into() } else { format!("request {point} {index}") };
        Prompt { text: text.into(), target_input: Tokens(4), local_input: None, output: Tokens(1) }
    }

    fn count(&self, _text: &str) -> Option<Tokens> {
        None
    }

    fn schedule(&self, point: usize) -> Option<PointSchedule> {
        let point = self.plan.points()[point];
        let Level::Rate { rate, .. } = point.level else { return None };
        let window_end = point.hold.warm_up + point.hold.at_least;
        let at = (0..).map(|i| Nanos::from_secs_f64(f64::from(i) / rate.get()));
        let arrivals = at.take_while(|at| *at < window_end).collect();
        Some(PointSchedule { arrivals, window_start: point.hold.warm_up, window_end })
    }
}

pub(crate) struct Trial {
    pub(crate) measured: Measured,
    pub(crate) records: Vec<Record>,
    _directory: tempfile::TempDir,
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
    let env = |name: &str| (name == "TEST_KEY").then(|| "sk-very-secret".to_owned());
    let context = ResolveContext { base_dir: Path::new("."), env: &env };
    let plan = kneepoint_model::plan::resolve("test", plan, &context).expect("a good plan");
    let source: Arc<dyn RequestSource> = Arc::new(Numbered { plan: plan.clone() });
    let directory = tempfile::tempdir().expect("a temporary folder");
    let options = RunOptions {
        directory: directory.path().join("bundle"),
        plan_yaml: plan.to_yaml(),
        tool: "test".into(),
        git: None,
        workers: None,
    };
    let measured = kneepoint_load::run(&plan, &source, options, stop, progress)?;
    let bundle = kneepoint_store::Bundle::open(&measured.directory).expect("a bundle");
    let records = bundle.records().expect("opens").map(|record| record.expect("a record")).collect();
    Ok(Trial { measured, records, _directory: directory })
}
