//! Three days in virtual time.

use std::fs;

use kneepoint_model::Nanos;
use kneepoint_model::bundle::PointEnd;

use super::world::Service;
use super::{plan, run};

const HOUR: u64 = 3600;
/// Set in the process that the test runs itself in.
const ALONE: &str = "KNEEPOINT_TEST_SOAK_ALONE";

/// Memory that the process holds, kB.
fn resident_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Nothing is lost over 72 hours, nothing is late, and the last hour takes the memory that the second took.
#[test]
fn three_days_lose_nothing_and_grow_nothing() {
    if std::env::var_os(ALONE).is_some() {
        return three_days();
    }
    // In a process of its own, whose memory is this run's alone.
    let own = std::env::current_exe().expect("a test binary");
    let name = "in_virtual_time::soak::three_days_lose_nothing_and_grow_nothing";
    let ran = std::process::Command::new(own).args(["--exact", name]).env(ALONE, "1").output().expect("starts");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

fn three_days() {
    let plan = plan(
        "load:\n  - rate: {sweep: [1], for: 72h, at_most: 73h, warm_up: 1h, min_samples: 1, end_when_saturated: false}\n",
    );
    let service = Service { servers: 4, token: Nanos::from_millis(700), tokens: 4 };
    let mut held: Vec<(Nanos, u64)> = Vec::new();
    let left = run(&plan, service, &mut |now| {
        if held.last().is_none_or(|(last, _)| now.saturating_sub(*last) >= Nanos::from_secs(HOUR)) {
            held.extend(resident_kb().map(|kb| (now, kb)));
        }
    });
    let ended = left.ended[0];
    assert_eq!((ended.end, ended.scheduled, ended.unsent, ended.dropped), (PointEnd::Planned, 72 * HOUR, 0, 0));

    let mut seen = vec![false; usize::try_from(73 * HOUR).unwrap()];
    for record in left.records() {
        let slot = &mut seen[usize::try_from(record.index).unwrap()];
        assert!(!std::mem::replace(slot, true), "request {} is there twice", record.index);
        assert!(record.outcome.is_ok() && record.events.len() == 4, "{record:?}");
        assert_eq!(record.dispatched, record.intended, "request {}", record.index);
    }
    assert!(seen.iter().all(|seen| *seen), "requests are missing");

    if cfg!(target_os = "linux") {
        let at =
            |hour: u64| held.iter().find(|(now, _)| *now >= Nanos::from_secs(hour * HOUR)).expect("was looked at").1;
        let (early, late) = (at(2), at(72));
        // A twentieth, and what the allocator keeps of the journal's last frames.
        assert!(late <= early + early / 20 + 4096, "{early} kB after 2 hours, {late} kB after 72");
    }
}
