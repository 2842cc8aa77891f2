//! What a request's time went into, and what opening a connection adds.

use kneepoint_model::summary::{Jitter, Phases};

use super::accumulate::Sample;
use super::distribution::Sorted;
use super::figures::ns_distribution;

/// The phases of successful requests; `dns_ms` is the run's.
pub(super) fn summarise(samples: &[Sample], streamed: bool, dns_ms: Option<f64>) -> Phases {
    let of = |phase: fn(&Sample) -> Option<u64>| ns_distribution(samples.iter().map(phase));
    let whole = |sample: &Sample| if streamed { sample.line.ttft } else { sample.line.response };
    let opened = |warm: bool| ns_distribution(samples.iter().filter(|sample| sample.warm == warm).map(whole));
    Phases {
        dns_ms,
        tcp_connect_ms: of(|sample| sample.tcp),
        tls_handshake_ms: of(|sample| sample.tls),
        send_ms: of(|sample| sample.send),
        wait_ms: of(|sample| sample.wait),
        first_token_ms: of(|sample| sample.first_token),
        stream_ms: of(|sample| sample.line.e2e?.checked_sub(sample.line.ttft?)),
        close_ms: of(|sample| sample.line.response?.checked_sub(sample.line.e2e?)),
        warm_ms: opened(true),
        cold_ms: opened(false),
    }
}

/// P95 − P50, where both are shown.
pub(super) fn jitter(ttft: &Sorted, tpot: &Sorted, e2e: &Sorted) -> Jitter {
    let of = |sorted: &Sorted| Some(sorted.distribution.p95? - sorted.distribution.p50?);
    Jitter { ttft: of(ttft), tpot: of(tpot), e2e: of(e2e) }
}
