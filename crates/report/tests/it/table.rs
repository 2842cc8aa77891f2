//! The table for terminals.

use kneepoint_report::{Language, text_table};

use crate::sample::{SHAPES, closed_loop, sample, troubled};

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
