//! Searches that could find nothing: the whole text that a user reads.

use insta::assert_snapshot;

use crate::bad_plans::{refused, with};

/// The good plan with a search in place of its sweep.
#[track_caller]
fn search(fields: &str) -> String {
    refused(with("rate: {sweep: [1, 2], for: 10s}", &format!("search: {{{fields}}}")))
}

#[test]
fn a_search_for_limits_that_are_not_there() {
    assert_snapshot!(search("slo: slow, from: 1/s, up_to: 100/s"), @r#"
    plan.yaml:11:19: a search for what meets a limit that the plan does not have
      11 |   - search: {slo: slow, from: 1/s, up_to: 100/s}
         |                   ^^^^
      found: slow
      expected: `fast`

    1 problem in plan.yaml
    "#);
    let none = with("slo:\n  fast: {ttft: 500ms, share: 99%}\n", "");
    let none = none.replace("rate: {sweep: [1, 2], for: 10s}", "search: {slo: slow, from: 1/s, up_to: 100/s}");
    assert_snapshot!(refused(none), @r#"
    plan.yaml:11:19: a search for what meets a limit that the plan does not have
      11 |   - search: {slo: slow, from: 1/s, up_to: 100/s}
         |                   ^^^^
      found: slow
      hint: add it: `slo: {slow: {ttft: 500ms, share: 95%}}`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_search_without_bounds() {
    assert_snapshot!(search("slo: fast, at_most: 100/s"), @r#"
    plan.yaml:11:5: `from` is missing in `load[0].search`
      11 |   - search: {slo: fast, at_most: 100/s}
         |     ^^^^^^
      expected: a value such as `1/s`

    plan.yaml:11:5: `up_to` is missing in `load[0].search`
      11 |   - search: {slo: fast, at_most: 100/s}
         |     ^^^^^^
      expected: a value such as `1/s`

    plan.yaml:11:34: `at_most` is the longest time a rate is held, and this is a rate
      11 |   - search: {slo: fast, at_most: 100/s}
         |                                  ^^^^^
      found: 100/s
      hint: the highest rate tried is `up_to: 100/s`

    3 problems in plan.yaml
    "#);
}

#[test]
fn a_search_with_bounds_that_are_none() {
    assert_snapshot!(search("slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0"), @r#"
    plan.yaml:11:31: `from` does not fit
      11 |   - search: {slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0}
         |                               ^^^^^^
      found: 10/min
      expected: requests per second, such as `2/s` or `0.5/s`
      hint: rates are counted by the second

    plan.yaml:11:46: `up_to` is out of range
      11 |   - search: {slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0}
         |                                              ^
      found: 0
      expected: requests per second, at least one a day and at most 100000

    plan.yaml:11:60: `tolerance` is out of range
      11 |   - search: {slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0}
         |                                                            ^^^^^
      found: 0.01%
      expected: a share, at least 0.1% and below 100%

    plan.yaml:11:76: `confirm` is out of range
      11 |   - search: {slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0}
         |                                                                            ^^
      found: 11
      expected: times, from 0 to 10

    plan.yaml:11:95: `max_in_flight` is out of range
      11 |   - search: {slo: fast, from: 10/min, up_to: 0, tolerance: 0.01%, confirm: 11, max_in_flight: 0}
         |                                                                                               ^
      found: 0
      expected: requests in flight, from 1 to 100000

    5 problems in plan.yaml
    "#);
}

#[test]
fn a_search_downwards() {
    assert_snapshot!(search("slo: fast, from: 4/s, up_to: 2/s"), @r#"
    plan.yaml:11:43: `up_to` is below `from`, which is 4/s
      11 |   - search: {slo: fast, from: 4/s, up_to: 2/s}
         |                                           ^^^
      found: 2/s

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_search_of_which_no_step_could_be_decided() {
    assert_snapshot!(search("slo: fast, from: 1/s, up_to: 100/s, for: 30s, at_most: 1m"), @r#"
    plan.yaml:11:69: at 1/s a window of at most 1m holds 60 requests, and it takes 381 to show that 99% of them meet `fast`
      11 |   - search: {slo: fast, from: 1/s, up_to: 100/s, for: 30s, at_most: 1m}
         |                                                                     ^^
      found: 1m
      hint: set `at_most` to 381s or longer, or set `from` to a higher rate, or lower the `share` of `fast`

    1 problem in plan.yaml
    "#);
    assert_snapshot!(search("slo: fast, from: 1/s, up_to: 100/s, min_samples: 100"), @r#"
    plan.yaml:11:63: 100 requests are too few: it takes 381 to show that 99% of them meet `fast`
      11 |   - search: {slo: fast, from: 1/s, up_to: 100/s, min_samples: 100}
         |                                                               ^^^
      found: 100
      hint: leave it out, or ask for more

    1 problem in plan.yaml
    "#);
    assert_snapshot!(search("slo: fast, from: 0.0001/s, up_to: 100/s"), @r#"
    plan.yaml:11:31: at 0.0001/s a window of at most 168h holds 60 requests, and it takes 381 to show that 99% of them meet `fast`
      11 |   - search: {slo: fast, from: 0.0001/s, up_to: 100/s}
         |                               ^^^^^^^^
      found: 0.0001/s
      hint: set `from` to a higher rate, or lower the `share` of `fast`

    1 problem in plan.yaml
    "#);
    assert_snapshot!(search("slo: fast, from: 1/s, up_to: 100/s, at_most: 10m, min_samples: 1000"), @r#"
    plan.yaml:11:77: at 1 requests per second a window of at most 10m holds 600 requests
      11 |   - search: {slo: fast, from: 1/s, up_to: 100/s, at_most: 10m, min_samples: 1000}
         |                                                                             ^^^^
      found: 1000
      hint: ask for fewer samples, or set a longer `at_most`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_search_for_what_no_number_of_requests_can_show() {
    let all = with("99%", "100%").replace("rate: {sweep: [1, 2], for: 10s}", "search: {slo: fast, from: 1, up_to: 9}");
    assert_snapshot!(refused(all), @r#"
    plan.yaml:11:19: `fast` asks for all requests to be good, which no number of them can show
      11 |   - search: {slo: fast, from: 1, up_to: 9}
         |                   ^^^^
      found: fast
      hint: give it a `share` below 100%: 99% takes 381 requests at each rate, 99.9% takes 3838

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_search_beside_a_sweep() {
    assert_snapshot!(refused(with("  - rate", "  - search: {slo: fast, from: 1, up_to: 9}\n    rate")), @r#"
    plan.yaml:11:5: a load has both `rate` and `search`
      11 |   - search: {slo: fast, from: 1, up_to: 9}
         |     ^
      expected: one of the two
      hint: make an entry of each, with its own dash

    1 problem in plan.yaml
    "#);
    let all = with("  - rate", "  - search: {slo: fast, from: 1, up_to: 9}\n    concurrency: {sweep: 1}\n    rate");
    assert!(refused(all).contains("a load has `rate`, `concurrency`, `search` at once"));
}

#[test]
fn a_search_has_no_plateau_to_stop_at() {
    assert_snapshot!(search("slo: fast, from: 1, up_to: 9, stop_at_plateau: 5%"), @r#"
    plan.yaml:11:44: unknown key `stop_at_plateau` in `load[0].search`
      11 |   - search: {slo: fast, from: 1, up_to: 9, stop_at_plateau: 5%}
         |                                            ^^^^^^^^^^^^^^^
      expected: one of `slo`, `from`, `up_to`, `tolerance`, `confirm`, `arrival`, `max_in_flight`, `end_when_saturated`, `for`, `min_samples`, `warm_up`, `drain`, `at_end`, `at_most`

    1 problem in plan.yaml
    "#);
}

#[test]
fn what_is_wrong_with_limits_is_not_said_of_a_search_as_well() {
    let held = "search: {slo: fast, from: 1, up_to: 9, for: 10s, at_most: 1m}";
    for bad in ["{ttft: 500, share: 10%}", "{ttft: 500ms, share: 99}"] {
        let text = with("rate: {sweep: [1, 2], for: 10s}", held).replace("{ttft: 500ms, share: 99%}", bad);
        let shown = refused(text);
        assert!(shown.ends_with("1 problem in plan.yaml"), "{shown}");
    }
}
