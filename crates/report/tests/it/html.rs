//! The HTML report: whole, escaped, self-contained.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kneepoint_report::{Language, html};

use crate::sample::{SHAPES, Sample, closed_loop, sample, troubled};

/// The page without the chart library, whose text is not ours.
fn without_library(page: &str) -> String {
    let library = include_str!("../../vendor/echarts/echarts.common.min.js");
    assert!(page.contains(library), "the chart library must be in the page, unchanged");
    page.replace(library, "")
}

#[test]
fn samples_are_written_out_to_be_looked_at() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (three, closed) = (troubled(), closed_loop());
    let (empty, attack, found) = (sample("empty", &[], &[]), hostile(), crate::capacity::pair());
    for language in Language::ALL {
        for (name, page) in [
            ("troubled", html(&[three.run()], language)),
            ("two", html(&[closed.run(), three.run()], language)),
            ("searched", html(&[found.run()], language)),
            ("empty", html(&[empty.run()], language)),
            ("hostile", html(&[attack.run()], language)),
        ] {
            fs::write(folder.join(format!("report-{name}-{}.html", language.code())), page).unwrap();
        }
    }
}

#[test]
fn sections_stand_in_the_order_of_reading() {
    let run = troubled();
    for language in Language::ALL {
        let page = without_library(&html(&[run.run()], language));
        let order = [
            "<h1>",
            "class=\"simulated\"",
            "id=\"verdict\"",
            "id=\"read-first\"",
            "id=\"curve\"",
            "id=\"capacity\"",
            "id=\"distribution\"",
            "id=\"series\"",
            "id=\"figures\"",
            "id=\"method\"",
            "id=\"validity\"",
            "id=\"glossary\"",
        ];
        let positions: Vec<usize> =
            order.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
        assert!(positions.is_sorted(), "{positions:?}");
        assert!(page.contains("kneepoint run plan.yaml"));
    }
}

#[test]
fn nothing_is_loaded_and_only_our_scripts_run() {
    let run = troubled();
    let page = html(&[run.run()], Language::English);
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src"), "policy");
    assert_eq!(page.matches("sha256-").count(), 2);
    let own = without_library(&page);
    for forbidden in ["<link", " src=", "@import", "url(", "<iframe", "onload=", "onclick=", "javascript:"] {
        assert!(!own.contains(forbidden), "{forbidden}");
    }
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn the_policy_names_the_scripts_in_the_page() {
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};
    let run = closed_loop();
    let page = html(&[run.run()], Language::English);
    let scripts: Vec<&str> = page.split("<script>").skip(1).map(|s| s.split("</script>").next().unwrap()).collect();
    assert_eq!(scripts.len(), 2);
    for script in scripts {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
        assert!(page.contains(&hash.replace('+', "&#43;")) || page.contains(&hash), "{hash}");
    }
}

const ATTACK: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{2028}{{7*7}}";

/// A run in which every text that comes from elsewhere is an attack.
fn hostile() -> Sample {
    let mut run = sample(ATTACK, &SHAPES[..1], &[1.0, 40.0]);
    let environment = run.environment.platforms.remove(SHAPES[0].name).unwrap();
    run.environment.platforms.insert(ATTACK.into(), environment);
    for p in &mut run.summary.points {
        p.platform = ATTACK.into();
        p.workload = ATTACK.into();
        let slo = p.slo.remove("realtime").unwrap();
        p.slo.insert(ATTACK.into(), slo);
    }
    run.point(1).requests.failure_examples.insert("http_429".into(), ATTACK.into());
    run.point(1).requests.failed.insert(ATTACK.into(), 1);
    run.point(1).client.clock = ATTACK.into();
    run.plan = ATTACK.into();
    let observed = &mut run.environment.platforms.get_mut(ATTACK).unwrap().observed;
    observed.problems = vec![ATTACK.into()];
    observed.server_header = Some(ATTACK.into());
    observed.models = vec![ATTACK.into()];
    let declared = &mut run.environment.platforms.get_mut(ATTACK).unwrap().declared;
    declared.insert(ATTACK.into(), ATTACK.into());
    run
}

#[test]
fn hostile_text_stays_text() {
    let run = hostile();
    for language in Language::ALL {
        let page = without_library(&html(&[run.run()], language));
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "markup got through");
        assert_eq!(page.matches("<script").count(), 3, "data, library, charts");
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(!page.contains(&format!("\"{ATTACK}")));
    }
}

#[test]
fn anchors_exist_and_are_unique() {
    for run in [troubled(), sample("empty", &[], &[])] {
        let page = without_library(&html(&[run.run()], Language::English));
        let mut ids = BTreeSet::new();
        for id in page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(ids.insert(id.to_owned()), "{id} twice");
        }
        for target in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(ids.contains(target), "#{target} leads nowhere");
        }
    }
}

#[test]
fn tags_are_balanced() {
    let run = troubled();
    for language in Language::ALL {
        let page = without_library(&html(&[run.run()], language));
        for tag in [
            "section", "table", "thead", "tbody", "tr", "th", "td", "div", "ul", "ol", "li", "details", "figure",
            "svg", "label", "fieldset", "select", "p", "span",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}

#[test]
fn what_is_missing_says_why() {
    let run = troubled();
    let page = html(&[run.run()], Language::English);
    assert!(page.contains("n = 60, needs 662"), "refused percentile");
    assert!(page.contains("No sample: no request of this point has such a value."), "footnote");
    assert!(page.contains("falls on a failure"), "percentile with failures");
    for bad in ["NaN", "None", "Some(", "inf ms", "null ms"] {
        assert!(!without_library(&page).contains(bad), "{bad}");
    }
}

#[test]
fn real_runs_are_not_called_simulated() {
    let run = closed_loop();
    for language in Language::ALL {
        let page = without_library(&html(&[run.run()], language));
        assert!(!page.contains("class=\"simulated\""));
    }
}

#[test]
fn the_language_is_one() {
    let run = sample("plain", &SHAPES[..1], &[1.0, 2.0]);
    let english = without_library(&html(&[run.run()], Language::English));
    let han = |c: &char| ('\u{4e00}'..='\u{9fff}').contains(c);
    let plan_comment = "中文注释";
    let found: String = english.replace(plan_comment, "").chars().filter(han).collect();
    assert!(found.is_empty(), "{found}");
    assert!(html(&[run.run()], Language::Chinese).contains("<html lang=\"zh-CN\""));
}
