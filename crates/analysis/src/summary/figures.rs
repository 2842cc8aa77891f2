//! The figures of one point.

use kneepoint_model::bundle::Loss;
use kneepoint_model::plan::{Level, Point};
use kneepoint_model::summary::{
    AtEnd, ClientSummary, Distribution, LoadSummary, PointSearch, PointSummary, QuantileCurves, Severity, TokenSummary,
};
use kneepoint_model::{Nanos, Tokens};

use super::accumulate::{Accumulator, Sample, TokenTally};
use super::distribution::{Sorted, distribution};
use super::steady::{self, Found};
use super::validity::{self, Observed};
use super::{RunFacts, limits, network, phases, slo, stable, throughput};
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
    let Found { steady, first } = find_steady(&from);
    let (chunk_gaps, token_gaps) = (std::mem::take(&mut from.icl), std::mem::take(&mut from.itl));
    let samples = &from.samples[from.samples.partition_point(|sample| from.slices.at(sample.intended) < first)..];

    let open = matches!(point.level, Level::Rate { .. });
    let window_s = from.ended.window_end.saturating_sub(from.ended.window_start).as_secs_f64();
    let spans = Spans::of(samples, from.streamed);
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
        steady,
        calibration: facts.manifest.calibration,
        loss,
    };
    let reasons = validity::reasons(&observed);
    let environment = facts.environment.platforms.get(&platform.name);
    let slo = slo::summarise(&plan.slos, &from, window_s);
    let stable = stable::summarise(&from, &slo, &reasons, &throughput);
    let open_loop = open.then(|| validity::arrivals_kept(&observed));
    let after_cut =
        from.arrivals.iter().filter(|arrival| arrival.measured && from.slices.at(arrival.intended) >= first);
    let failed = after_cut.filter(|arrival| arrival.failed).count();
    // A success without a visible token is as late as a failure: its first token never came.
    let late = |seen: &Sorted| (failed + samples.len().saturating_sub(seen.values.len())) as u64;
    let ttft_with_failures_ms = spans.ttft.with_failures(if from.streamed { late(&spans.ttft) } else { 0 });
    let e2e_with_failures_ms = spans.e2e.with_failures(late(&spans.e2e));
    PointSummary {
        point: from.ended.point,
        platform: platform.name.clone(),
        workload: workload.name.clone(),
        simulated: environment.is_some_and(|seen| seen.observed.simulated),
        load: load(point.level),
        window_s,
        window_start_s: from.ended.window_start.as_secs_f64(),
        end: from.ended.end,
        at_end: Some(AtEnd { policy: point.hold.at_end, drain_s: point.hold.drain.as_secs_f64() }),
        search: searched(facts, &from),
        steady,
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
        jitter_ms: phases::jitter(&spans.ttft, &spans.tpot, &spans.e2e),
        ttft_ms: spans.ttft.distribution,
        ttft_sent_ms: spans.ttft_sent,
        ttfa_ms: spans.ttfa,
        tpot_ms: spans.tpot.distribution,
        icl_ms: pooled(chunk_gaps.from(first)),
        itl_ms: pooled(token_gaps.from(first)),
        e2e_ms: spans.e2e.distribution,
        e2e_sent_ms: spans.e2e_sent,
        response_ms: spans.response.distribution,
        output_speed_tok_s: spans.output_speed,
        phases: phases::summarise(samples, from.streamed, environment.and_then(|seen| seen.observed.dns_ms)),
        network: network::summarise(facts, &from, samples, environment),
        stable,
        input_tokens,
        output_tokens,
        throughput,
        slo,
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
    fn of(samples: &[Sample], streamed: bool) -> Self {
        let spans = |of: fn(&Sample) -> Option<u64>| sorted(samples.iter().map(of));
        let of_streams = if streamed { samples } else { &[] };
        let streamed = |of: fn(&Sample) -> Option<u64>| sorted(of_streams.iter().map(of));
        let tpot = || of_streams.iter().filter_map(|sample| sample.line.tpot.ns());
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

/// Steadiness, with the requests that a cut takes out of the latencies.
fn find_steady(from: &Accumulator) -> Found {
    let mut found = steady::find(&from.samples, from.slices, from.streamed);
    let cut = |intended: Nanos| from.slices.at(intended) < found.first;
    let cut = from.arrivals.iter().filter(|arrival| arrival.measured && cut(arrival.intended)).count();
    found.steady.cut_requests = cut as u64;
    found
}

/// What a point past those of the plan is a step of.
fn searched(facts: &RunFacts<'_>, from: &Accumulator) -> Option<PointSearch> {
    let at = facts.searches.get(&from.ended.point)?;
    let search = facts.plan.loads.get(at.load)?.search?;
    let slo = facts.plan.slos.get(search.slo)?.name.clone();
    Some(PointSearch { load: at.load, slo, held_s: at.held.as_secs_f64(), step: from.ended.search })
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

pub(super) fn ns_distribution(spans_ns: impl Iterator<Item = Option<u64>>) -> Distribution {
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
            in_flight_max: from.grid.most_in_flight(),
            token_events_s: validity::token_events_s(from),
            calibrated: facts.manifest.calibration.map(|at| validity::load_over(at, from) <= limits::CALIBRATED_TIMES),
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
