//! The plan's words in those of the command line: which flag sets what, and what problems call it.

use kneepoint_model::yaml::{Path, Problem, Step};

/// What resolution says about loads, workloads and platforms, and what it means on a command line.
const WORDS: &[(&str, &str)] = &[
    (", and `limits` has a `spend`", ", and --max-spend is given"),
    ("the `spend` of `limits`", "--max-spend"),
    ("take `spend` out", "leave --max-spend out"),
    ("give it a `price: {currency: ", "give --price currency="),
    (", per_hour: …}` (`per_hour: 0` if it costs nothing)", ",per_hour=… (per_hour=0 if it costs nothing)"),
    ("`spend`", "--max-spend"),
    ("`tokens`", "--max-tokens"),
    ("`requests`", "--max-requests"),
    ("`time`", "--max-time"),
    ("`errors`", "--max-error-rate"),
    (
        "make a second entry of `load` to measure it again",
        "a plan file can hold it in two sweeps; --save-plan writes one",
    ),
    (" of workload `fixed`", ""),
    ("`for`", "--for"),
    ("`min_samples`", "--min-samples"),
    ("`at_most`", "--at-most"),
    ("`warm_up`", "--warm-up"),
    ("`at_end` is `cancel`", "--at-end is `cancel`"),
    ("take `stop_at_plateau` out", "leave --stop-at-plateau out"),
    ("`from`", "--search-from"),
    ("`up_to`", "--search-up-to"),
    ("`up_to: ", "`--search-up-to "),
    ("`tolerance`", "--search-tolerance"),
    ("`confirm`", "--search-confirm"),
    ("`stop_at_plateau`", "--stop-at-plateau"),
    ("`max_in_flight`", "--max-in-flight"),
    ("`drain`", "--drain"),
    ("`total`", "--request-timeout"),
    ("`connect`", "--connect-timeout"),
    ("`first_token`", "--first-token-timeout"),
    ("`between_chunks`", "--chunk-timeout"),
    ("take `stream: false` out of a workload", "leave --no-stream out"),
    ("`input`", "--input"),
    ("`output`", "--output"),
];

/// The flag that sets what stands at a path of the plan.
pub(super) fn label(path: &Path) -> Option<String> {
    let key = |at: usize| match path.steps().get(at) {
        Some(Step::Key(key)) => Some(key.as_str()),
        _ => None,
    };
    let flag = match (key(0)?, path.steps().len()) {
        ("slo", _) => "--slo",
        ("name", _) => "--name",
        ("seed", _) => "--seed",
        ("model", _) if key(1) == Some("tokenizer") => "--tokenizer",
        ("model", _) => "--model",
        ("workloads", _) if key(2) == Some("input") => "--input",
        ("workloads", _) if key(2) == Some("output") => "--output",
        ("platforms", _) => match key(2) {
            Some("key") => "--key-env",
            Some("dialect") => "--dialect",
            Some("connection") => "--connection",
            Some("ca") => "--ca",
            Some("length_control") => "--length-control",
            Some("price") => "--price",
            Some("http") => "--http",
            Some("rtt_probe") => "--rtt-probe",
            Some("time_limits") => match key(3) {
                Some("connect") => "--connect-timeout",
                Some("first_token") => "--first-token-timeout",
                Some("between_chunks") => "--chunk-timeout",
                _ => "--request-timeout",
            },
            _ => "--url",
        },
        ("limits", _) => match key(1) {
            Some("spend") => "--max-spend",
            Some("tokens") => "--max-tokens",
            Some("requests") => "--max-requests",
            Some("time") => "--max-time",
            _ => "--max-error-rate",
        },
        ("load", 1) => "--rate, --concurrency or --search-from",
        ("load", _) => match path.last_key() {
            Some("for") => "--for",
            Some("min_samples") => "--min-samples",
            Some("at_most") => "--at-most",
            Some("warm_up") => "--warm-up",
            Some("drain") => "--drain",
            Some("at_end") => "--at-end",
            Some("slo") => "--search-slo",
            Some("from") => "--search-from",
            Some("up_to") => "--search-up-to",
            Some("tolerance") => "--search-tolerance",
            Some("confirm") => "--search-confirm",
            Some("stop_at_plateau") => "--stop-at-plateau",
            Some("end_when_saturated") => "--hold-when-saturated",
            Some("max_in_flight") => "--max-in-flight",
            Some("arrival") => "--arrival",
            _ if key(2) == Some("concurrency") => "--concurrency",
            _ => "--rate",
        },
        _ => return None,
    };
    Some(flag.to_owned())
}

/// A problem that resolution found, with the plan's keys in its texts replaced by the flags that set them.
pub(super) fn in_words_of_flags(mut problem: Problem) -> Problem {
    let has = |name: &str| problem.path.steps().iter().any(|step| matches!(step, Step::Key(key) if key == name));
    // Limits and names are the user's own words.
    if !has("search") && (has("slo") || has("name")) {
        return problem;
    }
    let levels = if has("concurrency") { "--concurrency" } else { "--rate" };
    let reword = |text: &str| {
        let mut text = text.replace("`sweep`", levels);
        for (key, flag) in WORDS {
            text = text.replace(key, flag);
        }
        text
    };
    problem.message = reword(&problem.message);
    problem.expected = reword(&problem.expected);
    problem.hint = problem.hint.as_deref().map(reword);
    problem
}
