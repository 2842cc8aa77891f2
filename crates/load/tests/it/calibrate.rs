//! Calibration: that every answer is joined to what the server did, and that the figures can be true. How small they are
//! is this machine's matter, and no test's.

use std::sync::Arc;

use kneepoint_load::StopSignal;
use kneepoint_load::calibrate::{self, CalibrateError, CalibrationLoad, EVENTS_PER_STREAM, LadderEnd, LadderProgress};
use kneepoint_model::Plan;
use kneepoint_model::bundle::Calibration;
use kneepoint_model::plan::ResolveContext;

fn go_on() -> Arc<StopSignal> {
    Arc::new(StopSignal::default())
}

fn plan(load: &str) -> Plan {
    let text = format!(
        "{{kneepoint: 1, model: {{id: m}}, platforms: {{p: {{url: 'http://127.0.0.1:1'}}}}, \
         workloads: {{w: {{input: 4, output: 50}}}}, load: [{load}]}}"
    );
    let context = ResolveContext { base_dir: std::path::Path::new("/"), env: &|_| None };
    kneepoint_model::plan::resolve("test", &text, &context).expect("a good plan")
}

/// What holds on any machine: the client sees nothing before it was written, within the error of the mapped clock.
#[track_caller]
fn assert_sane(found: &Calibration) {
    assert!(found.ttft_added_ms.p50 > -0.5 && found.ttft_added_ms.p50 <= found.ttft_added_ms.p99, "{found:?}");
    assert!(found.itl_added_ms.p50 >= 0.0 && found.itl_added_ms.p50 <= found.itl_added_ms.p99, "{found:?}");
    assert!(found.server_late_p99_ms > 0.0, "{found:?}");
}

#[test]
fn every_answer_is_joined_to_what_the_server_wrote() {
    let load = CalibrationLoad { streams: 8, token_events_s: 400.0, seconds: 1.0 };
    let found = calibrate::measure(&load, 1, &go_on()).expect("measures");
    assert_eq!(found.streams, 8);
    // Each stream begins an answer of two events every 40 ms at the soonest; a busy machine begins fewer.
    assert!(found.samples >= 8 && found.samples <= 8 * 26, "{found:?}");
    assert!(found.token_events_s > 0.0 && found.token_events_s < 400.0 * 1.2, "{found:?}");
    assert_sane(&found);
}

#[test]
fn several_workers_share_the_streams() {
    let load = CalibrationLoad { streams: 32, token_events_s: 1600.0, seconds: 0.5 };
    let found = calibrate::measure(&load, 3, &go_on()).expect("measures");
    assert!(found.samples >= 32, "{found:?}");
    assert_sane(&found);
}

#[test]
fn a_stopped_calibration_has_no_figures() {
    let stop = go_on();
    stop.request();
    let load = CalibrationLoad { streams: 2, token_events_s: 100.0, seconds: 5.0 };
    assert!(matches!(calibrate::measure(&load, 1, &stop), Err(CalibrateError::Stopped)));
    let plan = plan("{concurrency: {sweep: [2]}}");
    assert!(matches!(calibrate::for_plan(&plan, &plan.points(), 1, &stop), Err(CalibrateError::Stopped)));
}

#[test]
fn a_plan_is_calibrated_at_its_largest_load() {
    let largest = |load: &str| {
        let plan = plan(load);
        calibrate::planned_load(&plan, &plan.points()).expect("a load").streams
    };
    assert_eq!(largest("{concurrency: {sweep: [1, 24, 3]}}"), 24);
    // Half a second and 50 tokens at 50/s: 1.5 s in flight.
    assert_eq!(largest("{rate: {sweep: [10, 20]}}"), 30);
    assert_eq!(largest("{rate: {sweep: [5000]}}"), 1000);

    let plan = plan("{concurrency: {sweep: [4]}}");
    let found = calibrate::for_plan(&plan, &plan.points(), 1, &go_on()).expect("measures").expect("a load");
    assert_eq!(found.streams, 4);
    assert!(found.samples >= 4 && found.token_events_s <= 4.0 * EVENTS_PER_STREAM * 1.2, "{found:?}");
    assert_sane(&found);
}

#[test]
fn the_ladder_stops_when_told_and_keeps_what_it_has() {
    let stop = go_on();
    let mut told = 0;
    let ladder = calibrate::limit(1, &stop, &mut |progress| {
        if let LadderProgress::Measured(found) = progress {
            told += 1;
            assert_eq!(found.streams, 16);
            stop.request();
        }
    });
    assert!(told >= 1 && ladder.steps.len() <= 1);
    // A machine that kept not even sixteen streams the first time is asked once more, which the stop then forbids.
    assert!(matches!(ladder.end, LadderEnd::Stopped | LadderEnd::NotKept), "{:?}", ladder.end);
}
