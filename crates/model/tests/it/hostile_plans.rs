//! Plans that are too large, hold keys in unlikely places, or ask what cannot be: refused in few words, none of them a
//! secret.

use std::path::Path;

use kneepoint_model::plan::{ResolveContext, resolve};

use crate::bad_plans::{refused, with};
use crate::good_plans::{env, good};

fn sweep(levels: &str) -> String {
    refused(with("sweep: [1, 2]", &format!("sweep: {levels}")))
}

#[test]
fn a_sweep_of_too_many_levels_is_one_problem() {
    for level in ["1,", "x,", "-1,"] {
        let shown = sweep(&format!("[{}]", level.repeat(40_000)));
        assert!(shown.len() < 30_000, "{} bytes", shown.len());
    }
    let shown = sweep(&format!("[{}]", "1,".repeat(40_000)));
    assert!(shown.contains("found: 40000\n  expected: at most 256\n"), "{shown}");
    assert!(shown.ends_with("1 problem in plan.yaml"), "{shown}");
}

#[test]
fn a_range_out_of_range_is_one_problem() {
    for range in ["1..1e18", "1..1e308", "1e-300..1", "1e17..1e18"] {
        let shown = sweep(range);
        assert!(shown.contains(&format!("found: {range}\n")), "{shown}");
        assert!(shown.ends_with("1 problem in plan.yaml"), "{shown}");
    }
}

#[test]
fn many_problems_are_counted_and_the_first_shown() {
    let levels: Vec<String> = (0..200).map(|i| format!("-{}", i + 1)).collect();
    let shown = sweep(&format!("[{}]", levels.join(",")));
    assert!(shown.ends_with("\n… and 150 more\n\n200 problems in plan.yaml"), "{shown}");
    assert_eq!(shown.matches("is out of range").count(), 50);
    // However many entries a map has.
    let entries: Vec<String> = (0..5_000).map(|i| format!("  x{i}: {{input: 0, output: 0}}\n")).collect();
    let entries = entries.concat();
    let shown = refused(with("workloads:\n", &format!("workloads:\n{entries}")));
    assert!(shown.ends_with("500 problems in plan.yaml") && shown.len() < 30_000, "{} bytes", shown.len());
}

#[test]
fn the_values_of_a_query_are_not_shown() {
    for url in ["http://h/v1?api-key=hunter2&v=hunter3", "h/v1?api-key=hunter2", "ftp://h?k=hunter2"] {
        for text in [format!("url: {url}"), format!("url: '{url}'"), format!("url: {url} # was http://x?k=hunter4")] {
            let shown = refused(with("url: http://127.0.0.1:8000", &text));
            assert!(!shown.contains("hunter"), "{shown}");
        }
    }
    let shown = refused(with("http://127.0.0.1:8000", "http://h/v1?api-key=hunter2"));
    assert!(shown.contains("found: http://h/v1?api-key=***"), "{shown}");
}

#[test]
fn a_long_name_is_cut() {
    let long = "n".repeat(300);
    for (part, by) in [("name: p", format!("name: {long}")), ("  w: {", format!("  {long}: {{"))] {
        let shown = refused(with(part, &by));
        assert!(shown.contains("…` cannot be a name"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
    }
}

#[test]
fn an_ipv6_address_without_brackets_is_told() {
    for url in ["http://[::1", "http://::1:80", "'http://::1/v1'"] {
        let shown = refused(with("http://127.0.0.1:8000", url));
        assert!(shown.contains("an IPv6 address stands in brackets") && shown.contains("`http://[::1]`"), "{shown}");
    }
}

#[test]
fn numbers_that_would_be_changed_are_refused() {
    for number in [
        "12345678901234567890123",
        "-9223372036854775809",
        "0.1234567890123456789",
        "1.0000000000000000001",
        "2068405067360558.3",
    ] {
        let shown = refused(with("    url:", &format!("    body: {{seed: {number}}}\n    url:")));
        assert!(shown.contains("would be changed by being sent"), "{shown}");
    }
    for (number, sent) in [
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("0.1", "0.1"),
        ("1e22", "1e+22"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("00.250", "0.25"),
        // The double is …558.25: …558.2 and …558.3 are equally near, and JSON is written with the first.
        ("2068405067360558.2", "2068405067360558.2"),
        ("0.0", "0.0"),
        ("'12345678901234567890123'", "\"12345678901234567890123\""),
    ] {
        let plan = good(&with("    url:", &format!("    body: {{seed: {number}}}\n    url:")));
        assert_eq!(plan.platforms[0].body["seed"].to_string(), sent);
    }
}

#[test]
fn a_credential_in_any_header_is_refused() {
    for value in [
        "Bearer abcdefghijklmnopqrstuvwxyz",
        "basic dXNlcjpodW50ZXIyaHVudGVyMg==",
        "sk-hunter2hunter2hunter2",
        "key=sk-hunter2hunter2hunter2",
    ] {
        let shown = refused(with("    url:", &format!("    headers: {{X-Upstream: '{value}'}}\n    url:")));
        assert!(shown.contains("stands in the plan itself") && shown.contains("${X_UPSTREAM}"), "{shown}");
        assert!(!shown.contains(value) && !shown.contains("hunter2"), "{shown}");
    }
    for value in
        ["bearer", "Bearer of news", "sk-short", "desk-0123456789abcdefgh", "basic plan", "trace-0123456789abcdef"]
    {
        good(&with("    url:", &format!("    headers: {{X-Upstream: '{value}'}}\n    url:")));
    }
}

#[test]
fn a_limit_on_tokens_that_nobody_sees_come_is_refused() {
    let unary = with("{input: 16, output: 8}", "{input: 16, output: 8, stream: false}");
    let shown = refused(&unary);
    assert!(shown.contains("`ttft` can never be judged: no workload streams its answers"), "{shown}");
    assert!(shown.ends_with("1 problem in plan.yaml"), "{shown}");
    assert!(refused(unary.replace("ttft: 500ms", "tpot: 5ms")).contains("`tpot` can never be judged"));
    good(&unary.replace("ttft: 500ms", "e2e: 5s"));
    good(&unary.replace("workloads:\n", "workloads:\n  s: {input: 16, output: 8}\n"));
}

#[test]
fn a_plan_of_many_problems_is_refused_in_little_memory() {
    // Each problem holds a line of the text, and here all are on one.
    let levels: Vec<String> = (0..5_000).map(|i| format!("{{a{i}: 1}},")).collect();
    let levels = levels.concat();
    let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
    let problems = resolve("plan.yaml", &with("sweep: [1, 2]", &format!("sweep: [{levels}]")), &context);
    assert!(problems.is_err_and(|problems| problems.len() <= 1_000));
}
