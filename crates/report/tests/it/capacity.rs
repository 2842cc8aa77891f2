//! Capacity: what searches and sweeps show together, the limit that ended a run, and what was left out.

use kneepoint_model::bundle::SearchVerdict::{Meets, Misses, Undecided};
use kneepoint_model::bundle::{LimitKind, LimitReached, PointEnd, RunStatus, SearchVerdict};
use kneepoint_model::plan::EndPolicy;
use kneepoint_model::summary::{AtEnd, ReasonCode, Severity};
use kneepoint_report::{Language, html, markdown, text_table};

use crate::curves::searched;
use crate::sample::{SHAPES, Sample, reason, sample, troubled};

const FAST: [(f64, SearchVerdict); 5] = [(4.0, Meets), (8.0, Meets), (16.0, Misses), (12.0, Misses), (8.0, Meets)];
const SLOW: [(f64, SearchVerdict); 3] = [(4.0, Meets), (8.0, Misses), (6.0, Undecided)];

fn text(run: &Sample, language: Language) -> String {
    markdown(&[run.run()], language).text.replace('\\', "")
}

fn section(text: &str, heading: &str) -> String {
    text.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap().to_owned()
}

pub(crate) fn pair() -> Sample {
    searched(&[(SHAPES[0], &FAST), (SHAPES[1], &SLOW)])
}

#[test]
fn the_section_says_what_was_found() {
    let run = pair();
    for (language, heading, name) in
        [(Language::English, "Capacity", "capacity_en"), (Language::Chinese, "承载能力", "capacity_zh")]
    {
        insta::assert_snapshot!(name, section(&text(&run, language), heading));
    }
    insta::assert_snapshot!("table_searched_en", text_table(&run.summary, Language::English));
}

#[test]
fn a_search_is_judged_by_its_range() {
    let verdict = |run: &Sample| section(&text(run, Language::English), "Verdict");
    let told = verdict(&pair());
    assert!(told.contains("**vllm-a100 sustains the most by its search: 8–12 req/s."), "{told}");
    assert!(told.contains("Measured once more at that rate, it met it again."), "{told}");
    // Ranges that overlap tell no difference.
    let run = searched(&[(SHAPES[0], &FAST), (SHAPES[2], &[(8.0, Meets), (16.0, Misses)])]);
    let told = verdict(&run);
    assert!(told.contains("**The searches tell no difference between vllm-a100 and"), "{told}");
    // One alone is told as it is.
    let told = verdict(&searched(&[(SHAPES[0], &FAST)]));
    assert!(told.contains("**vllm-a100 sustains 8–12 req/s by its search.**"), "{told}");
}

#[test]
fn a_search_that_rests_on_an_invalid_step_is_not_used() {
    let mut run = searched(&[(SHAPES[0], &FAST)]);
    for p in &mut run.summary.points {
        p.valid = false;
        p.reasons.push(reason(ReasonCode::ClientLate, Severity::Invalid, Some(40.0), Some(10.0)));
    }
    let told = section(&text(&run, Language::English), "Verdict");
    assert!(told.contains("**No search found a rate that meets it at a valid step.**"), "{told}");
    assert!(told.contains("No step at 8 req/s is valid"), "{told}");
    assert!(told.contains("At 12 req/s this client was late or short of CPU"), "{told}");
}

#[test]
fn an_incomplete_search_says_so() {
    let mut run = searched(&[(SHAPES[0], &[(4.0, Meets)])]);
    let result = run.summary.curves.last_mut().unwrap().search.as_mut().unwrap();
    result.complete = false;
    let told = text(&run, Language::English);
    assert!(told.contains("meets realtime (95%) at 4 req/s; no rate was found that surely misses it."), "{told}");
    assert!(told.contains("The search did not come to its end"), "{told}");
    let result = run.summary.curves.last_mut().unwrap().search.as_mut().unwrap();
    (result.complete, result.at_most_met) = (true, true);
    assert!(text(&run, Language::English).contains("the highest rate that the search may try"));
}

#[test]
fn steps_of_a_search_are_no_levels_of_the_sweep() {
    let run = pair();
    let told = text(&run, Language::English);
    assert!(told.contains("| 4 req/s<br><sub>search step 1</sub> |"), "{told}");
    assert!(told.contains("| 4 req/s |"), "the sweep's own");
    let table = text_table(&run.summary, Language::English);
    assert!(table.contains("8 req/s, search step 5") && !table.contains("points:"), "{table}");
    // The plan has four points; the steps are no more of them.
    assert!(told.contains("| 4 / 4, 8 search steps |"), "{told}");
    let page = html(&[run.run()], Language::English);
    assert!(page.contains("fixed, search for realtime") && page.contains("fixed, open loop"));
}

#[test]
fn the_knee_is_marked_and_held_against_the_capacity() {
    let run = troubled();
    let report = markdown(&[run.run()], Language::English);
    let curve = |name: &str| report.svgs.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert!(curve("report-curve-ttft.svg").contains(">latency knee</text>"));
    assert!(curve("report-curve-e2e.svg").contains(">throughput knee</text>"));
    let capacity = section(&report.text, "Capacity");
    assert!(capacity.contains("vllm-a100: latency climbs from 8 req/s on"), "{capacity}");
    assert!(capacity.contains("the curve bends before realtime is missed"), "{capacity}");
    let page = html(&[run.run()], Language::English);
    assert!(page.contains("\"knees\":[{\"label\":\"latency knee\",\"point\":3}"), "live charts mark it too");
}

#[test]
fn the_limit_that_ended_a_run_stands_with_its_figure() {
    let mut run = sample("capped", &SHAPES[..1], &[1.0, 2.0]);
    run.summary.run.status = RunStatus::LimitReached;
    run.summary.run.points_planned = 4;
    run.summary.run.limit = Some(LimitReached { limit: LimitKind::Spend, observed: 2.512, allowed: 2.5 });
    let bare = "spend limit reached: 2.51 of 2.50";
    let told = text(&run, Language::English);
    assert!(told.contains(&format!("capped: {bare}; the run ended there, and 2 of 4 points were measured.")), "{told}");
    run.plan = plan_with_limits();
    assert!(text(&run, Language::English).contains(&format!("capped: {bare} USD;")));
    assert!(text(&run, Language::Chinese).contains("达到花费上限：2.51，上限 2.50 USD"));
    assert!(text_table(&run.summary, Language::English).contains(&format!("\n{bare}\n")));
    for (limit, observed, allowed, figure) in [
        (LimitKind::Tokens, 120_400.0, 120_000.0, "token limit reached: 120,400 of 120,000"),
        (LimitKind::Requests, 500.0, 500.0, "request limit reached: 500 of 500"),
        (LimitKind::Time, 61.2, 60.0, "time limit reached: 61.2 of 60 s"),
        (LimitKind::Errors, 0.113, 0.1, "error limit reached: 11.3% of 10%"),
    ] {
        run.summary.run.limit = Some(LimitReached { limit, observed, allowed });
        let told = text(&run, Language::English);
        assert!(told.contains(figure), "{figure}: {told}");
    }
}

fn plan_with_limits() -> String {
    "kneepoint: 1\nname: capped\nmodel: {id: m}\nplatforms:\n  vllm: {url: 'http://127.0.0.1:8000/v1'}\n  tgi: {url: \
     'http://127.0.0.1:8001/v1'}\nworkloads:\n  chat: {input: 8, output: 8}\nload:\n  - rate: {sweep: [1.0, 2.0, 4.0, \
     8.0], stop_at_plateau: 5%}\nlimits: {spend: 2.50 USD}\n"
        .into()
}

#[test]
fn points_left_out_at_a_plateau_are_named_and_not_missing() {
    let mut run = sample("flat", &SHAPES[..2], &[1.0, 2.0, 4.0]);
    run.summary.run.points_planned = 8;
    run.summary.run.skipped = vec![3, 7];
    run.plan = plan_with_limits();
    for language in Language::ALL {
        let told = text(&run, language);
        assert!(!told.contains("6 of 8") && !told.contains("实际测得 6"), "{told}");
        assert!(!text_table(&run.summary, language).contains("8 个测试点"));
    }
    let told = text(&run, Language::English);
    assert!(told.contains("flat: throughput had stopped growing"), "{told}");
    assert!(told.contains("vllm, 8 req/s") && told.contains("tgi, 8 req/s"), "{told}");
    assert!(text_table(&run.summary, Language::English).contains("left out, throughput having stopped growing: 2"));
    // A plan that cannot be read leaves their numbers.
    run.plan.clear();
    assert!(text(&run, Language::English).contains("point 4 of the plan"));
}

#[test]
fn how_a_window_ends_is_part_of_the_method() {
    let mut run = sample("ends", &SHAPES[..1], &[1.0, 2.0]);
    run.point(1).at_end = Some(AtEnd { policy: EndPolicy::Cancel, drain_s: 0.0 });
    let told = text(&run, Language::English);
    assert!(told.contains("waited for, at most 30 s (drain); cut at once (cancel)"), "{told}");
}

#[test]
fn a_point_that_was_ended_early_is_marked() {
    let mut run = sample("early", &SHAPES[..1], &[1.0, 2.0]);
    run.point(1).end = PointEnd::OverSaturated;
    run.point(1).valid = false;
    let told = text(&run, Language::English);
    assert!(told.contains("2 req/s<br><sub>not valid, ended early: over-saturated</sub>"), "{told}");
}
