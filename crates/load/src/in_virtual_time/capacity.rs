//! What ends a point, a sweep and a run, and the search, against servers whose capacity is known.

use kneepoint_model::Nanos;
use kneepoint_model::bundle::{LimitKind, PointEnd, SearchVerdict};

use super::world::Service;
use super::{plan, run};

/// Four at a time, 400 ms each: 10 requests a second and no more.
const TEN_PER_SECOND: Service = Service { servers: 4, token: Nanos::from_millis(100), tokens: 4 };

fn quiet() -> impl FnMut(Nanos) {
    |_| {}
}

#[test]
fn a_point_beyond_the_capacity_is_ended_early_and_one_below_is_not() {
    let plan = plan("load:\n  - rate: {sweep: [9, 13], for: 300s, warm_up: 5s, drain: 1m}\n");
    let left = run(&plan, TEN_PER_SECOND, &mut quiet());
    let window = |n: usize| left.ended[n].window_end.saturating_sub(left.ended[n].window_start);
    assert_eq!((left.ended[0].end, window(0)), (PointEnd::Planned, Nanos::from_secs(300)));
    assert_eq!(left.ended[1].end, PointEnd::OverSaturated);
    assert!(window(1) < Nanos::from_secs(90), "{}", window(1));
    // Counted by what was wanted until the end, not by the plan.
    assert!((left.ended[1].scheduled as f64 - window(1).as_secs_f64() * 13.0).abs() <= 1.0, "{:?}", left.ended[1]);
    assert_eq!(left.ended[1].unsent, 0);
}

#[test]
fn a_point_that_may_saturate_is_held() {
    let plan = plan("load:\n  - rate: {sweep: [13], for: 120s, warm_up: 5s, drain: 1m, end_when_saturated: false}\n");
    let left = run(&plan, TEN_PER_SECOND, &mut quiet());
    assert_eq!((left.ended[0].end, left.ended[0].scheduled), (PointEnd::Planned, 120 * 13));
}

/// The search brackets the capacity that the queue has by construction.
#[test]
fn a_search_finds_the_capacity() {
    let plan = plan(
        "load:\n  - search: {slo: fast, from: 1, up_to: 64, tolerance: 5%, for: 60s, at_most: 20m, warm_up: 5s, drain: 1m}\n\
         slo:\n  fast: {ttft: 500ms, share: 95%}\n",
    );
    let left = run(&plan, TEN_PER_SECOND, &mut quiet());
    let steps: Vec<_> = left.ended.iter().map(|ended| ended.search.expect("a step").verdict).collect();
    assert_eq!(steps[..5], {
        use SearchVerdict::{Meets, Misses};
        [Meets, Meets, Meets, Meets, Misses]
    });
    assert_eq!(steps.last(), Some(&SearchVerdict::Meets), "the answer is confirmed: {steps:?}");
    let rates: Vec<f64> = left.ended.iter().map(|ended| ended.scheduled as f64 / window_s(ended)).collect();
    let met = rates.iter().zip(&steps).filter(|(_, step)| **step == SearchVerdict::Meets).map(|(rate, _)| *rate);
    let missed = rates.iter().zip(&steps).filter(|(_, step)| **step == SearchVerdict::Misses).map(|(rate, _)| *rate);
    let (best, worst) = (met.fold(0.0, f64::max), missed.fold(f64::INFINITY, f64::min));
    assert!((9.3..=10.1).contains(&best) && worst >= 10.0 && worst / best < 1.08, "{best} {worst}: {rates:?}");
}

fn window_s(ended: &kneepoint_model::bundle::PointEnded) -> f64 {
    ended.window_end.saturating_sub(ended.window_start).as_secs_f64()
}

/// Concurrency past four serves nobody faster.
#[test]
fn a_sweep_stops_at_its_plateau() {
    let plan = plan(
        "load:\n  - concurrency: {sweep: [1, 2, 4, 8, 16], for: 60s, at_most: 60s, warm_up: 5s, stop_at_plateau: 5%}\n",
    );
    let left = run(&plan, TEN_PER_SECOND, &mut quiet());
    assert_eq!(left.ended.len(), 4, "8 shows the plateau");
    assert_eq!(left.skipped.into_iter().collect::<Vec<_>>(), [4]);
}

#[test]
fn a_cap_holds_arrivals_back_and_says_so() {
    let plan = plan("load:\n  - rate: {sweep: [20], for: 60s, warm_up: 5s, drain: 1m, max_in_flight: 4}\n");
    let left = run(&plan, TEN_PER_SECOND, &mut quiet());
    let ended = left.ended[0];
    let measured = left.records().filter(|record| record.intended >= ended.window_start).count() as u64;
    assert_eq!((ended.scheduled, ended.unsent), (1200, 0));
    assert_eq!(measured + ended.dropped, 1200, "each is sent or counted as dropped");
    assert!(ended.dropped > 500 && ended.held_back > 0 && ended.held_back <= measured, "{ended:?}");
    let mut spans: Vec<(u64, i64)> =
        left.records().flat_map(|record| [(record.dispatched.0, 1), (record.closed.expect("ended").0, -1)]).collect();
    spans.sort_unstable();
    let most = spans.iter().scan(0, |open, (_, step)| {
        *open += step;
        Some(*open)
    });
    assert_eq!(most.max(), Some(4));
}

/// Each limit ends the run where it says, and what was sent until then is whole.
#[test]
fn limits_end_a_run() {
    let held = "load:\n  - rate: {sweep: [5, 6], for: 600s, warm_up: 5s, drain: 1m}\n";
    let cases: [(&str, LimitKind, f64, Option<usize>); 4] = [
        ("limits: {requests: 100}\n", LimitKind::Requests, 100.0, Some(100)),
        // 4 tokens in and 4 out each.
        ("limits: {tokens: 1000}\n", LimitKind::Tokens, 1000.0, Some(125)),
        // 4 output tokens at 10 USD a million each.
        ("limits: {spend: 0.01 USD}\n", LimitKind::Spend, 0.01, Some(250)),
        ("limits: {time: 60s}\n", LimitKind::Time, 60.0, None),
    ];
    for (limits, kind, allowed, sent) in cases {
        let left = run(&plan(&format!("{held}{limits}")), TEN_PER_SECOND, &mut quiet());
        let reached = left.limit.expect(limits);
        assert_eq!((reached.limit, reached.allowed, left.ended.len()), (kind, allowed, 1));
        assert_eq!(left.ended[0].end, PointEnd::Limit);
        let records: Vec<_> = left.records().collect();
        assert!(records.iter().all(|record| record.outcome.is_ok()), "what was open is waited for");
        match sent {
            Some(sent) => assert_eq!(records.len(), sent, "{limits}"),
            // At five a second from the start of the warm-up, told within a look.
            None => assert!((300..=306).contains(&records.len()), "{}", records.len()),
        }
    }
}
