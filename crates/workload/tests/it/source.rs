//! A source made from a plan.

use std::path::Path;

use kneepoint_model::plan::{Level, Plan, ResolveContext, resolve};
use kneepoint_model::request::RequestSource;
use kneepoint_model::units::{Nanos, Tokens};
use kneepoint_workload::{ScheduleError, WorkloadError, source};

/// A plan with two workloads, so eight points, four of them open loop.
fn plan(tokenizer: Option<&str>, rate: &str, duration: &str) -> Plan {
    let tokenizer = tokenizer.map_or(String::new(), |path| format!(", tokenizer: {path}"));
    let text = format!(
        "kneepoint: 1
name: test
seed: 7
model: {{id: tiny{tokenizer}}}
platforms:
  local: {{dialect: openai-chat, url: 'http://127.0.0.1:8000'}}
workloads:
  short: {{input: 3, output: 16}}
  long: {{input: 300, output: 32}}
load:
  - rate: {{sweep: [{rate}, 20], arrival: poisson, for: {duration}, warm_up: 5s, min_samples: 10}}
  - concurrency: {{sweep: [1, 4], for: 30s}}
"
    );
    let context = ResolveContext { base_dir: Path::new(env!("CARGO_MANIFEST_DIR")), env: &|_| None };
    resolve("plan.yaml", &text, &context).expect("a good plan")
}

#[test]
fn every_point_has_its_lengths_and_open_loops_their_schedule() {
    let plan = plan(Some("tests/fixtures/bpe.json"), "10", "30s");
    let source = source(&plan).expect("a source");
    let points = plan.points();
    assert_eq!(points.len(), 8);
    for (i, point) in points.iter().enumerate() {
        let workload = &plan.workloads[point.workload];
        let prompt = source.prompt(i, point, 5);
        assert_eq!((prompt.target_input, prompt.output), (workload.input, workload.output));
        assert_eq!(prompt.local_input, Some(workload.input));
        assert_eq!(source.count(&prompt.text), prompt.local_input);
        match (point.level, source.schedule(i, point)) {
            (Level::Rate { .. }, Some(schedule)) => {
                assert_eq!(schedule.window_start, Nanos::from_secs(5));
                assert_eq!(Some(schedule), source.schedule(i, point));
            }
            (Level::Concurrency(_), None) => {}
            (level, schedule) => panic!("{level:?} has {schedule:?}"),
        }
    }
    let first = |i: usize| source.arrivals(i, &points[i]).take(20).collect::<Vec<_>>();
    assert_ne!(first(0), first(4), "the same level with another workload is another point");
}

#[test]
fn a_source_can_be_shared_between_threads() {
    fn shareable<T: RequestSource + 'static>(source: T) -> std::sync::Arc<dyn RequestSource> {
        std::sync::Arc::new(source)
    }
    let plan = plan(None, "10", "30s");
    let source = shareable(source(&plan).expect("a source"));
    let point = &plan.points()[0];
    assert_eq!(source.count("one two"), None);
    assert_eq!(source.prompt(0, point, 0).local_input, None);
    assert_eq!(source.prompt(0, point, 0).target_input, Tokens(3));
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let refused = source(&plan(Some("nowhere.json"), "10", "30s")).expect_err("no tokenizer");
    assert!(refused.to_string().contains("nowhere.json"), "{refused}");
    let refused = source(&plan(None, "90000", "10h")).expect_err("too many");
    assert!(matches!(refused, WorkloadError::Schedule { source: ScheduleError::TooManyArrivals, .. }));
    assert_eq!(refused.to_string(), "laying out the arrivals at 90000/s for 10h");
    // Its texts have two tokens at least, so three can be asked for, but not one.
    assert!(source(&plan(Some("tests/fixtures/pairs.json"), "10", "30s")).is_ok());
    let mut one_token = plan(Some("tests/fixtures/pairs.json"), "10", "30s");
    one_token.workloads[0].input = Tokens(1);
    let refused = source(&one_token).expect_err("too short");
    assert_eq!(
        refused.to_string(),
        "workload 'short' asks for 1 input tokens, but the tokenizer makes at least 2 of any text"
    );
}
