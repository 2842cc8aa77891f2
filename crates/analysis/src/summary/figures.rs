//! The figures of one point.

use std::collections::BTreeMap;

use kneepoint_model::bundle::Loss;
use kneepoint_model::plan::{Level, Point};
use kneepoint_model::summary::{
    AtEnd, ClientSummary, Distribution, Jitter, LoadSummary, NetworkSummary, Phases, PointSummary, QuantileCurves,
    Severity, Steady, TokenSummary,
};
use kneepoint_model::{Nanos, Tokens};

use super::accumulate::{Accumulator, Sample, TokenTally};
use super::distribution::{Sorted, distribution};
use super::validity::{self, Observed};
use super::{RunFacts, slo, throughput};
use crate::stats::percentile::Ppm;
use crate::stats::pool::Pool;

const NS_PER_MS: f64 = 1e6;

/// The summary of one point; `loss` is what the journal lost of it.
pub(super) fn point(facts: &RunFacts<'_>, point: Point, mut from: Accumulator, loss: Option<Loss>) -> PointSummary {
    let plan = facts.plan;
    let (platform, workload) = (&plan.platforms[point.platform], &plan.workloads[point.workload]);
    // Neighbours in the order of arrival are what may be correlated.
    from.samples.sort_unstable_by_key(|sample| (sample.intended, sample.index));
    from.arrivals.sort_unstable_by_key(|arrival| (arrival.intended, arrival.index));
    finish_counts(&mut from);
    let (chunk_gaps, token_gaps) = (std::mem::take(&mut from.icl), std::mem::take(&mut from.itl));

    let open = matches!(point.level, Level::Rate { .. });
    let window_s = from.ended.window_end.saturating_sub(from.ended.window_start).as_secs_f64();
    let spans = Spans::of(&from);
    let client = client(facts, &from);
    let throughput = throughput::summarise(&from, window_s, open);
    let input_tokens = tokens(workload.input, from.input, from.samples.iter().map(|sample| sample.input));
    let output_tokens = tokens(workload.output, from.output, from.samples.iter().map(|sample| sample.output));
    let observed = Observed {
        point,
        window_s,
        from: &from,
        lag_p99_ms: client.lag_p99_ms,
        read_delay_p99_ms: client.read_delay_p99_ms,
        median_ms: spans.ttft.any_percentile(Ppm::P50).or(spans.response.any_percentile(Ppm::P50)),
        throughput: &throughput,
        input: &input_tokens,
        output: &output_tokens,
        loss,
    };
    let reasons = validity::reasons(&observed);
    let open_loop = open.then(|| validity::arrivals_kept(&observed));
    let failed: u64 = from.counts.failed.values().sum();
    // A success without a visible token is as late as a failure: its first token never came.
    let late = |seen: &Sorted| failed + from.counts.ok.saturating_sub(seen.values.len() as u64);
    let ttft_with_failures_ms = spans.ttft.with_failures(if from.streamed { late(&spans.ttft) } else { 0 });
    let e2e_with_failures_ms = spans.e2e.with_failures(late(&spans.e2e));
    PointSummary {
        point: from.ended.point,
        platform: platform.name.clone(),
        workload: workload.name.clone(),
        simulated: facts.environment.platforms.get(&platform.name).is_some_and(|seen| seen.observed.simulated),
        load: load(point.level),
        window_s,
        window_start_s: from.ended.window_start.as_secs_f64(),
        end: from.ended.end,
        at_end: Some(AtEnd { policy: point.hold.at_end, drain_s: point.hold.drain.as_secs_f64() }),
        search: None,
        steady: Steady::default(),
        valid: reasons.iter().all(|reason| reason.severity != Severity::Invalid),
        open_loop,
        ttft_with_failures_ms,
        e2e_with_failures_ms,
        reasons,
        quantiles: QuantileCurves {
            ttft_ms: spans.ttft.curve(),
            tpot_ms: spans.tpot.curve(),
            e2e_ms: spans.e2e.curve(),
        },
        ttft_ms: spans.ttft.distribution,
        ttft_sent_ms: spans.ttft_sent,
        ttfa_ms: spans.ttfa,
        tpot_ms: spans.tpot.distribution,
        icl_ms: pooled(chunk_gaps),
        itl_ms: pooled(token_gaps),
        e2e_ms: spans.e2e.distribution,
        e2e_sent_ms: spans.e2e_sent,
        response_ms: spans.response.distribution,
        output_speed_tok_s: spans.output_speed,
        jitter_ms: Jitter::default(),
        phases: Phases {
            tcp_connect_ms: ns_distribution(from.samples.iter().map(|sample| sample.tcp)),
            tls_handshake_ms: ns_distribution(from.samples.iter().map(|sample| sample.tls)),
            ..Phases::default()
        },
        network: NetworkSummary::default(),
        stable: BTreeMap::new(),
        input_tokens,
        output_tokens,
        throughput,
        slo: slo::summarise(&plan.slos, &from, window_s),
        client: client.summary,
        streamed_share: share(from.evidence.streamed, from.counts.ok),
        requests: from.counts,
        series: from.seconds.finish(),
    }
}

/// The distributions of the spans of successful requests. TTFT and what follows from it exist in streams only.
struct Spans {
    ttft: Sorted,
    ttft_sent: Distribution,
    ttfa: Distribution,
    tpot: Sorted,
    output_speed: Distribution,
    e2e: Sorted,
    e2e_sent: Distribution,
    response: Sorted,
}

impl Spans {
    fn of(from: &Accumulator) -> Self {
        let spans = |of: fn(&Sample) -> Option<u64>| sorted(from.samples.iter().map(of));
        let streamed = |of: fn(&Sample) -> Option<u64>| sorted(from.samples.iter().filter(|_| from.streamed).map(of));
        let tpot = || from.samples.iter().filter(|_| from.streamed).filter_map(|sample| sample.line.tpot.ns());
        Self {
            ttft: streamed(|sample| sample.line.ttft),
            ttft_sent: streamed(|sample| sample.line.ttft_sent).distribution,
            ttfa: streamed(|sample| sample.line.ttfa).distribution,
            tpot: Sorted::of(tpot().map(|ns| ns / NS_PER_MS)),
            output_speed: Sorted::of(tpot().map(|ns| 1e9 / ns)).distribution,
            e2e: spans(|sample| sample.line.e2e),
            e2e_sent: spans(|sample| sample.line.e2e_sent).distribution,
            response: spans(|sample| sample.line.response),
        }
    }
}

fn finish_counts(from: &mut Accumulator) {
    let counts = &mut from.counts;
    (counts.unsent, counts.dropped, counts.held_back) = (from.ended.unsent, from.ended.dropped, from.ended.held_back);
    // A point whose end was not recorded has no count of its own: then the records are what is known.
    counts.scheduled = from.ended.scheduled.max(from.evidence.recorded.saturating_add(from.ended.unsent));
}

fn sorted(spans_ns: impl Iterator<Item = Option<u64>>) -> Sorted {
    Sorted::of(spans_ns.flatten().map(|ns| ns as f64 / NS_PER_MS))
}

fn ns_distribution(spans_ns: impl Iterator<Item = Option<u64>>) -> Distribution {
    sorted(spans_ns).distribution
}

fn pooled(pool: Pool) -> Distribution {
    distribution(&pool.shape(NS_PER_MS))
}

fn load(level: Level) -> LoadSummary {
    match level {
        Level::Rate { rate, arrival } => {
            LoadSummary { rate_rps: Some(rate.get()), arrival: Some(arrival), concurrency: None }
        }
        Level::Concurrency(n) => LoadSummary { rate_rps: None, arrival: None, concurrency: Some(n) },
    }
}

struct Client {
    summary: ClientSummary,
    lag_p99_ms: Option<f64>,
    read_delay_p99_ms: Option<f64>,
}

fn client(facts: &RunFacts<'_>, from: &Accumulator) -> Client {
    let measured = || from.arrivals.iter().filter(|arrival| arrival.measured);
    let lag = sorted(measured().map(|arrival| Some(arrival.lag)));
    let read_delay = sorted(measured().map(|arrival| arrival.read_delay));
    let finite = |share: Option<f64>| share.filter(|share| share.is_finite());
    Client {
        lag_p99_ms: lag.any_percentile(Ppm::P99),
        read_delay_p99_ms: read_delay.any_percentile(Ppm::P99),
        summary: ClientSummary {
            clock: facts.manifest.clock.clone(),
            cpu_share: finite(from.ended.worker_cpu_share),
            cpu_wait_share: finite(from.ended.worker_wait_share),
            process_cpu_share: finite(from.ended.process_cpu_share),
            schedule_lag_ms: lag.distribution,
            client_queue_ms: ns_distribution(measured().map(|arrival| arrival.queue)),
            kernel_to_user_ms: read_delay.distribution,
            clock_mapping_error_ms: from.ended.clock_mapping_error.map(Nanos::as_millis_f64),
            in_flight_max: None,
            token_events_s: None,
            calibrated: None,
        },
    }
}

fn tokens(target: Tokens, tally: TokenTally, used: impl Iterator<Item = Option<Tokens>>) -> TokenSummary {
    let used = Sorted::of(used.flatten().map(|tokens| tokens.0 as f64)).distribution;
    let source = match (used.n, tally.server.n) {
        (0, _) => None,
        (n, server) if n == server => Some("server"),
        (_, 0) => Some("tokenizer"),
        _ => Some("mixed"),
    };
    TokenSummary {
        target: target.0,
        local_mean: tally.local.mean(),
        server_mean: tally.server.mean(),
        used,
        source: source.map(str::to_owned),
        cached_or_reasoning_share: (tally.special_of.sum > 0)
            .then(|| tally.special.sum as f64 / tally.special_of.sum as f64),
    }
}

pub(super) fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// The measured window of a point.
pub(super) fn window(from: &Accumulator) -> (Nanos, Nanos) {
    (from.ended.window_start, from.ended.window_end)
}
