//! Summaries as real runs make them: a bend in the curve, failures, points that are not valid, nulls, small samples.

use std::collections::BTreeMap;

use kneepoint_model::bundle::{
    AddedDelay, Calibration, Environment, GitState, Host, LengthEvidence, Loss, Manifest, Observed,
    PlatformEnvironment, PointEnd, RunStatus,
};
use kneepoint_model::plan::{Arrival, EndPolicy, LengthControl};
use kneepoint_model::summary::{
    AtEnd, ClientSummary, Distribution, FORMAT, Interval, Jitter, LoadAxis, LoadSummary, METRICS_VERSION,
    NetworkSummary, Phases, PointSummary, QuantileCurves, Ranked, Reason, ReasonCode, RequestCounts, RttSource,
    RunSummary, SeriesPoint, Severity, SloSummary, Stable, Steady, SteadyState, Summary, Throughput, TokenSummary,
    WithFailures,
};
use kneepoint_report::Run;

use crate::curves::curves;

pub(crate) const LONG_NAME: &str = "serverless-endpoint-in-a-far-region-0001";
pub(crate) const CHINESE_NAME: &str = "自建集群（华东二区）";
pub(crate) const PLAN: &str = "kneepoint: 1\nname: three-platforms\nmodel: {id: llama-3.1-8b}\n# 中文注释 `with` ```fences```\nload:\n  - rate: {sweep: [1, 2, 4, 8, 16, 32], for: 60s}\n";

/// One run with all that belongs to it.
pub(crate) struct Sample {
    pub(crate) summary: Summary,
    pub(crate) manifest: Manifest,
    pub(crate) environment: Environment,
    pub(crate) plan: String,
}

impl Sample {
    pub(crate) fn run(&self) -> Run<'_> {
        Run { summary: &self.summary, manifest: &self.manifest, environment: &self.environment, plan_yaml: &self.plan }
    }

    pub(crate) fn point(&mut self, index: usize) -> &mut PointSummary {
        &mut self.summary.points[index]
    }
}

/// How a platform behaves.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Requests per second it can serve.
    pub(crate) capacity: f64,
    pub(crate) ttft_ms: f64,
    /// Spread of latencies (of a log-normal).
    pub(crate) spread: f64,
}

pub(crate) const SHAPES: [Shape; 3] = [
    Shape { name: "vllm-a100", capacity: 30.0, ttft_ms: 80.0, spread: 0.25 },
    Shape { name: CHINESE_NAME, capacity: 14.0, ttft_ms: 150.0, spread: 0.7 },
    Shape { name: LONG_NAME, capacity: 40.0, ttft_ms: 320.0, spread: 0.45 },
];

/// Quantiles of the standard normal distribution at each percent (Acklam's rational fit is not needed for a test: a
/// logistic one is within 2%).
fn z(q: f64) -> f64 {
    let q = q.clamp(0.001, 0.999);
    (q / (1.0 - q)).ln() / 1.702
}

pub(crate) fn distribution(n: u64, median: f64, spread: f64) -> Distribution {
    let mut d = Distribution { n, ..Distribution::default() };
    if n == 0 {
        return d;
    }
    let at = |q: f64| median * (spread * z(q)).exp();
    d.mean = Some(median * (spread * spread / 2.0).exp());
    d.sd = (n > 1).then_some(median * spread);
    d.min = Some(at(0.5 / n as f64));
    d.max = Some(at(1.0 - 0.5 / n as f64));
    for (name, q, needs) in
        [("p50", 0.5, 1), ("p90", 0.9, 64), ("p95", 0.95, 130), ("p99", 0.99, 662), ("p999", 0.999, 6636)]
    {
        let value = if n < needs { None } else { Some(at(q)) };
        match name {
            "p50" => d.p50 = value,
            "p90" => d.p90 = value,
            "p95" => d.p95 = value,
            "p99" => d.p99 = value,
            _ => d.p999 = value,
        }
        if value.is_some() {
            let half = 1.96 * (q * (1.0 - q) / n as f64).sqrt();
            let high = (q + half < 0.9995).then(|| at(q + half));
            d.ci95.insert(name.to_owned(), Interval(Some(at(q - half)), high));
        } else {
            d.too_few.insert(name.to_owned(), needs);
        }
    }
    d
}

fn curve(median: f64, spread: f64) -> Vec<f64> {
    (0..=100).map(|i| median * (spread * z(f64::from(i) / 100.0)).exp()).collect()
}

fn with_failures(d: &Distribution, failed: u64) -> WithFailures {
    let n = d.n + failed;
    let ranked = |value: Option<f64>, q: f64| match value {
        _ if n > 0 && failed as f64 / n as f64 > 1.0 - q => Ranked::Failed,
        Some(value) => Ranked::Value(value),
        None => Ranked::TooFew,
    };
    WithFailures {
        n,
        p50: ranked(d.p50, 0.5),
        p90: ranked(d.p90, 0.9),
        p95: ranked(d.p95, 0.95),
        p99: ranked(d.p99, 0.99),
    }
}

fn tokens(target: u64, mean: f64, n: u64) -> TokenSummary {
    TokenSummary {
        target,
        local_mean: None,
        server_mean: Some(mean),
        used: distribution(n, mean, 0.02),
        source: Some("server".into()),
        cached_or_reasoning_share: None,
    }
}

pub(crate) fn slo(good: u64, offered: u64, window_s: f64) -> SloSummary {
    let (share, n) = (good as f64 / offered as f64, offered as f64);
    let z = 1.96;
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    SloSummary {
        good,
        offered,
        goodput_rps: Some(good as f64 / window_s),
        attainment: Some(share),
        ci95: Some(Interval(Some(centre - half), Some((centre + half).min(1.0)))),
        share: 0.95,
        met: Some(share >= 0.95),
        ttft_limit_ms: Some(500.0),
        tpot_limit_ms: Some(40.0),
        e2e_limit_ms: None,
    }
}

fn series(rate: f64, window_s: f64, load: f64, ttft_ms: f64) -> Vec<SeriesPoint> {
    let wobble = |i: u32| 1.0 + 0.2 * (f64::from(i) * 1.7).sin();
    let count = |v: f64| v.round().max(0.0) as u64;
    (0..window_s as u32 + 12)
        .map(|i| {
            let draining = f64::from(i) >= window_s + 8.0;
            SeriesPoint {
                t_s: f64::from(i),
                measured: i >= 8 && f64::from(i) < window_s + 8.0,
                scheduled: if draining { 0 } else { count(rate) },
                sent: if draining { 0 } else { count(rate) },
                ok: count(rate.min(rate / load) * wobble(i)),
                failed: u64::from(load > 1.0 && i % 7 == 3),
                in_flight: count(rate * 1.4 * wobble(i) + (load - 1.0).max(0.0) * rate * f64::from(i)),
                output_tok: Some(rate * 128.0 * wobble(i)),
                ttft_p50_ms: (!draining).then(|| ttft_ms * wobble(i)),
                ttft_max_ms: (!draining).then(|| ttft_ms * 2.5 * wobble(i + 2)),
                e2e_p50_ms: None,
            }
        })
        .collect()
}

fn jitter(ttft: &Distribution, tpot: &Distribution, e2e: &Distribution) -> Jitter {
    let of = |d: &Distribution| Some(d.p95? - d.p50?);
    Jitter { ttft: of(ttft), tpot: of(tpot), e2e: of(e2e) }
}

/// Most of a TTFT is the wait for the first byte.
fn phases(shape: Shape, slow: f64, ok: u64) -> Phases {
    let part = |share: f64| distribution(ok, shape.ttft_ms * slow * share, shape.spread);
    Phases {
        dns_ms: Some(1.3),
        tcp_connect_ms: distribution(3, 0.4, 0.1),
        tls_handshake_ms: Distribution::default(),
        send_ms: distribution(ok, 0.01, 0.2),
        wait_ms: part(0.95),
        first_token_ms: part(0.05),
        stream_ms: distribution(ok, 1400.0, shape.spread / 2.0),
        close_ms: distribution(ok, 0.2, 0.2),
        warm_ms: part(1.0),
        cold_ms: distribution(3, shape.ttft_ms * slow + 0.4, shape.spread),
    }
}

fn network(shape: Shape, e2e: &Distribution) -> NetworkSummary {
    let rtt = 0.4;
    let without = |rtt: f64| e2e.p50.map(|median| distribution(e2e.n, median - rtt, shape.spread / 2.0));
    NetworkSummary {
        rtt_ms: distribution(3, rtt, 0.1),
        probe_rtt_ms: Distribution::default(),
        used_rtt_ms: Some(rtt),
        used_rtt_source: Some(RttSource::Handshakes),
        platform_e2e_half_rtt_ms: without(rtt / 2.0),
        platform_e2e_full_rtt_ms: without(rtt),
        negative: 0,
    }
}

pub(crate) fn stable(slo: &SloSummary, kept: bool, req_s: f64) -> Stable {
    let stable = slo.met == Some(true) && kept;
    Stable {
        share: slo.share,
        attainment: slo.attainment,
        ci95: slo.ci95,
        stable: Some(stable),
        beyond_chance: stable && slo.ci95.is_some_and(|ci| ci.0 >= Some(slo.share)),
        req_s: stable.then_some(req_s),
        output_tok_s: stable.then_some(req_s * 128.0),
    }
}

/// A client that keeps up.
fn client(rate: f64, reached: f64, n: u64) -> ClientSummary {
    ClientSummary {
        clock: "kernel".into(),
        cpu_wait_share: Some(0.004),
        cpu_share: Some(0.03 * rate / 8.0),
        process_cpu_share: Some(0.01),
        schedule_lag_ms: distribution(n, 0.06, 0.5),
        client_queue_ms: distribution(n, 0.09, 0.5),
        kernel_to_user_ms: distribution(n, 0.03, 0.5),
        clock_mapping_error_ms: Some(0.002),
        in_flight_max: Some((reached * 2.0) as u64),
        token_events_s: Some(reached * 128.0),
        calibrated: Some(true),
    }
}

/// One point of a platform at a rate.
pub(crate) fn point(index: u32, shape: Shape, rate: f64) -> PointSummary {
    let window_s = 60.0;
    let load = rate / shape.capacity;
    let n = (rate * window_s) as u64;
    let failed = if load > 1.0 { n / 25 } else { 0 };
    let ok = n - failed;
    let slow = if load < 1.0 { 1.0 / (1.0 - load * 0.85) } else { 12.0 };
    let ttft = distribution(ok, shape.ttft_ms * slow, shape.spread);
    let tpot = distribution(ok, 11.0 * (1.0 + load), 0.1);
    let e2e = distribution(ok, shape.ttft_ms * slow + 127.0 * 11.0 * (1.0 + load), shape.spread / 2.0);
    let reached = rate.min(shape.capacity);
    let mut requests = RequestCounts {
        scheduled: n,
        sent: n,
        ok,
        warm_up: rate as u64 * 8,
        new_connections: 3,
        stale_connections: 1,
        ..RequestCounts::default()
    };
    let mut reasons = Vec::new();
    if failed > 0 {
        requests.failed = BTreeMap::from([("http_429".into(), failed - failed / 4), ("truncated".into(), failed / 4)]);
        requests.failed_by_side = BTreeMap::from([("server".into(), failed)]);
        requests.failed_by_kind_and_side =
            requests.failed.iter().map(|(kind, n)| (kind.clone(), BTreeMap::from([("server".into(), *n)]))).collect();
        requests.failure_examples =
            BTreeMap::from([("http_429".into(), "{\"error\":\"rate limit: 20 requests/s\"}".into())]);
        reasons.push(reason(ReasonCode::BacklogGrowing, Severity::Invalid, Some(rate - reached), Some(0.1)));
    }
    if n < 100 {
        reasons.push(reason(ReasonCode::TooFewSamples, Severity::Warning, Some(n as f64), Some(100.0)));
    }
    let good = ttft_good(ok, shape.ttft_ms * slow, shape.spread);
    PointSummary {
        point: index,
        platform: shape.name.into(),
        workload: "fixed".into(),
        simulated: true,
        load: LoadSummary { rate_rps: Some(rate), arrival: Some(Arrival::Constant), concurrency: None },
        window_s,
        window_start_s: 8.0,
        end: PointEnd::Planned,
        at_end: Some(AtEnd { policy: EndPolicy::Drain, drain_s: 30.0 }),
        search: None,
        steady: Steady { state: SteadyState::Steady, cut_s: 0.0, cut_requests: 0, settling_share: Some(0.0) },
        valid: !reasons.iter().any(|r| r.severity == Severity::Invalid),
        reasons,
        open_loop: Some(true),
        requests,
        ttft_sent_ms: ttft.clone(),
        ttfa_ms: Distribution::default(),
        icl_ms: distribution(ok * 127, 11.0, 0.2),
        itl_ms: Distribution::default(),
        e2e_sent_ms: e2e.clone(),
        response_ms: e2e.clone(),
        output_speed_tok_s: distribution(ok, 90.0 / (1.0 + load), 0.1),
        jitter_ms: jitter(&ttft, &tpot, &e2e),
        phases: phases(shape, slow, ok),
        network: network(shape, &e2e),
        ttft_with_failures_ms: with_failures(&ttft, failed),
        e2e_with_failures_ms: with_failures(&e2e, failed),
        ttft_ms: ttft,
        tpot_ms: tpot,
        e2e_ms: e2e,
        input_tokens: tokens(512, 512.0, ok),
        output_tokens: tokens(128, 128.0, ok),
        throughput: Throughput {
            req_s: Some(reached),
            scheduled_req_s: Some(rate),
            sent_req_s: Some(rate),
            output_tok_s: Some(reached * 128.0),
            total_tok_s: Some(reached * 640.0),
            max_req_s: Some(reached * 1.2),
            max_output_tok_s: Some(reached * 150.0),
            stability: Some(0.08),
            in_flight_mean: Some(reached * 1.6),
            sent_bytes_s: Some(reached * 2400.0),
            received_bytes_s: Some(reached * 31_000.0),
        },
        stable: BTreeMap::from([("realtime".into(), stable(&slo(good, n, window_s), failed == 0, reached))]),
        slo: BTreeMap::from([("realtime".into(), slo(good, n, window_s))]),
        client: client(rate, reached, n),
        streamed_share: Some(1.0),
        quantiles: QuantileCurves {
            ttft_ms: curve(shape.ttft_ms * slow, shape.spread),
            tpot_ms: curve(11.0 * (1.0 + load), 0.1),
            e2e_ms: curve(shape.ttft_ms * slow + 1400.0, shape.spread / 2.0),
        },
        series: series(rate, window_s, load, shape.ttft_ms * slow),
    }
}

/// Requests with a TTFT under 500 ms.
fn ttft_good(ok: u64, median: f64, spread: f64) -> u64 {
    let x = (500.0 / median).ln() / spread;
    let share = 1.0 / (1.0 + (-1.702 * x).exp());
    (ok as f64 * share).round() as u64
}

pub(crate) fn reason(code: ReasonCode, severity: Severity, observed: Option<f64>, limit: Option<f64>) -> Reason {
    Reason { code, severity, observed, limit }
}

const CALIBRATION: Calibration = Calibration {
    streams: 64,
    token_events_s: 6400.0,
    samples: 520,
    ttft_added_ms: AddedDelay { p50: 0.012, p99: 0.094 },
    itl_added_ms: AddedDelay { p50: 0.006, p99: 0.071 },
    server_late_p99_ms: 0.058,
};

/// A run of these platforms at these rates.
pub(crate) fn sample(name: &str, shapes: &[Shape], rates: &[f64]) -> Sample {
    let mut points = Vec::new();
    for shape in shapes {
        for rate in rates {
            points.push(point(u32::try_from(points.len()).unwrap(), *shape, *rate));
        }
    }
    let platforms = shapes.iter().map(|s| (s.name.to_owned(), platform_environment(s))).collect();
    Sample {
        summary: Summary {
            format: FORMAT.into(),
            metrics: METRICS_VERSION,
            simulated: points.iter().any(|p| p.simulated),
            run: RunSummary {
                name: name.into(),
                started: "2026-11-30T08:15:00Z".into(),
                seed: 42,
                status: RunStatus::Complete,
                points_planned: points.len(),
                lost: None,
                skipped: Vec::new(),
                limit: None,
                calibration: Some(CALIBRATION),
            },
            curves: shapes.iter().flat_map(|shape| curves(shape.name, &points)).collect(),
            points,
        },
        manifest: manifest(name),
        environment: Environment { platforms },
        plan: PLAN.into(),
    }
}

fn platform_environment(shape: &Shape) -> PlatformEnvironment {
    PlatformEnvironment {
        declared: BTreeMap::from([
            ("engine".into(), "vllm".into()),
            ("gpu".into(), "A100-80GB".into()),
            ("version".into(), "0.6.3".into()),
        ]),
        observed: Observed {
            url: "http://127.0.0.1:8000/v1/chat/completions".into(),
            addresses: vec!["127.0.0.1:8000".into()],
            tcp_connect_ms: Some(0.213),
            engine_version: Some("0.6.4".into()),
            models: vec!["llama-3.1-8b".into()],
            simulated: true,
            length_control: if shape.spread > 0.5 { LengthControl::Natural } else { LengthControl::IgnoreEos },
            length_control_evidence: LengthEvidence::Probed { asked: 48, delivered: Some(48) },
            problems: Vec::new(),
            ..Observed::default()
        },
    }
}

fn manifest(name: &str) -> Manifest {
    Manifest {
        format: kneepoint_model::bundle::FORMAT.into(),
        tool: "0.1.0".into(),
        name: name.into(),
        seed: 42,
        started: "2026-11-30T08:15:00Z".into(),
        started_unix_s: 1_796_026_500.0,
        ended: Some("2026-11-30T08:35:40Z".into()),
        status: RunStatus::Complete,
        host: Host {
            os: "Linux 6.8.0".into(),
            arch: "x86_64".into(),
            cpu: Some("AMD EPYC 7763".into()),
            cores: 8,
            memory_bytes: Some(34_359_738_368),
        },
        git: Some(GitState { commit: "0123456789abcdef".into(), dirty_diff_sha256: Some("fe".repeat(32)) }),
        clock: "kernel".into(),
        points: 18,
        skipped: Vec::new(),
        limit: None,
        calibration: Some(CALIBRATION),
        sha256: BTreeMap::new(),
    }
}

/// Everything that can go wrong in one run.
pub(crate) fn troubled() -> Sample {
    let mut sample = sample("three-platforms", &SHAPES, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    sample.summary.run.status = RunStatus::Interrupted;
    sample.summary.run.points_planned = 20;
    sample.summary.run.lost = Some(Loss { bytes: 2048, unflushed: true });
    // Nothing succeeded at one point.
    let dead = sample.point(17);
    dead.requests.ok = 0;
    dead.requests.failed = BTreeMap::from([("connect_refused".into(), 1000), ("http_503".into(), 920)]);
    dead.requests.failed_by_side = BTreeMap::from([("network".into(), 1020), ("server".into(), 900)]);
    dead.requests.failed_by_kind_and_side = BTreeMap::from([
        ("connect_refused".into(), BTreeMap::from([("network".into(), 1000)])),
        ("http_503".into(), BTreeMap::from([("network".into(), 20), ("server".into(), 900)])),
    ]);
    dead.valid = false;
    dead.reasons = vec![
        reason(ReasonCode::NoSuccess, Severity::Invalid, Some(1920.0), None),
        reason(ReasonCode::Interrupted, Severity::Invalid, Some(31.4), None),
    ];
    for d in [&mut dead.ttft_ms, &mut dead.tpot_ms, &mut dead.e2e_ms, &mut dead.ttft_sent_ms, &mut dead.icl_ms] {
        *d = Distribution::default();
    }
    dead.ttft_with_failures_ms =
        WithFailures { n: 1920, p50: Ranked::Failed, p90: Ranked::Failed, p95: Ranked::Failed, p99: Ranked::Failed };
    dead.throughput = Throughput {
        req_s: Some(0.0),
        scheduled_req_s: Some(32.0),
        sent_req_s: Some(32.0),
        in_flight_mean: Some(0.0),
        sent_bytes_s: Some(0.0),
        received_bytes_s: Some(0.0),
        ..Throughput::default()
    };
    dead.quantiles = QuantileCurves::default();
    dead.slo.clear();
    dead.streamed_share = None;
    // The client was at fault at another.
    let late = sample.point(4);
    late.reasons.push(reason(ReasonCode::ClientLate, Severity::Invalid, Some(12.43), Some(5.0)));
    late.valid = false;
    // Lengths off the target, at one point said by a reason and at another not.
    sample.point(7).output_tokens = tokens(128, 97.3, 120);
    sample.point(8).output_tokens = tokens(128, 90.1, 240);
    sample.point(8).reasons.push(reason(ReasonCode::OutputLength, Severity::Warning, Some(-0.296), Some(0.05)));
    let environment = sample.environment.platforms.get_mut(LONG_NAME).unwrap();
    environment.observed.problems = vec!["GET /version answered 404".into()];
    sample
}

/// A closed loop without an SLO.
pub(crate) fn closed_loop() -> Sample {
    let mut sample = sample("closed-loop", &SHAPES[..2], &[2.0, 4.0, 8.0]);
    for p in &mut sample.summary.points {
        let concurrency = p.load.rate_rps.unwrap() as u32;
        p.load = LoadSummary { rate_rps: None, arrival: None, concurrency: Some(concurrency) };
        p.open_loop = None;
        p.slo.clear();
        p.simulated = false;
        p.throughput.scheduled_req_s = None;
        p.stable.clear();
    }
    for curve in &mut sample.summary.curves {
        curve.axis = LoadAxis::Concurrency;
        curve.stable_throughput.clear();
    }
    for environment in sample.environment.platforms.values_mut() {
        environment.observed.simulated = false;
    }
    sample.summary.simulated = false;
    sample
}
