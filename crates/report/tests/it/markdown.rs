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
