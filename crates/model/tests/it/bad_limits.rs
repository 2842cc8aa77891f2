//! Limits, ends and versions that cannot be meant: the whole text that a user reads.

use insta::assert_snapshot;

use crate::bad_plans::{refused, with};

#[track_caller]
fn platform(fields: &str) -> String {
    refused(with("    url:", &format!("    {fields}\n    url:")))
}

#[test]
fn time_limits_beyond_the_total() {
    assert_snapshot!(platform("time_limits: {connect: 40s, first_token: 31s, between_chunks: 30001ms, total: 30s}"), @r#"
    plan.yaml:7:28: `connect` is longer than `total`, which is 30s
      7 |     time_limits: {connect: 40s, first_token: 31s, between_chunks: 30001ms, total: 30s}
        |                            ^^^
      found: 40s
      hint: set it shorter, or `total` longer

    plan.yaml:7:46: `first_token` is longer than `total`, which is 30s
      7 |     time_limits: {connect: 40s, first_token: 31s, between_chunks: 30001ms, total: 30s}
        |                                              ^^^
      found: 31s
      hint: set it shorter, or `total` longer

    plan.yaml:7:67: `between_chunks` is longer than `total`, which is 30s
      7 |     time_limits: {connect: 40s, first_token: 31s, between_chunks: 30001ms, total: 30s}
        |                                                                   ^^^^^^^
      found: 30001ms
      hint: set it shorter, or `total` longer

    3 problems in plan.yaml
    "#);
}

#[test]
fn a_time_limit_beyond_the_default_total() {
    assert_snapshot!(platform("time_limits: {first_token: 3m}"), @r#"
    plan.yaml:7:32: `first_token` is longer than `total`, which is 2m where the plan gives none
      7 |     time_limits: {first_token: 3m}
        |                                ^^
      found: 3m
      hint: set it shorter, or `total` longer

    1 problem in plan.yaml
    "#);
}

#[test]
fn time_limits_that_are_none() {
    assert_snapshot!(platform("time_limits: {connect: 10, first_token: 0s, between_chunk: 1s, total: 25h}"), @r#"
    plan.yaml:7:28: `connect` does not fit
      7 |     time_limits: {connect: 10, first_token: 0s, between_chunk: 1s, total: 25h}
        |                            ^^
      found: 10
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `10s` for seconds, `10ms` for milliseconds

    plan.yaml:7:45: `first_token` is out of range
      7 |     time_limits: {connect: 10, first_token: 0s, between_chunk: 1s, total: 25h}
        |                                             ^^
      found: 0s
      expected: from 1ms to 24h

    plan.yaml:7:49: unknown key `between_chunk` in `platforms.a.time_limits`
      7 |     time_limits: {connect: 10, first_token: 0s, between_chunk: 1s, total: 25h}
        |                                                 ^^^^^^^^^^^^^
      expected: one of `connect`, `first_token`, `between_chunks`, `total`
      hint: did you mean `between_chunks`?

    plan.yaml:7:75: `total` is out of range
      7 |     time_limits: {connect: 10, first_token: 0s, between_chunk: 1s, total: 25h}
        |                                                                           ^^^
      found: 25h
      expected: from 1ms to 24h

    4 problems in plan.yaml
    "#);
}

#[test]
fn both_names_of_the_total() {
    assert_snapshot!(platform("request_timeout: 1m\n    time_limits: {total: 1m}"), @r#"
    plan.yaml:7:5: both `request_timeout` and `total` in `time_limits` are given
      7 |     request_timeout: 1m
        |     ^^^^^^^^^^^^^^^
      hint: they mean the same: keep `total`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_time_limit_on_tokens_that_nobody_sees_come() {
    let unary = with("{input: 16, output: 8}", "{input: 16, output: 8, stream: false}").replace("ttft", "e2e");
    let limited = unary.replace("    url:", "    time_limits: {first_token: 1s, between_chunks: 1s}\n    url:");
    assert_snapshot!(refused(limited), @r#"
    plan.yaml:7:32: `first_token` can never be reached: no workload streams its answers
      7 |     time_limits: {first_token: 1s, between_chunks: 1s}
        |                                ^^
      found: 1s
      hint: limit `total` instead, or take `stream: false` out of a workload

    plan.yaml:7:52: `between_chunks` can never be reached: no workload streams its answers
      7 |     time_limits: {first_token: 1s, between_chunks: 1s}
        |                                                    ^^
      found: 1s
      hint: limit `total` instead, or take `stream: false` out of a workload

    2 problems in plan.yaml
    "#);
}

#[test]
fn a_drain_where_what_is_open_is_cut() {
    assert_snapshot!(refused(with("for: 10s", "for: 10s, drain: 5s, at_end: cancel")), @r#"
    plan.yaml:11:44: `drain` is given where `at_end` is `cancel`, which waits for nothing
      11 |   - rate: {sweep: [1, 2], for: 10s, drain: 5s, at_end: cancel}
         |                                            ^^
      found: 5s
      hint: take out one of the two

    1 problem in plan.yaml
    "#);
}

#[test]
fn an_end_that_is_none() {
    assert_snapshot!(refused(with("for: 10s", "for: 10s, at_end: cancle")), @r#"
    plan.yaml:11:45: `at_end` has no value `cancle`
      11 |   - rate: {sweep: [1, 2], for: 10s, at_end: cancle}
         |                                             ^^^^^^
      expected: one of `drain`, `cancel`
      hint: did you mean `cancel`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn no_requests_in_flight_at_all() {
    assert_snapshot!(refused(with("for: 10s", "for: 10s, max_in_flight: 0")), @r#"
    plan.yaml:11:52: `max_in_flight` is out of range
      11 |   - rate: {sweep: [1, 2], for: 10s, max_in_flight: 0}
         |                                                    ^
      found: 0
      expected: requests in flight, from 1 to 100000

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_limit_on_what_a_closed_loop_holds_already() {
    assert_snapshot!(refused(with("rate: {sweep: [1, 2], ", "concurrency: {sweep: [1, 2], max_in_flight: 1, ")), @r#"
    plan.yaml:11:34: unknown key `max_in_flight` in `load[0].concurrency`
      11 |   - concurrency: {sweep: [1, 2], max_in_flight: 1, for: 10s}
         |                                  ^^^^^^^^^^^^^
      expected: one of `sweep`, `stop_at_plateau`, `for`, `min_samples`, `warm_up`, `drain`, `at_end`, `at_most`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_limit_on_spending_without_prices() {
    let cloud = "  b: {url: 'http://h', price: {currency: EUR, per_request: 0.01}}\nworkloads:\n";
    let text = with("workloads:\n", cloud) + "limits: {spend: 2.50 USD}\n";
    assert_snapshot!(refused(text), @r#"
    plan.yaml:5:3: what platform `a` costs is not said, and `limits` has a `spend`
      5 |   a:
        |   ^
      hint: give it a `price: {currency: USD, per_hour: …}` (`per_hour: 0` if it costs nothing), or take `spend` out

    plan.yaml:8:42: the price is in EUR, and the `spend` of `limits` in USD
      8 |   b: {url: 'http://h', price: {currency: EUR, per_request: 0.01}}
        |                                          ^^^
      found: EUR
      hint: give both in one currency: no exchange rate is known here

    2 problems in plan.yaml
    "#);
}

#[test]
fn limits_that_cannot_be() {
    let limits = "limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}\n";
    assert_snapshot!(refused(with("slo:", &format!("{limits}slo:"))), @r#"
    plan.yaml:12:17: `spend` does not fit
      12 | limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}
         |                 ^^^^^
      found: 0 USD
      expected: an amount above 0 and its currency, such as `2.50 USD`

    plan.yaml:12:32: `tokens` is out of range
      12 | limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}
         |                                ^
      found: 0
      expected: from 1 to 1000000000000000

    plan.yaml:12:45: `requests` does not fit
      12 | limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}
         |                                             ^^^
      found: 1e3
      expected: a whole number, 0 or more

    plan.yaml:12:56: `time` does not fit
      12 | limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}
         |                                                        ^^
      found: 30
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `30s` for seconds, `30ms` for milliseconds

    plan.yaml:12:68: a limit on failures that can never be passed: all requests may fail
      12 | limits: {spend: 0 USD, tokens: 0, requests: 1e3, time: 30, errors: 100%}
         |                                                                    ^^^^
      found: 100%
      expected: a share below 100%
      hint: leave it out where failures should end nothing

    5 problems in plan.yaml
    "#);
}

#[test]
fn limits_of_nothing() {
    assert_snapshot!(refused(with("slo:", "limits: {}\nslo:")), @r#"
    plan.yaml:12:1: `limits` limits nothing
      12 | limits: {}
         | ^^^^^^
      expected: at least one of `spend`, `tokens`, `requests`, `time` and `errors`

    1 problem in plan.yaml
    "#);
}

#[test]
fn spending_in_other_words() {
    let spend = |text: &str| refused(with("slo:", &format!("limits: {{spend: {text}}}\nslo:")));
    assert_snapshot!(spend("2.50"), @r#"
    plan.yaml:12:17: `spend` does not fit
      12 | limits: {spend: 2.50}
         |                 ^^^^
      found: 2.50
      expected: an amount above 0 and its currency, such as `2.50 USD`
      hint: name the currency: `2.50 USD`

    1 problem in plan.yaml
    "#);
    assert_snapshot!(spend("$2.50"), @r#"
    plan.yaml:12:17: `spend` does not fit
      12 | limits: {spend: $2.50}
         |                 ^^^^^
      found: $2.50
      expected: an amount above 0 and its currency, such as `2.50 USD`
      hint: write `2.50 USD`

    1 problem in plan.yaml
    "#);
    assert_snapshot!(spend("'1,50 EUR'"), @r#"
    plan.yaml:12:17: `spend` does not fit
      12 | limits: {spend: '1,50 EUR'}
         |                 ^^^^^^^^^^
      found: 1,50 EUR
      expected: an amount above 0 and its currency, such as `2.50 USD`
      hint: the decimal point is `.`, and nothing stands between thousands

    1 problem in plan.yaml
    "#);
}

#[test]
fn spending_where_nothing_costs_anything() {
    let free = with("    url:", "    price: {currency: USD, per_hour: 0}\n    url:");
    assert_snapshot!(refused(format!("{free}limits: {{spend: 1 USD}}\n")), @r#"
    plan.yaml:15:17: a limit that can never be reached: every platform's price is 0
      15 | limits: {spend: 1 USD}
         |                 ^^^^^
      found: 1 USD
      hint: give a price above 0, or take `spend` out

    1 problem in plan.yaml
    "#);
}

#[test]
fn prices_that_are_none() {
    assert_snapshot!(platform("price: {currency: usd, per_hour: 1e3, per_request: -1, per_million_output: .5}"), @r#"
    plan.yaml:7:23: `currency` does not fit
      7 |     price: {currency: usd, per_hour: 1e3, per_request: -1, per_million_output: .5}
        |                       ^^^
      found: usd
      expected: a currency's code of three capital letters, such as `USD`, `EUR` or `CNY`
      hint: write `USD`

    plan.yaml:7:38: `per_hour` does not fit
      7 |     price: {currency: usd, per_hour: 1e3, per_request: -1, per_million_output: .5}
        |                                      ^^^
      found: 1e3
      expected: a plain number, 0 or more, such as `2` or `0.50`

    plan.yaml:7:56: `per_request` does not fit
      7 |     price: {currency: usd, per_hour: 1e3, per_request: -1, per_million_output: .5}
        |                                                        ^^
      found: -1
      expected: a plain number, 0 or more, such as `2` or `0.50`

    plan.yaml:7:80: `per_million_output` does not fit
      7 |     price: {currency: usd, per_hour: 1e3, per_request: -1, per_million_output: .5}
        |                                                                                ^^
      found: .5
      expected: a plain number, 0 or more, such as `2` or `0.50`

    4 problems in plan.yaml
    "#);
}

#[test]
fn a_price_without_a_figure() {
    assert_snapshot!(platform("price: {currency: USD}"), @r#"
    plan.yaml:7:5: a price without a figure
      7 |     price: {currency: USD}
        |     ^^^^^
      expected: at least one of `per_hour`, `per_million_input`, `per_million_output` and `per_request`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_price_without_a_currency() {
    assert_snapshot!(platform("price: {per_hour: 1.20}"), @r#"
    plan.yaml:7:5: `currency` is missing in `platforms.a.price`
      7 |     price: {per_hour: 1.20}
        |     ^^^^^
      expected: a value such as `USD`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_plateau_without_levels_to_see_it_in() {
    assert_snapshot!(refused(with("sweep: [1, 2]", "sweep: [4], stop_at_plateau: 5%")), @r#"
    plan.yaml:11:41: a plateau is seen from one level to the next, and these do not ascend
      11 |   - rate: {sweep: [4], stop_at_plateau: 5%, for: 10s}
         |                                         ^^
      found: 5%
      hint: give at least two levels in `sweep`, the lowest first, or take `stop_at_plateau` out

    1 problem in plan.yaml
    "#);
    assert_snapshot!(refused(with("rate: {sweep: [1, 2],", "concurrency: {sweep: [1, 8, 4], stop_at_plateau: 5%,")), @r#"
    plan.yaml:11:54: a plateau is seen from one level to the next, and these do not ascend
      11 |   - concurrency: {sweep: [1, 8, 4], stop_at_plateau: 5%, for: 10s}
         |                                                      ^^
      found: 5%
      hint: give at least two levels in `sweep`, the lowest first, or take `stop_at_plateau` out

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_plateau_of_nothing() {
    assert_snapshot!(refused(with("sweep: [1, 2]", "sweep: [1, 2], stop_at_plateau: 0%, end_when_saturated: no")), @r#"
    plan.yaml:11:44: `stop_at_plateau` does not fit
      11 |   - rate: {sweep: [1, 2], stop_at_plateau: 0%, end_when_saturated: no, for: 10s}
         |                                            ^^
      found: 0%
      expected: a share above 0, such as `99%` or `0.99`

    plan.yaml:11:68: `end_when_saturated` does not fit
      11 |   - rate: {sweep: [1, 2], stop_at_plateau: 0%, end_when_saturated: no, for: 10s}
         |                                                                    ^^
      found: no
      expected: true or false
      hint: YAML's truth values are `true` and `false`

    2 problems in plan.yaml
    "#);
}

#[test]
fn refused_levels_are_not_also_said_to_fall() {
    let shown = refused(with("sweep: [1, 2]", "sweep: [0, 1], stop_at_plateau: 5%"));
    assert!(shown.ends_with("1 problem in plan.yaml"), "{shown}");
}

#[test]
fn a_version_of_http_that_is_not_spoken() {
    assert_snapshot!(platform("http: 3"), @r#"
    plan.yaml:7:11: `http` has no value `3`
      7 |     http: 3
        |           ^
      expected: one of `1.1`, `2`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_probe_that_is_neither_wanted_nor_not() {
    assert_snapshot!(platform("rtt_probe: on"), @r#"
    plan.yaml:7:16: `rtt_probe` does not fit
      7 |     rtt_probe: on
        |                ^^
      found: on
      expected: true or false
      hint: YAML's truth values are `true` and `false`

    1 problem in plan.yaml
    "#);
}
