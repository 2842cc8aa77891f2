//! Plans that must be refused, and in which words: the whole text that a user reads.

use std::path::Path;

use insta::assert_snapshot;
use kneepoint_model::plan::{ResolveContext, resolve};

use crate::good_plans::env;

const GOOD: &str = "\
kneepoint: 1
name: p
model: {id: m}
platforms:
  a:
    dialect: openai-chat
    url: http://127.0.0.1:8000
workloads:
  w: {input: 16, output: 8}
load:
  - rate: {sweep: [1, 2], for: 10s}
slo:
  fast: {ttft: 500ms, share: 99%}
";

/// The good plan with one part of it replaced.
#[track_caller]
pub(crate) fn with(part: &str, by: &str) -> String {
    assert_eq!(GOOD.matches(part).count(), 1, "{part:?} stands once in the good plan");
    GOOD.replace(part, by)
}

#[track_caller]
pub(crate) fn refused(text: impl AsRef<str>) -> String {
    let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
    match resolve("plan.yaml", text.as_ref(), &context) {
        Ok(plan) => panic!("this must not resolve: {plan:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_plan_that_the_others_spoil_is_good() {
    crate::good_plans::good(GOOD);
}

#[test]
fn empty_file() {
    assert_snapshot!(refused(""), @r#"
    plan.yaml:1:1: there is nothing in it
      expected: a map with `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`

    1 problem in plan.yaml
    "#);
}

#[test]
fn only_a_comment() {
    assert_snapshot!(refused("# nothing yet\n"), @r#"
    plan.yaml:1:1: there is nothing in it
      1 | # nothing yet
        | ^
      expected: a map with `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_list_instead_of_a_map() {
    assert_snapshot!(refused("- kneepoint: 1\n- name: x\n"), @r#"
    plan.yaml:1:1: the document is a list
      1 | - kneepoint: 1
        | ^
      expected: a map with `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_scalar_instead_of_a_map() {
    assert_snapshot!(refused("just words\n"), @r#"
    plan.yaml:1:1: the document does not fit
      1 | just words
        | ^^^^^^^^^^
      found: just words
      expected: a map with `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_tab_in_the_indentation() {
    assert_snapshot!(refused("kneepoint: 1\nmodel:\n\tid: m\n"), @r#"
    plan.yaml:3:1: a tab in the indentation, which YAML does not allow
      3 |  id: m
        | ^
      hint: indent with spaces

    1 problem in plan.yaml
    "#);
}

#[test]
fn broken_flow_map() {
    assert_snapshot!(refused("kneepoint: 1\nmodel: {id: m\nname: x\n"), @r#"
    plan.yaml:3:5: not YAML: while parsing a flow mapping, did not find expected ',' or '}'
      3 | name: x
        |     ^

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_bare_reference_in_braces() {
    let text = with("output: 8}", "output: 8, note: ${KEY}}");
    assert_snapshot!(refused(text), @r"
    plan.yaml:9:36: not YAML: while parsing a flow mapping, did not find expected ',' or '}'
      hint: inside braces, write the reference in quotes: '${NAME}'

    1 problem in plan.yaml
    ");
}

#[test]
fn second_document() {
    assert_snapshot!(refused("kneepoint: 1\n---\nkneepoint: 1\n"), @r#"
    plan.yaml:2:1: a second YAML document begins here
      2 | ---
        | ^^^
      hint: keep one document in a file

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_tag() {
    assert_snapshot!(refused("kneepoint: !!int 1\n"), @r#"
    plan.yaml:1:12: a YAML tag (`!…`), which has no meaning here
      1 | kneepoint: !!int 1
        |            ^^^^^^^
      hint: remove the tag

    1 problem in plan.yaml
    "#);
}

#[test]
fn wrong_version() {
    assert_snapshot!(refused(with("kneepoint: 1", "kneepoint: 2")), @r#"
    plan.yaml:1:12: plan version 2 is not known
      1 | kneepoint: 2
        |            ^
      found: 2
      expected: 1
      hint: the plan was written for a later kneepoint, or the number is not meant as its version

    1 problem in plan.yaml
    "#);
}

#[test]
fn misspelt_keys() {
    assert_snapshot!(refused(with("model:", "modle:")), @r#"
    plan.yaml:3:1: unknown key `modle`
      3 | modle: {id: m}
        | ^^^^^
      expected: one of `kneepoint`, `name`, `seed`, `model`, `platforms`, `workloads`, `load`, `slo`, `sla`, `limits`
      hint: did you mean `model`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_field_of_a_later_version() {
    assert_snapshot!(refused(with("load:", "limits: {spend: 20 USD}\nload:")), @r#"
    plan.yaml:5:3: what platform `a` costs is not said, and `limits` has a `spend`
      5 |   a:
        |   ^
      hint: give it a `price: {currency: USD, per_hour: …}` (`per_hour: 0` if it costs nothing), or take `spend` out

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_key_of_a_platform_that_is_not_there_yet() {
    assert_snapshot!(refused(with("    url:", "    telemetry: {prometheus: x}\n    url:")), @r#"
    plan.yaml:7:5: unknown key `telemetry` in `platforms.a`
      7 |     telemetry: {prometheus: *}
        |     ^^^^^^^^^
      expected: one of `dialect`, `url`, `key`, `model`, `headers`, `body`, `connection`, `http`, `ca`, `length_control`, `time_limits`, `request_timeout`, `rtt_probe`, `price`, `declares`

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_value_of_no_enum() {
    assert_snapshot!(refused(with("dialect: openai-chat", "dialect: openai-completion")), @r#"
    plan.yaml:6:14: `dialect` has no value `openai-completion`
      6 |     dialect: openai-completion
        |              ^^^^^^^^^^^^^^^^^
      expected: one of `openai-chat`, `openai-completions`
      hint: did you mean `openai-completions`?

    1 problem in plan.yaml
    "#);
}

#[test]
fn duplicate_keys() {
    assert_snapshot!(refused(with("name: p", "name: p\nname: q")), @r#"
    plan.yaml:3:1: `name` is given twice, first at line 2, column 1
      3 | name: q
        | ^^^^
      hint: keep one of the two

    1 problem in plan.yaml
    "#);
}

#[test]
fn a_duplicate_platform() {
    assert_snapshot!(refused(with("workloads:", "  a: {url: 'http://b'}\nworkloads:")), @r#"
    plan.yaml:8:3: `a` is given twice, first at line 5, column 3
      8 |   a: {url: 'http://b'}
        |   ^
      hint: keep one of the two

    1 problem in plan.yaml
    "#);
}

#[test]
fn everything_missing() {
    assert_snapshot!(refused(with(GOOD, "kneepoint: 1\n")), @r#"
    plan.yaml:1:1: `model` is missing
      1 | kneepoint: 1
        | ^
      expected: a map with `id`, `precision`, `tokenizer`

    plan.yaml:1:1: `platforms` is missing
      1 | kneepoint: 1
        | ^
      expected: a map

    plan.yaml:1:1: `workloads` is missing
      1 | kneepoint: 1
        | ^
      expected: a map

    plan.yaml:1:1: `load` is missing
      1 | kneepoint: 1
        | ^
      expected: a list with entries

    4 problems in plan.yaml
    "#);
}

#[test]
fn what_is_missing_inside() {
    assert_snapshot!(refused(with("    url: http://127.0.0.1:8000\n", "")), @r#"
    plan.yaml:5:3: `url` is missing in `platforms.a`
      5 |   a:
        |   ^
      expected: a value such as `http://127.0.0.1:8000`

    1 problem in plan.yaml
    "#);
}

#[test]
fn wrong_types() {
    assert_snapshot!(refused(with("{input: 16, output: 8}", "{input: many, output: [8], stream: yes}")), @r#"
    plan.yaml:9:14: `input` does not fit
      9 |   w: {input: many, output: [8], stream: yes}
        |              ^^^^
      found: many
      expected: a whole number, 0 or more

    plan.yaml:9:28: `output` is a list
      9 |   w: {input: many, output: [8], stream: yes}
        |                            ^
      expected: a whole number, 0 or more

    plan.yaml:9:41: `stream` does not fit
      9 |   w: {input: many, output: [8], stream: yes}
        |                                         ^^^
      found: yes
      expected: true or false
      hint: YAML's truth values are `true` and `false`

    3 problems in plan.yaml
    "#);
}

#[test]
fn a_quoted_number() {
    assert_snapshot!(refused(with("input: 16", "input: '16'")), @r#"
    plan.yaml:9:14: `input` does not fit
      9 |   w: {input: '16', output: 8}
        |              ^^^^
      found: 16
      expected: a whole number, 0 or more
      hint: remove the quotes

    1 problem in plan.yaml
    "#);
}

#[test]
fn negative_and_zero() {
    assert_snapshot!(refused(with("{input: 16, output: 8}", "{input: -5, output: 0}")), @r#"
    plan.yaml:9:14: `input` is out of range
      9 |   w: {input: -5, output: 0}
        |              ^^
      found: -5
      expected: a whole number, 0 or more

    plan.yaml:9:26: `output` of workload `w` is out of range
      9 |   w: {input: -5, output: 0}
        |                          ^
      found: 0
      expected: from 1 to 10000000 tokens

    2 problems in plan.yaml
    "#);
}
