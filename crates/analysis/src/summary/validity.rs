//! Whether a point's figures can be relied on, and what to bear in mind: code, observed figure, limit.
//!
//! Each reason is one small function over what was observed; the limits are in [`super::limits`].

use kneepoint_model::FailureKind;
use kneepoint_model::bundle::{Calibration, Loss, PointEnd};
use kneepoint_model::plan::{Arrival, EndPolicy, Level, Point};
use kneepoint_model::summary::{Reason, ReasonCode, Severity, Steady, SteadyState, Throughput, TokenSummary};

use super::accumulate::Accumulator;
use super::figures::{share, window};
use super::limits;
use crate::stats::{littles_law, moments, slope};

/// What the judgement rests on.
pub(super) struct Observed<'a> {
    pub(super) point: Point,
    pub(super) window_s: f64,
    pub(super) from: &'a Accumulator,
    pub(super) lag_p99_ms: Option<f64>,
    /// p99 of the longest wait of each answer to be read, however few there are.
    pub(super) read_delay_p99_ms: Option<f64>,
    /// Median TTFT, without a stream median response time.
    pub(super) median_ms: Option<f64>,
    pub(super) throughput: &'a Throughput,
    pub(super) input: &'a TokenSummary,
    pub(super) output: &'a TokenSummary,
    pub(super) steady: Steady,
    pub(super) calibration: Option<Calibration>,
    pub(super) loss: Option<Loss>,
}

/// The reasons, the worst first.
pub(super) fn reasons(seen: &Observed<'_>) -> Vec<Reason> {
    let judgements = [
        no_success,
        too_few_samples,
        client_late,
        client_busy,
        client_waited,
        client_read_late,
        error_rate,
        interrupted,
        records_lost,
        records_inconsistent,
        backlog_growing,
        littles_law,
        rate_not_kept,
        input_length,
        output_length,
        counts_disagree,
        pseudo_streaming,
        cached_prompts,
        invisible_output,
        no_token_count,
        cut,
        oddities,
        not_steady,
        over_saturated,
        limit_reached,
        not_open_loop,
        dropped,
        client_calibration,
        calibration_too_small,
    ];
    let mut reasons: Vec<Reason> = judgements.iter().filter_map(|judge| judge(seen)).collect();
    reasons.sort_by_key(|reason| (reason.severity != Severity::Invalid, reason.code));
    reasons
}

/// `true` if arrivals did not wait for anything on the client's side.
pub(super) fn arrivals_kept(seen: &Observed<'_>) -> bool {
    let held = seen.from.ended.held_back + seen.from.ended.dropped;
    held == 0 && client_late(seen).is_none_or(|reason| reason.severity != Severity::Invalid)
}

fn reason(code: ReasonCode, severity: Severity, observed: f64, limit: f64) -> Reason {
    Reason { code, severity, observed: Some(observed), limit: Some(limit) }
}

/// Invalid above `invalid`, a warning above `warning`.
fn graded(code: ReasonCode, observed: f64, warning: f64, invalid: f64) -> Option<Reason> {
    if observed > invalid {
        Some(reason(code, Severity::Invalid, observed, invalid))
    } else if observed > warning {
        Some(reason(code, Severity::Warning, observed, warning))
    } else {
        None
    }
}

fn failed(seen: &Observed<'_>) -> u64 {
    seen.from.counts.failed.values().sum()
}

/// How far chance may carry a count of arrivals, in square roots of it.
fn deviations(seen: &Observed<'_>) -> f64 {
    match seen.point.level {
        Level::Rate { arrival: Arrival::Constant, .. } => limits::BACKLOG_DEVIATIONS_CONSTANT,
        _ => limits::BACKLOG_DEVIATIONS,
    }
}

fn is_open(seen: &Observed<'_>) -> bool {
    matches!(seen.point.level, Level::Rate { .. })
}

fn no_success(seen: &Observed<'_>) -> Option<Reason> {
    let observed = Some(failed(seen) as f64);
    let reason = Reason { code: ReasonCode::NoSuccess, severity: Severity::Invalid, observed, limit: None };
    (seen.from.counts.ok == 0).then_some(reason)
}

/// Samples are counted as the plan counts them to end the window: intended in it, in a closed loop ended in it.
///
/// A point that was ended early because the platform fell behind was not to have them all: that is said by its own reason.
fn too_few_samples(seen: &Observed<'_>) -> Option<Reason> {
    if seen.from.ended.end == PointEnd::OverSaturated {
        return None;
    }
    let counts = &seen.from.counts;
    let samples = if is_open(seen) {
        counts.scheduled.saturating_sub(counts.unsent).saturating_sub(dropped_unseen(seen))
    } else {
        seen.from.window.ok + seen.from.window.failed
    };
    let wanted = seen.point.hold.min_samples;
    (samples < wanted).then(|| reason(ReasonCode::TooFewSamples, Severity::Invalid, samples as f64, wanted as f64))
}

fn client_late(seen: &Observed<'_>) -> Option<Reason> {
    let harmless = seen.median_ms.unwrap_or(0.0) * limits::LAG_SHARE_OF_MEDIAN;
    let invalid = limits::LAG_INVALID_MS.max(harmless);
    let warning = limits::LAG_WARNING_MS.max(harmless / 2.0);
    graded(ReasonCode::ClientLate, seen.lag_p99_ms?, warning, invalid)
}

fn client_busy(seen: &Observed<'_>) -> Option<Reason> {
    let busy = seen.from.ended.worker_cpu_share.filter(|share| share.is_finite())?;
    graded(ReasonCode::ClientBusy, busy, limits::CLIENT_CPU_SHARE, limits::CLIENT_CPU_SHARE)
}

fn client_waited(seen: &Observed<'_>) -> Option<Reason> {
    let waited = seen.from.ended.worker_wait_share.filter(|share| share.is_finite())?;
    graded(ReasonCode::ClientWaited, waited, limits::CLIENT_WAITED_WARNING, limits::CLIENT_WAITED_INVALID)
}

fn client_read_late(seen: &Observed<'_>) -> Option<Reason> {
    let delay = seen.read_delay_p99_ms?;
    graded(ReasonCode::ClientReadLate, delay, limits::READ_DELAY_WARNING_MS, limits::READ_DELAY_INVALID_MS)
}

fn error_rate(seen: &Observed<'_>) -> Option<Reason> {
    let failed = failed(seen);
    graded(ReasonCode::ErrorRate, share(failed, failed + seen.from.counts.ok)?, 0.0, limits::ERROR_SHARE)
}

/// A point stopped after it had been held as long as planned only lacks its drain.
fn interrupted(seen: &Observed<'_>) -> Option<Reason> {
    let planned = planned_s(seen);
    let empty = seen.window_s <= 0.0;
    let whole = !empty && seen.window_s >= planned && too_few_samples(seen).is_none();
    let severity = if whole { Severity::Warning } else { Severity::Invalid };
    let stopped = seen.from.ended.interrupted && seen.from.ended.end != PointEnd::Limit;
    (stopped || empty).then(|| reason(ReasonCode::Interrupted, severity, seen.window_s, planned))
}

fn records_lost(seen: &Observed<'_>) -> Option<Reason> {
    let counts = &seen.from.counts;
    let sent = counts.scheduled.saturating_sub(counts.unsent).saturating_sub(dropped_unseen(seen));
    let missing = sent.saturating_sub(seen.from.evidence.recorded);
    // What a killed run never flushed is missing without a trace in the counts.
    let unknown = seen.loss.is_some() && seen.from.ended.interrupted;
    if missing == 0 && !unknown {
        return None;
    }
    let many = share(missing, counts.scheduled).is_some_and(|share| share > limits::LOST_SHARE);
    Some(Reason {
        code: ReasonCode::RecordsLost,
        severity: if many { Severity::Invalid } else { Severity::Warning },
        observed: seen.loss.map(|loss| loss.bytes as f64),
        limit: None,
    })
}

/// Each request has one record, and an open loop no more of them than its schedule has requests.
fn records_inconsistent(seen: &Observed<'_>) -> Option<Reason> {
    let mut indices: Vec<u64> = seen.from.arrivals.iter().map(|arrival| arrival.index).collect();
    indices.sort_unstable();
    let repeated = indices.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    let ended = &seen.from.ended;
    // At a stop one thread may still send for a moment after another has ended the window.
    let in_time = |at| !ended.interrupted || at < ended.window_end;
    let recorded = seen.from.arrivals.iter().filter(|arrival| arrival.measured && in_time(arrival.intended)).count();
    let known = (recorded as u64).saturating_add(ended.unsent);
    let unscheduled = if is_open(seen) { known.saturating_sub(ended.scheduled) } else { 0 };
    let observed = repeated.max(unscheduled) as f64;
    graded(ReasonCode::RecordsInconsistent, observed, 0.0, 0.0)
}

/// In flight *and* latency rise over the window, each beyond its own noise, and by more than chance arrivals explain.
fn backlog_growing(seen: &Observed<'_>) -> Option<Reason> {
    if !is_open(seen) || seen.window_s <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, then held to a range")]
    let parts = (seen.window_s as usize).clamp(limits::TREND_PARTS, 3_600);
    let in_flight = slope::fit(&seen.from.grid.in_flight(parts))?;
    let latency = slope::fit(&latencies(seen, parts)?)?;
    let growth = in_flight.slope * parts as f64 / seen.window_s;
    let limit = deviations(seen) * (seen.from.counts.scheduled as f64).sqrt() / seen.window_s;
    // Where the client ended the point for it, that is the reason.
    if seen.from.ended.end == PointEnd::OverSaturated {
        return None;
    }
    let grows = in_flight.rises(limits::TREND_MARGIN) && latency.rises(limits::TREND_MARGIN) && growth > limit;
    grows.then(|| reason(ReasonCode::BacklogGrowing, Severity::Invalid, growth, limit))
}

/// Mean TTFT (without a stream, response time) of the requests intended in each part of the window, parts without one
/// left out; `None` if too few are left.
fn latencies(seen: &Observed<'_>, parts: usize) -> Option<Vec<f64>> {
    let (start, end) = window(seen.from);
    let span = u128::from(end.saturating_sub(start).0).max(1);
    let mut by_part = vec![Vec::new(); parts];
    for sample in &seen.from.samples {
        let latency = if seen.from.streamed { sample.line.ttft } else { sample.line.response };
        let offset = u128::from(sample.intended.saturating_sub(start).0);
        let part = usize::try_from(offset * parts as u128 / span).unwrap_or(usize::MAX).min(parts - 1);
        by_part[part].extend(latency.map(|ns| ns as f64));
    }
    let means: Vec<f64> = by_part.iter().filter_map(|latencies| moments::mean(latencies)).collect();
    (means.len() >= limits::TREND_PARTS).then_some(means)
}

/// In an open loop the requests in flight as measured, in a closed loop the number the plan holds.
fn littles_law(seen: &Observed<'_>) -> Option<Reason> {
    let totals = &seen.from.window;
    let ended = totals.ok + totals.failed;
    if ended == 0 || seen.window_s <= 0.0 {
        return None;
    }
    let (in_flight, residence) = match seen.point.level {
        Level::Rate { .. } => (seen.throughput.in_flight_mean?, totals.residence),
        Level::Concurrency(n) => (f64::from(n), totals.residence_intended),
    };
    let latency_s = residence as f64 / 1e9 / ended as f64;
    let deviation = littles_law::deviation(in_flight, ended as f64 / seen.window_s, latency_s)?;
    // Requests that cross the window's edges may shift the balance by about one latency's worth of them, and one
    // request more or less is no contradiction.
    let limit = limits::LITTLES_LAW + latency_s / seen.window_s + 1.0 / ended as f64;
    (deviation.abs() > limit).then(|| reason(ReasonCode::LittlesLaw, Severity::Warning, deviation.abs(), limit))
}

/// Requests that ended in the window against those that could have: intended early enough before its end, and late
/// enough before its start, for the shortest latency seen. The figure told is the one that the rates beside it give.
fn rate_not_kept(seen: &Observed<'_>) -> Option<Reason> {
    if !is_open(seen) {
        return None;
    }
    let shortest = seen.from.samples.iter().filter_map(|sample| sample.line.response.or(sample.line.e2e)).min();
    let shortest = kneepoint_model::Nanos(shortest.unwrap_or(0));
    let (start, end) = window(seen.from);
    let (start, end) = (start.saturating_sub(shortest), end.saturating_sub(shortest));
    let due = seen.from.arrivals.iter().filter(|arrival| arrival.intended >= start && arrival.intended < end).count();
    let ended = seen.from.window.ok + seen.from.window.failed;
    let kept = share(ended, due as u64)?;
    // A handful more or less at the edges is chance.
    let beyond_chance = due as f64 - ended as f64 > deviations(seen) * (due as f64).sqrt();
    let shown = seen.throughput.req_s? / seen.throughput.scheduled_req_s.filter(|rate| *rate > 0.0)?;
    (kept < limits::RATE_KEPT && shown < limits::RATE_KEPT && beyond_chance)
        .then(|| reason(ReasonCode::RateNotKept, Severity::Warning, shown, limits::RATE_KEPT))
}

fn input_length(seen: &Observed<'_>) -> Option<Reason> {
    let mean = seen.input.server_mean.or(seen.input.local_mean)?;
    length(ReasonCode::InputLength, mean, seen.input.target)
}

fn output_length(seen: &Observed<'_>) -> Option<Reason> {
    length(ReasonCode::OutputLength, seen.output.used.mean?, seen.output.target)
}

/// The sign says the direction: below 0 the answers or prompts were shorter than the plan wanted.
fn length(code: ReasonCode, mean: f64, target: u64) -> Option<Reason> {
    let deviation = (target > 0).then(|| mean / target as f64 - 1.0)?;
    (deviation.abs() > limits::LENGTH).then(|| reason(code, Severity::Warning, deviation, limits::LENGTH))
}

fn graded_warning(code: ReasonCode, observed: f64, limit: f64) -> Option<Reason> {
    graded(code, observed, limit, f64::INFINITY)
}

fn counts_disagree(seen: &Observed<'_>) -> Option<Reason> {
    let tally = &seen.from.output;
    let (server, local) = (tally.both_server.mean()?, tally.both_local.mean()?);
    let apart = ((server - local).abs() - limits::COUNT_GRACE_TOKENS).max(0.0);
    graded_warning(ReasonCode::TokenCountsDisagree, apart / server.max(1.0), limits::LENGTH)
}

fn pseudo_streaming(seen: &Observed<'_>) -> Option<Reason> {
    let evidence = Some(&seen.from.evidence).filter(|_| seen.from.streamed)?;
    let of = |part, all, limit| graded_warning(ReasonCode::PseudoStreaming, share(part, all)?, limit);
    of(evidence.stream_in_one_piece, evidence.stream_judged, limits::PSEUDO_STREAMING_SHARE)
        .or_else(|| of(evidence.one_event, evidence.several_tokens, limits::ONE_EVENT_SHARE))
}

fn cached_prompts(seen: &Observed<'_>) -> Option<Reason> {
    let share = seen.input.cached_or_reasoning_share?;
    graded(ReasonCode::CachedPrompts, share, limits::CACHED_SHARE, limits::CACHED_INVALID)
}

fn invisible_output(seen: &Observed<'_>) -> Option<Reason> {
    graded_warning(ReasonCode::InvisibleOutput, share(seen.from.evidence.invisible, seen.from.counts.ok)?, 0.0)
}

fn no_token_count(seen: &Observed<'_>) -> Option<Reason> {
    graded_warning(ReasonCode::NoTokenCount, share(seen.from.evidence.uncounted, seen.from.counts.ok)?, 0.0)
}

fn cut(seen: &Observed<'_>) -> Option<Reason> {
    let counts = &seen.from.counts;
    if seen.point.hold.at_end == EndPolicy::Cancel {
        // The plan wants them cut: the reader must know, and the figures are what was asked for.
        return graded_warning(ReasonCode::Cut, counts.cut as f64, 0.0);
    }
    let limit = limits::CUT_SHARE * counts.scheduled as f64;
    graded(ReasonCode::Cut, counts.cut as f64, 0.0, limit)
}

fn oddities(seen: &Observed<'_>) -> Option<Reason> {
    graded_warning(ReasonCode::Oddities, seen.from.evidence.oddities as f64, 0.0)
}

/// Growth says the same and more: why they did not settle.
fn not_steady(seen: &Observed<'_>) -> Option<Reason> {
    let told = over_saturated(seen).is_some() || backlog_growing(seen).is_some();
    let settling = seen.steady.settling_share.filter(|_| seen.steady.state == SteadyState::NotSteady && !told)?;
    Some(reason(ReasonCode::NotSteady, Severity::Invalid, settling, limits::SETTLING_SHARE))
}

fn over_saturated(seen: &Observed<'_>) -> Option<Reason> {
    ended_by(seen, PointEnd::OverSaturated, ReasonCode::OverSaturated, Severity::Invalid)
}

/// As a point that was stopped, one that had been held as long as planned only lacks its drain.
fn limit_reached(seen: &Observed<'_>) -> Option<Reason> {
    let whole = seen.window_s > 0.0 && seen.window_s >= planned_s(seen) && too_few_samples(seen).is_none();
    let severity = if whole { Severity::Warning } else { Severity::Invalid };
    ended_by(seen, PointEnd::Limit, ReasonCode::LimitReached, severity)
}

fn ended_by(seen: &Observed<'_>, end: PointEnd, code: ReasonCode, severity: Severity) -> Option<Reason> {
    (seen.from.ended.end == end).then(|| reason(code, severity, seen.window_s, planned_s(seen)))
}

fn planned_s(seen: &Observed<'_>) -> f64 {
    seen.point.hold.at_least.as_secs_f64()
}

/// Dropped requests that left no record: those that did are failures of this machine.
fn dropped_unseen(seen: &Observed<'_>) -> u64 {
    let recorded = seen.from.counts.failed.get(&FailureKind::Client.code()).copied().unwrap_or(0);
    seen.from.ended.dropped.saturating_sub(recorded)
}

fn not_open_loop(seen: &Observed<'_>) -> Option<Reason> {
    let ended = &seen.from.ended;
    let affected = share(ended.held_back.saturating_add(ended.dropped), seen.from.counts.scheduled)?;
    graded(ReasonCode::NotOpenLoop, affected, 0.0, limits::NOT_OPEN_SHARE).filter(|_| is_open(seen))
}

fn dropped(seen: &Observed<'_>) -> Option<Reason> {
    let dropped = share(seen.from.ended.dropped, seen.from.counts.scheduled)?;
    graded(ReasonCode::Dropped, dropped, 0.0, limits::DROPPED_SHARE)
}

/// The larger of what was added to TTFT and to the gaps between events. Below the calibration server's own lateness
/// nothing can be told.
fn client_calibration(seen: &Observed<'_>) -> Option<Reason> {
    let at = seen.calibration?;
    let harmless = seen.median_ms.unwrap_or(0.0) * limits::LAG_SHARE_OF_MEDIAN;
    let floor = at.server_late_p99_ms;
    let warning = limits::ADDED_WARNING_MS.max(harmless / 2.0).max(floor);
    let invalid = limits::ADDED_INVALID_MS.max(harmless).max(floor);
    graded(ReasonCode::ClientCalibration, at.ttft_added_ms.p99.max(at.itl_added_ms.p99), warning, invalid)
}

fn calibration_too_small(seen: &Observed<'_>) -> Option<Reason> {
    graded_warning(ReasonCode::CalibrationTooSmall, load_over(seen.calibration?, seen.from), limits::CALIBRATED_TIMES)
}

/// How many times as large as the calibrated load a point's was: of streams at a time or of token events per second,
/// whichever says more.
pub(super) fn load_over(at: Calibration, from: &Accumulator) -> f64 {
    let streams = from.grid.most_in_flight().map_or(0.0, |most| most as f64) / f64::from(at.streams.max(1));
    let events = token_events_s(from).filter(|_| at.token_events_s > 0.0).map_or(0.0, |rate| rate / at.token_events_s);
    streams.max(events)
}

/// Token-bearing events that arrived in the window, per second.
pub(super) fn token_events_s(from: &Accumulator) -> Option<f64> {
    let window_s = from.ended.window_end.saturating_sub(from.ended.window_start).as_secs_f64();
    (window_s > 0.0).then(|| from.window.events as f64 / window_s)
}
