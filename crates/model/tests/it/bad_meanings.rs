//! Plans that are well formed and mean what cannot be: the whole text that a user reads.

use insta::assert_snapshot;

use crate::bad_plans::{refused, with};

#[test]
fn a_literal_key() {
    assert_snapshot!(refused(with("    url:", "    key: sk-live-0123456789\n    url:")), @r#"
    plan.yaml:7:10: the key stands in the plan itself
      7 |     key: ******************
        |          ^^^^^^^^^^^^^^^^^^
      found: ***
      expected: a reference, `${NAME}`
      hint: a plan is kept with the results: export API_KEY=… and write `key: ${API_KEY}`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_misspelt_literal_key() {
    assert_snapshot!(refused(with("    url:", "    kye: sk-live-0123456789\n    url:")), @r#"
    plan.yaml:7:5: unknown key `kye` in `platforms.a`
      7 |     kye: ******************
        |     ^^^
      expected: one of `dialect`, `url`, `key`, `model`, `headers`, `body`, `connection`, `http`, `ca`, `length_control`, `time_limits`, `request_timeout`, `rtt_probe`, `price`, `declares`
      hint: did you mean `key`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn an_unset_variable() {
    assert_snapshot!(refused(with("    url:", "    key: ${NOT_SET}\n    url:")), @r#"
    plan.yaml:7:10: the environment variable NOT_SET is not set
      7 |     key: ${NOT_SET}
        |          ^^^^^^^^^^
      found: ${NOT_SET}
      hint: set it: export NOT_SET=…

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_reference_where_none_is_replaced() {
    assert_snapshot!(refused(with("http://127.0.0.1:8000", "${BASE_URL}")), @r#"
    plan.yaml:7:10: `${…}` is replaced in `key` and `headers` only
      7 |     url: ${BASE_URL}
        |          ^^^^^^^^^^^
      found: ${BASE_URL}
      hint: write the value itself

    1 problem in plan.yaml
    "#);
}

#[test]
fn credentials_in_the_url() {
    assert_snapshot!(refused(with("http://127.0.0.1:8000", "http://me:hunter2@h")), @r#"
    plan.yaml:7:10: the URL holds credentials
      7 |     url: http://**********@h
        |          ^^^^^^^^^^^^^^^^^^^
      found: ***
      expected: an address such as `http://127.0.0.1:8000` or `https://api.example.com/v1`
      hint: take them out and give the key as `key: ${NAME}`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_url_without_scheme() {
    assert_snapshot!(refused(with("http://127.0.0.1:8000", "127.0.0.1:8000")), @r#"
    plan.yaml:7:10: the URL has no scheme
      7 |     url: 127.0.0.1:8000
        |          ^^^^^^^^^^^^^^
      found: 127.0.0.1:8000
      expected: an address such as `http://127.0.0.1:8000` or `https://api.example.com/v1`
      hint: write `http://127.0.0.1:8000` or `https://127.0.0.1:8000`

    1 problem in plan.yaml
    "#);
}

#[test]
fn durations_without_unit() {
    assert_snapshot!(refused(with("for: 10s", "for: 10, warm_up: 5min, drain: -1s")), @r#"
    plan.yaml:11:32: `for` does not fit
      11 |   - rate: {sweep: [1, 2], for: 10, warm_up: 5min, drain: -1s}
         |                                ^^
      found: 10
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `10s` for seconds, `10ms` for milliseconds

    plan.yaml:11:45: `warm_up` does not fit
      11 |   - rate: {sweep: [1, 2], for: 10, warm_up: 5min, drain: -1s}
         |                                             ^^^^
      found: 5min
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `5m`

    plan.yaml:11:58: `drain` does not fit
      11 |   - rate: {sweep: [1, 2], for: 10, warm_up: 5min, drain: -1s}
         |                                                          ^^^
      found: -1s
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`

    3 problems in plan.yaml
    "#);
}

#[test]
fn an_inverted_window() {
    assert_snapshot!(refused(with("for: 10s", "for: 10s, at_most: 5s")), @r#"
    plan.yaml:11:46: `at_most` is shorter than `for`, which is 10s
      11 |   - rate: {sweep: [1, 2], for: 10s, at_most: 5s}
         |                                              ^^
      found: 5s

    1 problem in plan.yaml
    "#);
}

#[test]
fn empty_sweep() {
    assert_snapshot!(refused(with("sweep: [1, 2]", "sweep: []")), @r#"
    plan.yaml:11:19: `sweep` has too few entries
      11 |   - rate: {sweep: [], for: 10s}
         |                   ^
      found: 0 entries
      expected: at least 1

    1 problem in plan.yaml
    "#);
}

#[test]
fn bad_levels() {
    assert_snapshot!(refused(with("sweep: [1, 2]", "sweep: [1, 0, 1, x, 2000000]")), @r#"
    plan.yaml:11:23: a level of `sweep` is out of range
      11 |   - rate: {sweep: [1, 0, 1, x, 2000000], for: 10s}
         |                       ^
      found: 0
      expected: requests per second, above 0 and at most 100000

    plan.yaml:11:26: `sweep` has the level 1 twice
      11 |   - rate: {sweep: [1, 0, 1, x, 2000000], for: 10s}
         |                          ^
      hint: each level is measured once; make a second entry of `load` to measure it again

    plan.yaml:11:29: `sweep[3]` does not fit
      11 |   - rate: {sweep: [1, 0, 1, x, 2000000], for: 10s}
         |                             ^
      found: x
      expected: a number

    plan.yaml:11:32: a level of `sweep` is out of range
      11 |   - rate: {sweep: [1, 0, 1, x, 2000000], for: 10s}
         |                                ^^^^^^^
      found: 2000000
      expected: requests per second, above 0 and at most 100000

    4 problems in plan.yaml
    "#);
}

#[test]
fn a_backward_range() {
    assert_snapshot!(refused(with("sweep: [1, 2]", "sweep: 8..1")), @r#"
    plan.yaml:11:19: `sweep` does not fit
      11 |   - rate: {sweep: 8..1, for: 10s}
         |                   ^^^^
      found: 8..1
      expected: levels above 0, such as `[1, 2, 4]` or the range `1..8`
      hint: the smaller end comes first: `1..8`

    1 problem in plan.yaml
    "#);
}

#[test]
fn samples_out_of_reach() {
    assert_snapshot!(refused(with("for: 10s", "for: 10s, at_most: 20s, min_samples: 100")), @r#"
    plan.yaml:11:64: at 1 requests per second a window of at most 20s holds 20 requests
      11 |   - rate: {sweep: [1, 2], for: 10s, at_most: 20s, min_samples: 100}
         |                                                                ^^^
      found: 100
      hint: ask for fewer samples, or set a longer `at_most`

    1 problem in plan.yaml
    "#);
}

#[test]
fn rate_and_concurrency_in_one() {
    assert_snapshot!(refused(with("  - rate", "  - concurrency: {sweep: [0]}\n    rate")), @r#"
    plan.yaml:11:5: a load has both `rate` and `concurrency`
      11 |   - concurrency: {sweep: [0]}
         |     ^
      expected: one of the two
      hint: make an entry of each, with its own dash

    1 problem in plan.yaml
    "#);
}

#[test]
fn concurrency_zero() {
    assert_snapshot!(refused(with("rate: {sweep: [1, 2], for: 10s}", "concurrency: {sweep: [0, 1.5, 4]}")), @r#"
    plan.yaml:11:27: a level of `sweep` is out of range
      11 |   - concurrency: {sweep: [0, 1.5, 4]}
         |                           ^
      found: 0
      expected: requests in flight, from 1 to 100000

    plan.yaml:11:30: `sweep[1]` does not fit
      11 |   - concurrency: {sweep: [0, 1.5, 4]}
         |                              ^^^
      found: 1.5
      expected: a whole number from 0 to 4294967295

    2 problems in plan.yaml
    "#);
}

#[test]
fn an_slo_without_limit() {
    assert_snapshot!(refused(with("{ttft: 500ms, share: 99%}", "{share: 101%}")), @r#"
    plan.yaml:13:3: `fast` limits nothing
      13 |   fast: {share: 101%}
         |   ^^^^
      expected: at least one of `ttft`, `tpot` and `e2e`

    plan.yaml:13:17: `share` does not fit
      13 |   fast: {share: 101%}
         |                 ^^^^
      found: 101%
      expected: a share above 0, such as `99%` or `0.99`

    2 problems in plan.yaml
    "#);
}

#[test]
fn an_slo_with_a_bare_number() {
    assert_snapshot!(refused(with("{ttft: 500ms, share: 99%}", "{ttft: 500, share: 99}")), @r#"
    plan.yaml:13:16: `ttft` does not fit
      13 |   fast: {ttft: 500, share: 99}
         |                ^^^
      found: 500
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `500s` for seconds, `500ms` for milliseconds

    plan.yaml:13:28: `share` does not fit
      13 |   fast: {ttft: 500, share: 99}
         |                            ^^
      found: 99
      expected: a share above 0, such as `99%` or `0.99`
      hint: write `99%`

    2 problems in plan.yaml
    "#);
}

#[test]
fn slo_and_sla() {
    assert_snapshot!(refused(with("slo:", "sla: {x: {e2e: 1s}}\nslo:")), @r#"
    plan.yaml:12:1: both `slo` and `sla` are given
      12 | sla: {x: {e2e: 1s}}
         | ^^^
      hint: they mean the same: move everything into `slo`

    1 problem in plan.yaml
    "#);
}

#[test]
fn bad_headers() {
    assert_snapshot!(refused(with("    url:", "    headers: {Host: x, X-Api-Key: literal-secret, A: \"a\\r\\nB: c\", 'X Y': z, Authorization: 'Bearer ${T}'}\n    url:")), @r#"
    plan.yaml:7:15: header `Host` is set by kneepoint itself
      7 |     headers: {Host: *, X-Api-Key: **************, A: ******** **, 'X Y': *, Authorization: ******* *…
        |               ^^^^

    plan.yaml:7:35: the value of `X-Api-Key` stands in the plan itself
      7 |     headers: {Host: *, X-Api-Key: **************, A: ******** **, 'X Y': *, Authorization: ******* *…
        |                                   ^^^^^^^^^^^^^^
      found: ***
      expected: a reference, `${NAME}`
      hint: a plan is kept with the results: export X_API_KEY=… and write `X-Api-Key: ${X_API_KEY}`

    plan.yaml:7:54: `A` holds a line break or a character no header can carry
      7 | …{Host: *, X-Api-Key: **************, A: ******** **, 'X Y': *, Authorization: ******* *****}
        |                                          ^^^^^^^^^^^
      expected: printable ASCII on one line

    plan.yaml:7:67: "X Y" is no header name
      7 | …pi-Key: **************, A: ******** **, 'X Y': *, Authorization: ******* *****}
        |                                          ^^^^^
      expected: letters, digits and `-`

    plan.yaml:7:92: `Authorization` mixes text and a reference
      7 | …: ******** **, 'X Y': *, Authorization: ******* *****}
        |                                          ^^^^^^^^^^^^^
      expected: plain text, or `${NAME}` and nothing else
      hint: give the token as `key: ${NAME}`: it is sent as `Authorization: Bearer …`

    5 problems in plan.yaml
    "#);
}

#[test]
fn body_fields_of_the_tool() {
    assert_snapshot!(refused(with("    url:", "    body: {max_tokens: 5, stream: true, temperature: .inf}\n    url:")), @r#"
    plan.yaml:7:12: body field `max_tokens` is set by kneepoint itself
      7 |     body: {max_tokens: 5, stream: true, temperature: .inf}
        |            ^^^^^^^^^^
      hint: give `output` in the workload

    plan.yaml:7:27: body field `stream` is set by kneepoint itself
      7 |     body: {max_tokens: 5, stream: true, temperature: .inf}
        |                           ^^^^^^
      hint: give `stream` in the workload

    plan.yaml:7:54: `temperature` is not a number JSON can hold
      7 |     body: {max_tokens: 5, stream: true, temperature: .inf}
        |                                                      ^^^^
      found: .inf
      expected: a finite number

    3 problems in plan.yaml
    "#);
}

#[test]
fn names_that_cannot_be() {
    assert_snapshot!(refused(with("  w: {input", "  w/1: {input: 1, output: 1}\n  A b: {input")), @r#"
    plan.yaml:9:3: `w/1` cannot be a name
      9 |   w/1: {input: 1, output: 1}
        |   ^^^
      expected: letters, digits, `.`, `_` and `-`, a letter or digit first, at most 64 in all
      hint: `w-1` would do

    plan.yaml:10:3: `A b` cannot be a name
      10 |   A b: {input: 16, output: 8}
         |   ^^^
      expected: letters, digits, `.`, `_` and `-`, a letter or digit first, at most 64 in all
      hint: `A-b` would do

    2 problems in plan.yaml
    "#);
}

#[test]
fn chinese_text_before_the_mistake() {
    assert_snapshot!(refused(with("{id: m}", "{id: 通义千问, precison: 半精度}")), @r#"
    plan.yaml:3:19: unknown key `precison` in `model`
      3 | model: {id: 通义千问, precison: 半精度}
        |                       ^^^^^^^^
      expected: one of `id`, `precision`, `tokenizer`
      hint: did you mean `precision`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn crlf_and_byte_order_mark() {
    assert_snapshot!(refused(format!("\u{feff}{}", with("dialect:", "dailect:").replace('\n', "\r\n")).as_str()), @r#"
    plan.yaml:6:5: unknown key `dailect` in `platforms.a`
      6 |     dailect: openai-chat
        |     ^^^^^^^
      expected: one of `dialect`, `url`, `key`, `model`, `headers`, `body`, `connection`, `http`, `ca`, `length_control`, `time_limits`, `request_timeout`, `rtt_probe`, `price`, `declares`
      hint: did you mean `dialect`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_long_line_is_cut() {
    assert_snapshot!(refused(with("{id: m}", &format!("{{id: {}, presicion: {}}}", "x".repeat(150), "y".repeat(150)))), @r#"
    plan.yaml:3:165: unknown key `presicion` in `model`
      3 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, presicion: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
        |                                          ^^^^^^^^^
      expected: one of `id`, `precision`, `tokenizer`
      hint: did you mean `precision`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn an_alias_bomb() {
    assert_snapshot!(refused("a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"), @r#"
    plan.yaml:5:4: more than 200000 values
      5 | e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
        |    ^^^^

    1 problem in plan.yaml
    "#);
}

#[test]
fn nested_too_deep() {
    assert_snapshot!(refused("[".repeat(100)), @r#"
    plan.yaml:1:65: nested more than 64 levels deep
      1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
        |                                                                 ^

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_control_character() {
    assert_snapshot!(refused("kneepoint: 1\nname: \u{0}x\n"), @r#"
    plan.yaml:2:7: a control character, which YAML does not allow
      2 | name:  x
        |       ^
      hint: is this a text file? Inside double quotes such a character is written as `\u0000`

    1 problem in plan.yaml
    "#);
}

#[test]
fn many_at_once() {
    assert_snapshot!(refused("kneepoint: 1\nmodle: {id: m}\nplatforms:\n  a: {url: ftp://h, dialect: openai, key: sk-1}\nworkloads:\n  w: {input: 0}\nload:\n  - rate: {sweep: 1..=8, for: 10}\nslo: {x: {share: 2}}\n"), @r#"
    plan.yaml:2:1: unknown key `modle`
      2 | modle: {id: m}
        | ^^^^^
      expected: one of `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`
      hint: did you mean `model`?

    plan.yaml:4:12: the URL is neither `http://` nor `https://`
      4 |   a: {url: ftp://h, dialect: openai, key: ****}
        |            ^^^^^^^
      found: ftp://h
      expected: an address such as `http://127.0.0.1:8000` or `https://api.example.com/v1`

    plan.yaml:4:30: `dialect` has no value `openai`
      4 |   a: {url: ftp://h, dialect: openai, key: ****}
        |                              ^^^^^^
      expected: one of `openai-chat`, `openai-completions`
      hint: did you mean `openai-chat`?

    plan.yaml:4:43: the key stands in the plan itself
      4 |   a: {url: ftp://h, dialect: openai, key: ****}
        |                                           ^^^^
      found: ***
      expected: a reference, `${NAME}`
      hint: a plan is kept with the results: export API_KEY=… and write `key: ${API_KEY}`

    plan.yaml:6:3: `output` is missing in `workloads.w`
      6 |   w: {input: 0}
        |   ^
      expected: a whole number, 0 or more

    plan.yaml:6:14: `input` of workload `w` is out of range
      6 |   w: {input: 0}
        |              ^
      found: 0
      expected: from 1 to 10000000 tokens

    plan.yaml:8:19: `sweep` does not fit
      8 |   - rate: {sweep: 1..=8, for: 10}
        |                   ^^^^^
      found: 1..=8
      expected: levels above 0, such as `[1, 2, 4]` or the range `1..8`
      hint: the end is always included: write `1..8`

    plan.yaml:8:31: `for` does not fit
      8 |   - rate: {sweep: 1..=8, for: 10}
        |                               ^^
      found: 10
      expected: a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`
      hint: write `10s` for seconds, `10ms` for milliseconds

    plan.yaml:9:7: `x` limits nothing
      9 | slo: {x: {share: 2}}
        |       ^
      expected: at least one of `ttft`, `tpot` and `e2e`

    plan.yaml:9:18: `share` does not fit
      9 | slo: {x: {share: 2}}
        |                  ^
      found: 2
      expected: a share above 0, such as `99%` or `0.99`
      hint: write `2%`

    10 problems in plan.yaml
    "#);
}
