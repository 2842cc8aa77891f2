//! Journals are read to the last whole frame, whatever happened to the rest.

use std::fs;
use std::path::Path;

use kneepoint_model::Nanos;
use kneepoint_model::bundle::{self, Loss, PointEvent, PointStarted, SearchPoint};
use kneepoint_model::plan::Arrival;
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

/// A folder with all of a bundle that ended well but its journals.
fn bundle_in(directory: &Path) {
    let at = |name: &str| directory.join(name);
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
}

/// A bundle of a run that ended well, with a journal that was cut afterwards.
#[test]
fn what_a_cut_journal_lost_is_counted_though_the_run_was_complete() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| directory.path().join(name);
    bundle_in(directory.path());
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

/// Points past the plan's own are told with what they measure, and the client's own journal is read where there is one.
#[test]
fn what_a_search_chose_and_what_the_client_saw() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    bundle_in(directory.path());
    let at = |name: &str| directory.path().join(name);
    fs::write(at(bundle::REQUESTS), journal(&[])).expect("writes");
    assert_eq!(Bundle::open(directory.path()).expect("a bundle").telemetry().expect("none"), []);
    let search = SearchPoint {
        platform: 0,
        workload: 0,
        load: 1,
        rate_rps: 2.5,
        arrival: Arrival::Poisson,
        held: Nanos::from_secs(60),
    };
    let started = |point, search| PointStarted {
        point,
        started: Nanos(0),
        window_start: Nanos(0),
        window_end: Nanos::from_secs(60),
        search,
    };
    let ended = serde_json::json!({
        "event": "ended", "point": 3, "started_ns": 0, "window_start_ns": 0, "window_end_ns": 1, "ended_ns": 1,
        "scheduled": 0, "unsent": 0, "interrupted": false,
    });
    let lines = [
        serde_json::to_value(PointEvent::Started(started(2, None))).expect("JSON"),
        serde_json::to_value(PointEvent::Started(started(3, Some(search)))).expect("JSON"),
        ended,
    ];
    fs::write(at(bundle::POINTS), lines.map(|line| format!("{line}\n")).concat()).expect("writes");
    let sample = serde_json::json!({
        "at_ns": 5, "point": 3, "in_flight": 1, "dispatched": 2, "ended": 1, "failed": 0, "lag_max_ns": 0,
        "cpu_cores": null, "rtt_ns": 400_000,
    });
    let frame = zstd::bulk::compress(format!("{sample}\n").as_bytes(), 3).expect("compresses");
    fs::write(at(bundle::TELEMETRY), frame).expect("writes");
    let bundle = Bundle::open(directory.path()).expect("a bundle");
    assert_eq!(bundle.searches, [(3, search)].into());
    assert_eq!(bundle.points.iter().map(|point| point.point).collect::<Vec<_>>(), [3, 2], "2 never ended");
    let telemetry = bundle.telemetry().expect("a journal");
    assert_eq!((telemetry.len(), telemetry[0].rtt), (1, Some(Nanos(400_000))));
}
