//! What of the latencies is the network's.

use kneepoint_model::Nanos;
use kneepoint_model::bundle::PlatformEnvironment;
use kneepoint_model::summary::{Distribution, NetworkSummary, RttSource};

use super::RunFacts;
use super::accumulate::{Accumulator, Sample};
use super::distribution::Sorted;
use super::limits;
use crate::stats::network::{PlatformLatency, setup_round_trips};
use crate::stats::percentile::Ppm;

/// Round trips, and latencies without them. The handshakes are of all requests of the window; the latencies of `samples`.
pub(super) fn summarise(
    facts: &RunFacts<'_>,
    from: &Accumulator,
    samples: &[Sample],
    environment: Option<&PlatformEnvironment>,
) -> NetworkSummary {
    let ended = &from.ended;
    let inside = |at: Nanos| at >= ended.window_start && at < ended.window_end;
    let beside = facts.telemetry.iter().filter(|seen| seen.point == ended.point && inside(seen.at));
    let probes = millis(beside.filter_map(|seen| seen.rtt).map(|rtt| rtt.0));
    let measured = from.arrivals.iter().filter(|arrival| arrival.measured);
    let handshakes = millis(measured.filter_map(|arrival| arrival.handshake));
    let seen = environment.map(|platform| &platform.observed);
    let median = |sorted: &Sorted, source| {
        let enough = sorted.values.len() >= limits::RTT_FEWEST;
        sorted.any_percentile(Ppm::P50).filter(|_| enough).map(|rtt| (rtt, source))
    };
    let before = || seen.and_then(|seen| seen.tcp_connect_ms).map(|rtt| (rtt, RttSource::BeforeRun));
    let used = median(&probes, RttSource::Probe).or_else(|| median(&handshakes, RttSource::Handshakes)).or_else(before);
    let tls = seen.and_then(|seen| seen.tls.as_deref());
    let latencies: Vec<PlatformLatency> = used.map_or_else(Vec::new, |(rtt, _)| {
        let of = |sample: &Sample| {
            let e2e = sample.line.e2e.or(sample.line.response)? as f64 / 1e6;
            Some(PlatformLatency::of(e2e, rtt, setup_round_trips(sample.warm, tls)))
        };
        samples.iter().filter_map(of).collect()
    });
    let shape = |of: fn(&PlatformLatency) -> f64| -> Option<Distribution> {
        used.map(|_| Sorted::of(latencies.iter().map(of)).distribution)
    };
    NetworkSummary {
        rtt_ms: handshakes.distribution,
        probe_rtt_ms: probes.distribution,
        used_rtt_ms: used.map(|(rtt, _)| rtt),
        used_rtt_source: used.map(|(_, source)| source),
        platform_e2e_half_rtt_ms: shape(|latency| latency.half_rtt),
        platform_e2e_full_rtt_ms: shape(|latency| latency.full_rtt),
        negative: latencies.iter().filter(|latency| latency.is_negative()).count() as u64,
    }
}

fn millis(spans_ns: impl Iterator<Item = u64>) -> Sorted {
    Sorted::of(spans_ns.map(|ns| ns as f64 / 1e6))
}
