//! The flags against the plan that they stand for.

use clap::Parser;
use kneepoint_model::plan::Level;

use super::*;

#[derive(Parser)]
struct Call {
    #[command(flatten)]
    flags: PlanFlags,
}

fn flags(line: &str) -> PlanFlags {
    let words = std::iter::once("kneepoint").chain(line.split_whitespace());
    Call::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).flags
}

fn env(name: &str) -> Option<String> {
    (name == "KEY").then(|| "sk-1".to_owned())
}

fn resolve(line: &str) -> Result<Plan, String> {
    let context = ResolveContext { base_dir: std::path::Path::new("/here"), env: &env };
    flags(line).resolve(&context).map_err(|problems| problems.to_string())
}

#[test]
fn no_flag_is_no_plan() {
    assert!(flags("").is_empty_but_for_seed());
    assert!(flags("--seed 2").is_empty_but_for_seed());
    assert!(!flags("--no-stream").is_empty_but_for_seed());
    assert!(flags("--seed 3").is_empty_but_for_seed());
    assert_eq!(flags("--seed 3").seed(), Some(3));
}

#[test]
fn flags_make_the_plan_that_yaml_makes() {
    let plan = resolve(
        "--url http://127.0.0.1:8000/v1 --model org/m --dialect openai-completions --key-env KEY --rate 0.5,1 \
             --arrival poisson --max-in-flight 40 --stop-at-plateau 5% --hold-when-saturated \
             --concurrency 1..3 --input 100 --output 50 --for 10s --min-samples 5 \
             --warm-up 1s --drain 2s --request-timeout 30s --connect-timeout 3s --first-token-timeout 20s \
             --chunk-timeout 4s --connection per-request --http 2 --rtt-probe --length-control natural \
             --ca ca.pem --slo e2e=1s,share=95% --slo name=slow,e2e=9s --seed 7 --tokenizer t.json --name n \
             --price currency=USD,per_hour=1.20,per_request=0.001 --max-spend 2.50USD --max-tokens 2000000 \
             --max-requests 100000 --max-time 30m --max-error-rate 20%",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let yaml = r#"
kneepoint: 1
name: n
seed: 7
model: {id: org/m, tokenizer: t.json}
platforms:
  127.0.0.1-8000:
    {dialect: openai-completions, url: "http://127.0.0.1:8000/v1", key: "${KEY}", connection: per-request, http: 2, rtt_probe: true, ca: ca.pem,
     length_control: natural,
     time_limits: {connect: 3s, first_token: 20s, between_chunks: 4s, total: 30s},
     price: {currency: USD, per_hour: 1.20, per_request: 0.001}}
workloads:
  fixed: {input: 100, output: 50}
load:
  - rate: {sweep: [0.5, 1], arrival: poisson, max_in_flight: 40, stop_at_plateau: 5%, end_when_saturated: false,
           for: 10s, min_samples: 5, warm_up: 1s, drain: 2s}
  - concurrency: {sweep: [1, 2, 3], stop_at_plateau: 5%, for: 10s, min_samples: 5, warm_up: 1s, drain: 2s}
slo:
  slo: {e2e: 1s, share: 95%}
  slow: {e2e: 9s}
limits: {spend: 2.50 USD, tokens: 2000000, requests: 100000, time: 30m, errors: 20%}
"#;
    let context = ResolveContext { base_dir: std::path::Path::new("/here"), env: &env };
    let same = kneepoint_model::plan::resolve("y", yaml, &context).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(plan, same);
}

#[test]
fn without_a_stream_there_is_no_time_of_a_token_to_limit() {
    let whole = "--url http://h --model m --concurrency 1 --no-stream";
    let plan = resolve(whole).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(!plan.workloads[0].stream);
    let problems = resolve(&format!("{whole} --first-token-timeout 2s")).expect_err("no first token is seen");
    assert!(problems.contains("--first-token-timeout can never be reached"), "{problems}");
    assert!(problems.contains("hint: limit --request-timeout instead, or leave --no-stream out"), "{problems}");
}

#[test]
fn ranges_double_as_in_yaml() {
    let plan = resolve("--url http://h --model m --concurrency 1..32").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(plan.loads[0].levels, [1, 2, 4, 8, 16, 32].map(Level::Concurrency));
    assert_eq!((plan.workloads[0].input.0, plan.workloads[0].output.0), (DEFAULT_INPUT, DEFAULT_OUTPUT));
}

#[test]
fn every_problem_names_its_flag() {
    let problems = resolve(
        "--url ftp://h --model m --key-env NOT_SET --rate 1,x --concurrency 0 --for 10 --slo ttft:1s --slo share=2 \
             --output 0",
    )
    .expect_err("nearly everything is wrong");
    let headlines: Vec<&str> = problems.lines().filter_map(|line| line.strip_prefix("the command line: ")).collect();
    assert_eq!(
        headlines,
        [
            "--rate: `x` is no level",
            "--slo: `ttft:1s` has no `=`",
            "--url: the URL is neither `http://` nor `https://`",
            "--key-env: the environment variable NOT_SET is not set",
            "--output: --output is out of range",
            "--for: --for does not fit",
            "--concurrency: a level of --concurrency is out of range",
        ],
        "{problems}"
    );
    assert!(problems.ends_with("7 problems in the command line"), "{problems}");
}

#[test]
fn what_is_missing_is_asked_for_by_flag() {
    let problems = resolve("--no-stream").expect_err("nothing to measure");
    let headlines: Vec<&str> = problems.lines().filter_map(|line| line.strip_prefix("the command line: ")).collect();
    assert_eq!(
        headlines,
        [
            "--url: the address of the platform is missing",
            "--model: the model's name is missing",
            "--rate, --concurrency or --search-from: no load is given",
        ],
        "{problems}"
    );
}

#[test]
fn hints_speak_of_flags_and_not_of_keys_of_a_plan() {
    let problems = resolve("--url http://h --model m --rate 1,2,2 --for 10s --min-samples 100 --at-most 20s")
        .expect_err("too few at the lowest rate, and a level twice");
    assert!(problems.contains("hint: ask for fewer samples, or set a longer --at-most"), "{problems}");
    assert!(problems.contains("--rate has the level 2 twice"), "{problems}");
    assert!(problems.contains("--save-plan writes one"), "{problems}");
    let falling = resolve("--url http://h --model m --concurrency 4,2 --stop-at-plateau 5%").expect_err("falling");
    assert!(falling.contains("--stop-at-plateau: a plateau is seen from one level to the next"), "{falling}");
    assert!(falling.contains("levels in --concurrency, the lowest first, or leave --stop-at-plateau out"), "{falling}");
    let shorter = resolve("--url http://h --model m --concurrency 1 --for 10s --at-most 5s").expect_err("shorter");
    assert!(shorter.contains("--at-most is shorter than --for, which is 10s"), "{shorter}");
    for key in ["`sweep`", "`at_most`", "`for`", "`load`"] {
        assert!(!problems.contains(key) && !shorter.contains(key), "{key}: {problems}\n{shorter}");
    }
}

#[test]
fn a_password_in_the_url_is_not_repeated() {
    let problems = resolve("--url http://me:hunter2@host --model m --rate 1").expect_err("credentials");
    assert!(problems.contains("--url") && !problems.contains("hunter2"), "{problems}");
}

#[test]
fn what_means_something_for_rates_alone_is_refused_without_them() {
    let problems =
        resolve("--url http://h --model m --concurrency 4 --arrival poisson --max-in-flight 9 --hold-when-saturated")
            .expect_err("a closed loop has none of them");
    assert!(problems.contains("--hold-when-saturated: levels of no rate have no backlog"), "{problems}");
    assert!(problems.contains("--arrival: an arrival without rates"), "{problems}");
    assert!(problems.contains("--max-in-flight: a limit on requests in flight without rates"), "{problems}");
}

#[test]
fn what_is_cut_at_the_end_is_not_waited_for() {
    let plan =
        resolve("--url http://h --model m --rate 1 --at-end cancel").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((plan.loads[0].hold.at_end, plan.loads[0].hold.drain.0), (EndPolicy::Cancel, 0));
    let problems = resolve("--url http://h --model m --rate 1 --at-end cancel --drain 1s").expect_err("both");
    assert!(problems.contains("--drain: --drain is given where --at-end is `cancel`, which waits"), "{problems}");
}

#[test]
fn a_limit_on_spending_asks_for_a_price_by_its_flag() {
    let call = "--url http://h --model m --rate 1 --max-spend 2USD";
    let problems = resolve(call).expect_err("no price");
    assert!(problems.contains("what platform `h` costs is not said, and --max-spend is given"), "{problems}");
    assert!(problems.contains("give --price currency=USD,per_hour=… (per_hour=0 if"), "{problems}");
    let problems = resolve(&format!("{call} --price currency=EUR,per_hour=1")).expect_err("another currency");
    assert!(problems.contains("--price: the price is in EUR, and --max-spend in USD"), "{problems}");
    for (price, said) in [
        ("USD", "--price: `USD` has no `=`"),
        ("per_hour=1", "--price: a price without `currency=`"),
        ("currency=USD,per_day=1", "--price: `per_day` is no part of a price"),
        ("currency=USD,per_hour=1,per_hour=2", "--price: `per_hour` is given twice"),
        ("currency=USD,per_hour=1e3", "--price: `per_hour` does not fit"),
    ] {
        let problems = resolve(&format!("{call} --price {price}")).expect_err("a bad price");
        assert!(problems.contains(said) && problems.ends_with("1 problem in the command line"), "{problems}");
    }
}

#[test]
fn every_limit_names_its_flag() {
    let problems =
        resolve("--url http://h --model m --rate 1 --max-tokens 0 --max-requests 0 --max-time 5 --max-error-rate 1")
            .expect_err("nothing fits");
    for flag in ["--max-tokens", "--max-requests", "--max-time"] {
        assert!(problems.contains(&format!("{flag}: {flag} ")), "{problems}");
    }
    assert!(problems.contains("--max-error-rate: a limit on failures that can never be passed"), "{problems}");
}

#[test]
fn a_search_is_made_of_flags() {
    let call = "--url http://h --model m --slo ttft=500ms,share=95%";
    let plan = resolve(&format!(
        "{call} --search-from 0.5/s --search-up-to 100 --search-tolerance 2% --search-confirm 3 --arrival poisson --for 30s \
         --max-in-flight 50 --hold-when-saturated"
    ))
    .unwrap_or_else(|problems| panic!("{problems}"));
    let load = &plan.loads[0];
    let search = load.search.expect("a search");
    assert_eq!((search.slo, search.from.get(), search.at_most.get(), search.confirm), (0, 0.5, 100.0, 3));
    assert_eq!((search.tolerance.get(), search.arrival), (0.02, Arrival::Poisson));
    assert_eq!(
        (load.max_in_flight, load.end_when_saturated, load.hold.at_least.as_secs_f64()),
        (Some(50), false, 30.0)
    );
    assert!(plan.points().is_empty() && load.levels.is_empty());

    let named =
        resolve(&format!("{call} --slo name=whole,e2e=9s --search-slo whole --search-from 1/s --search-up-to 9/s"))
            .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(named.loads[0].search.map(|search| search.slo), Some(1));
}

#[test]
fn what_a_search_lacks_is_asked_for_by_flag() {
    let headlines = |line: &str| -> Vec<String> {
        let problems = resolve(&format!("--url http://h --model m {line}")).expect_err("something is missing");
        problems.lines().filter_map(|line| line.strip_prefix("the command line: ")).map(str::to_owned).collect()
    };
    assert_eq!(
        headlines("--search-tolerance 1%"),
        [
            "--search-from: the first rate of the search is missing",
            "--search-up-to: the highest rate of the search is missing",
            "--search-slo: a search needs limits to meet, and none are given",
        ]
    );
    assert_eq!(
        headlines("--search-from 1/s --search-up-to 2/s --slo e2e=1s --slo ttft=1s"),
        ["--search-slo: which of the limits the search has to meet is not said"]
    );
    assert_eq!(
        headlines("--search-from 4/s --search-up-to 2rps --slo e2e=1s --search-confirm 99 --stop-at-plateau 5%"),
        [
            "--stop-at-plateau: there is no sweep that could stop",
            "--search-up-to: --search-up-to does not fit",
            "--search-confirm: --search-confirm is out of range",
        ]
    );
    assert_eq!(
        headlines("--search-from 1/s --search-up-to 9/s --slo name=x,e2e=1s --at-most 90s"),
        [
            "--at-most: at 1/s a window of at most 90s holds 90 requests, and it takes 381 to show that 99% of them meet `x`"
        ]
    );
}
