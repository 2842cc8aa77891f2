//! The table for terminals.

use kneepoint_model::summary::{ReasonCode, Severity};
use kneepoint_report::{Language, text_table};

use crate::sample::{SHAPES, closed_loop, reason, sample, troubled};

#[test]
fn english() {
    insta::assert_snapshot!("table_en", text_table(&troubled().summary, Language::English));
}

#[test]
fn chinese() {
    insta::assert_snapshot!("table_zh", text_table(&closed_loop().summary, Language::Chinese));
}

#[test]
fn columns_stand_in_line_whatever_the_script() {
    use unicode_width::UnicodeWidthStr as _;
    for language in Language::ALL {
        let text = text_table(&closed_loop().summary, language);
        let lines: Vec<&str> = text.lines().collect();
        let widths: Vec<usize> = [0].into_iter().chain(2..8).map(|i| lines[i].width()).collect();
        assert!(widths.iter().all(|w| *w == widths[0]), "{widths:?}\n{text}");
    }
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let mut run = sample("x", &SHAPES[..1], &[1.0]);
    run.point(0).platform = "a\u{1b}[31mred\nline".into();
    let text = text_table(&run.summary, Language::English);
    assert!(!text.contains('\u{1b}') && text.contains("a\u{fffd}[31mred\u{fffd}line"), "{text}");
}

#[test]
fn a_run_without_points_is_a_table_without_rows() {
    let mut run = sample("x", &[], &[]);
    run.summary.run.points_planned = 3;
    let text = text_table(&run.summary, Language::English);
    assert!(text.contains("points: 0 of 3"), "{text}");
}

#[test]
fn the_table_says_itself_what_is_wrong_with_its_points() {
    let mut run = sample("x", &SHAPES[..1], &[1.0, 2.0, 4.0]);
    assert!(!text_table(&run.summary, Language::English).contains("Cut"));
    let cut = run.point(2);
    (cut.requests.cut, cut.valid) = (135, false);
    cut.reasons.push(reason(ReasonCode::Cut, Severity::Invalid, Some(135.0), Some(12.0)));
    for index in [0, 1] {
        run.point(index).reasons.push(reason(ReasonCode::Oddities, Severity::Warning, Some(3.0), Some(0.0)));
    }
    let text = text_table(&run.summary, Language::English);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("Failed  Cut  Requests/s"), "{text}");
    assert!(lines[4].contains(" 135 "), "{text}");
    let why = "  vllm-a100, 4 req/s: Requests were still open at the end of the drain (still open: 135, limit 12)";
    assert!(lines.contains(&why), "{text}");
    assert!(lines.contains(&"  Malformed or unknown events in the answers (2 of 3 points)"), "{text}");
    assert!(lines.contains(&"* p95 needs 130 samples, p99 662"), "{text}");
}
