//! Journals are read to the last whole frame, whatever happened to the rest.

use std::fs;

use kneepoint_model::bundle::{self, Loss};
use kneepoint_store::{Bundle, Lines};
use proptest::prelude::*;

fn journal(frames: &[Vec<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        let text = frame.iter().map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        bytes.extend(zstd::bulk::compress(text.as_bytes(), 3).expect("compresses"));
    }
    bytes
}

fn read(bytes: &[u8]) -> (Vec<u64>, u64) {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let path = directory.path().join("journal");
    fs::write(&path, bytes).expect("writes");
    let mut lines = Lines::<u64>::open(&path).expect("opens");
    let values = lines.by_ref().map(|line| line.expect("a whole line")).collect();
    (values, lines.lost_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cut_loses_only_the_frame_it_falls_in(
        frames in prop::collection::vec(prop::collection::vec(any::<u64>(), 1..50), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = journal(&frames);
        let cut = cut.index(whole.len() + 1);
        let (values, lost) = read(&whole[..cut]);
        let mut kept = 0;
        let mut expected: Vec<u64> = Vec::new();
        for frame in &frames {
            let next = kept + journal(std::slice::from_ref(frame)).len();
            if next > cut {
                break;
            }
            kept = next;
            expected.extend(frame);
        }
        prop_assert_eq!(values, expected);
        prop_assert_eq!(lost, (cut - kept) as u64);
    }

    #[test]
    fn foreign_bytes_end_in_a_count_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let path = directory.path().join("journal");
        fs::write(&path, &bytes).expect("writes");
        let mut lines = Lines::<u64>::open(&path).expect("opens");
        for line in lines.by_ref().take(1000) {
            let _ = line;
        }
        prop_assert!(lines.lost_bytes() <= bytes.len() as u64);
    }
}

#[test]
fn a_line_of_another_kind_is_named() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let path = directory.path().join("journal");
    fs::write(&path, zstd::bulk::compress(b"1\n\"two\"\n", 3).expect("compresses")).expect("writes");
    let results: Vec<_> = Lines::<u64>::open(&path).expect("opens").collect();
    assert!(matches!(results[0], Ok(1)));
    let error = results[1].as_ref().expect_err("not a number").to_string();
    assert!(error.starts_with("line 2 of") && error.ends_with("is not a line this version understands"), "{error}");
}

/// A bundle of a run that ended well, with a journal that was cut afterwards.
#[test]
fn what_a_cut_journal_lost_is_counted_though_the_run_was_complete() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| directory.path().join(name);
    let manifest = serde_json::json!({
        "format": bundle::FORMAT, "tool": "0", "name": "n", "seed": 1, "started": "2026-11-30T08:15:00Z",
        "started_unix_s": 0.0, "ended": "2026-11-30T08:16:00Z", "status": "complete",
        "host": {"os": "", "arch": "", "cpu": null, "cores": 1, "memory_bytes": null},
        "git": null, "clock": "read", "points": 0, "sha256": {},
    });
    fs::write(at(bundle::MANIFEST), manifest.to_string()).expect("writes");
    fs::write(at(bundle::ENVIRONMENT), r#"{"platforms": {}}"#).expect("writes");
    fs::write(at(bundle::PLAN), "").expect("writes");
    fs::write(at(bundle::POINTS), "").expect("writes");
    // Opening does not look at the lines.
    let (first, second) = (journal(&[vec![1, 2]]), journal(&[vec![3, 4, 5]]));
    let loss = |kept: usize| {
        fs::write(at(bundle::REQUESTS), [&first[..], &second[..kept]].concat()).expect("writes");
        Bundle::open(directory.path()).expect("a bundle").loss
    };
    assert_eq!(loss(second.len()), None);
    assert_eq!(loss(7), Some(Loss { bytes: 7, unflushed: false }));
    assert_eq!(loss(0), None);
}
