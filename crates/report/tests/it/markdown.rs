//! The Markdown report.

use kneepoint_report::{Language, markdown};

use crate::sample::{SHAPES, closed_loop, sample, troubled};

#[test]
fn english() {
    let run = troubled();
    insta::assert_snapshot!("markdown_en", markdown(&[run.run()], Language::English).text);
}

#[test]
fn chinese() {
    let run = troubled();
    insta::assert_snapshot!("markdown_zh", markdown(&[run.run()], Language::Chinese).text);
}

#[test]
fn two_runs_without_an_slo() {
    let (a, b) = (closed_loop(), closed_loop());
    let report = markdown(&[a.run(), b.run()], Language::English);
    insta::assert_snapshot!("markdown_two_runs", report.text.split("\n## Figures").next().unwrap());
}

#[test]
fn a_run_is_repeated_by_what_can_be_run() {
    let repeat = |run: &crate::sample::Sample, language| {
        let text = markdown(&[run.run()], language).text;
        let heading = if language == Language::English { "**To repeat it**" } else { "**如何复现**" };
        text.split(heading).nth(1).unwrap().split("**").next().unwrap().to_owned()
    };
    for language in Language::ALL {
        let mut run = sample("demo", &SHAPES[..1], &[1.0]);
        let text = repeat(&run, language);
        assert!(text.contains("\nkneepoint demo\n") && !text.contains("plan.yaml"), "{text}");
        run.summary.run.name = "mine".into();
        let text = repeat(&run, language);
        assert!(text.contains("kneepoint sim") && text.contains("\nkneepoint run plan.yaml\n"), "{text}");
        // A real service may have a plan of any name.
        run.summary.run.name = "demo".into();
        run.summary.simulated = false;
        let text = repeat(&run, language);
        assert!(!text.contains("kneepoint sim") && text.contains("\nkneepoint run plan.yaml\n"), "{text}");
    }
}

#[test]
fn a_tpot_of_some_answers_says_of_how_many() {
    let mut run = sample("x", &SHAPES[..1], &[2.0]);
    let note = "TPOT of 70 of 120 answers; the others had no measurable span";
    assert!(!markdown(&[run.run()], Language::English).text.contains("TPOT of "));
    run.point(0).tpot_ms = crate::sample::distribution(70, 11.0, 0.1);
    let text = markdown(&[run.run()], Language::English).text;
    assert_eq!(text.matches(note).count(), 3, "key figures, TPOT and output speed: {text}");
    // Where tokens were not counted, that is the reason, and a warning of its own.
    run.point(0).output_tokens.used.n = 70;
    assert!(!markdown(&[run.run()], Language::English).text.contains("TPOT of "));
}

#[test]
fn every_chart_named_is_given_and_the_other_way_round() {
    let run = troubled();
    let report = markdown(&[run.run()], Language::English);
    let named: Vec<&str> =
        report.text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name).collect();
    let given: Vec<&str> = report.svgs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(named, given);
    assert!(given.len() >= 6, "{given:?}");
    for (name, svg) in &report.svgs {
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>"), "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{name}");
        assert!(svg.len() < 200_000, "{name}: {} bytes", svg.len());
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut run = sample("a|b <img src=x> [link](http://evil)", &SHAPES[..1], &[1.0, 40.0]);
    run.plan = "x: \"```\"\n```\n# not a heading\n````".into();
    run.point(1).requests.failure_examples.insert("http_429".into(), "x | y\n\n# h <script>".into());
    let text = markdown(&[run.run()], Language::English).text;
    assert!(!text.contains("<img") && !text.contains("<script") && !text.contains("[link]("), "{text}");
    assert!(text.contains("`````yaml\n"), "the fence must be longer than the plan's");
    // Every row of a table has the columns its head has.
    let mut columns = None;
    for line in text.lines() {
        let cells = line.replace("\\|", "").matches('|').count();
        match (line.starts_with('|'), columns) {
            (true, None) => columns = Some(cells),
            (true, Some(head)) => assert_eq!(cells, head, "{line}"),
            (false, _) => columns = None,
        }
    }
}
