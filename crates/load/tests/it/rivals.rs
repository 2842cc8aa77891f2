//! Defects seen in other load generators, as far as the instrument itself could have them: each test names one.
//!
//! `docs/rivals.md` is the list; the defects of figures and of the command are in `crates/cli/tests/it/rivals.rs`.

use std::cell::Cell;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kneepoint_load::clock::Clock;
use kneepoint_load::{Progress, StopSignal};
use kneepoint_model::plan::{LengthControl, Point};
use kneepoint_model::record::Outcome;
use kneepoint_model::{Arrivals, FailureKind, Nanos, PointSchedule, Prompt, Record, RequestSource, Tokens};
use kneepoint_wire::request::RequestTemplate;
use kneepoint_wire::transport::{ArrivalClock, Endpoint, ReadBuffer, Transport};

use crate::scripted::{self, STREAM_HEAD, chunk, respond, token};
use crate::trial::{self, Numbered};

fn plan(address: impl std::fmt::Display, model: &str, load: &str) -> String {
    format!(
        "{{kneepoint: 1, name: rivals, model: {{id: m{model}}}, platforms: {{p: {{dialect: openai-chat, \
         url: 'http://{address}', length_control: natural, request_timeout: 300ms}}}}, \
         workloads: {{w: {{input: 4, output: 1}}}}, load: [{load}]}}"
    )
}

fn median(mut values: Vec<u64>) -> Nanos {
    values.sort_unstable();
    Nanos(values[values.len() / 2])
}

/// A connection to the listener, with the server's side of it, stamped by `clock`.
fn connection(clock: &impl ArrivalClock) -> (Transport, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let plan = trial::resolve(&plan(listener.local_addr().expect("has an address"), "", "{concurrency: {sweep: [1]}}"));
    let template = RequestTemplate::new(&plan.platforms[0], &plan.workloads[0], "m", LengthControl::Natural);
    let template = template.expect("a request");
    let endpoint = Endpoint::resolve(template.target(), None, || clock.now()).expect("resolves");
    let mut transport = Transport::connect(&endpoint, clock).expect("connects");
    let (server, _) = listener.accept().expect("accepts");
    let mut buffer = ReadBuffer::new(1);
    while !transport.is_open() {
        transport.ready(false, &mut buffer, clock, |_, _| {}).expect("connects");
    }
    (transport, server)
}

/// A clock whose kernel stamps are brought over as after a step of the real-time clock.
struct AfterStep<'a> {
    clock: Clock,
    mapped: &'a Cell<Mapped>,
}

#[derive(Clone, Copy)]
enum Mapped {
    /// By an offset from before a step forward: the packet seems to come from the future.
    Future,
    /// Found implausible.
    Nothing,
    /// By an offset from before a step back: the packet seems to be older than the connection.
    Past,
}

impl ArrivalClock for AfterStep<'_> {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn arrival(&self, _: Nanos) -> Option<Nanos> {
        match self.mapped.get() {
            Mapped::Future => Some(self.clock.now() + Nanos::from_secs(3_600)),
            Mapped::Nothing => None,
            Mapped::Past => Some(Nanos(1)),
        }
    }
}

/// Wall-clock timing (`GuideLLM`'s HTTP backend, vLLM's pacing): NTP sets the clock, and a latency is off by the step.
///
/// Durations here come from the monotonic clock. The kernel's stamps alone are on the real-time clock; whatever a step
/// makes of them, an arrival is never later than its reading nor earlier than the arrival before it. That nothing else
/// reads the wall clock is held by a lint, see `the_wall_clock_is_banned_from_timing_code`.
#[test]
fn a_wall_clock_step_moves_no_arrival_out_of_order() {
    let clock = Clock::start();
    // The past must lie before the connection.
    std::thread::sleep(Duration::from_millis(20));
    let mapped = Cell::new(Mapped::Future);
    let stepped = AfterStep { clock, mapped: &mapped };
    let (mut transport, mut server) = connection(&stepped);
    let mut buffer = ReadBuffer::new(1024);
    let mut read = |transport: &mut Transport| {
        let mut seen = None;
        while seen.is_none() {
            transport.ready(false, &mut buffer, &stepped, |at, _| seen = Some(at)).expect("reads");
        }
        seen.expect("the loop ended")
    };
    let mut last = Nanos::ZERO;
    for step in [Mapped::Future, Mapped::Nothing, Mapped::Past, Mapped::Nothing] {
        mapped.set(step);
        let before = clock.now();
        server.write_all(b"x").expect("writes");
        let at = read(&mut transport);
        let after = clock.now();
        assert!(at <= after && at >= last, "{last} {before} {at} {after}");
        if !matches!(step, Mapped::Past) {
            assert!(at >= before, "stamped at the read: {before} {at} {after}");
        }
        last = at;
    }
}

/// A clock that notes the kernel's stamps as they are.
#[cfg(target_os = "linux")]
struct Noting<'a> {
    clock: Clock,
    stamps: &'a Cell<Option<Nanos>>,
}

#[cfg(target_os = "linux")]
impl ArrivalClock for Noting<'_> {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn arrival(&self, kernel: Nanos) -> Option<Nanos> {
        self.stamps.set(Some(kernel));
        None
    }
}

/// Time stamps taken when the client got round to it (every rival): a busy client then makes a platform look slow.
///
/// What waits 50 ms to be read is stamped with the instant of its arrival all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_client_that_reads_late_stamps_the_arrival() {
    let real_time = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        Nanos(u64::try_from(now.tv_sec).expect("after 1970") * 1_000_000_000 + now.tv_nsec.cast_unsigned())
    };
    let stamps = Cell::new(None);
    let noting = Noting { clock: Clock::start(), stamps: &stamps };
    let (mut transport, mut server) = connection(&noting);
    let mut buffer = ReadBuffer::new(1024);
    let before = real_time();
    server.write_all(b"x").expect("writes");
    let after = real_time();
    std::thread::sleep(Duration::from_millis(50));
    transport.ready(false, &mut buffer, &noting, |_, _| {}).expect("reads");
    let stamp = stamps.get().expect("the kernel stamps what it receives");
    // On the loopback interface a write returns after the packet has arrived.
    let slack = Nanos::from_millis(1);
    assert!(stamp + slack >= before && stamp <= after + slack, "{before} {stamp} {after}");
}

/// Prompts and counts of [`Numbered`], but for a tokenizer that takes its time.
struct SlowTokenizer(Duration);

impl RequestSource for SlowTokenizer {
    fn prompt(&self, number: usize, point: &Point, index: u64) -> Prompt {
        Numbered.prompt(number, point, index)
    }

    fn count(&self, text: &str) -> Option<Tokens> {
        std::thread::sleep(self.0);
        Some(Tokens(text.len() as u64))
    }

    fn schedule(&self, number: usize, point: &Point) -> Option<PointSchedule> {
        Numbered.schedule(number, point)
    }

    fn arrivals(&self, number: usize, point: &Point) -> Arrivals {
        Numbered.arrivals(number, point)
    }
}

/// Tokenising before the time stamp (inference-benchmarker): a slow tokenizer then makes a platform look slow.
///
/// Stamps are taken where bytes come off the socket, and counting is done elsewhere: with a tokenizer that takes 60 ms a
/// text, three times as long as requests are apart, every instant is the same as with one that takes none.
#[test]
fn a_slow_tokenizer_moves_no_time_stamp() {
    let server = scripted::serve(|stream| {
        respond(stream, STREAM_HEAD);
        for text in ["one", "two", "three"] {
            std::thread::sleep(Duration::from_millis(10));
            chunk(stream, &token(text));
        }
        chunk(stream, "data: [DONE]\n\n") && respond(stream, "0\r\n\r\n")
    });
    let load = "{rate: {sweep: [50], for: 600ms, warm_up: 0s, min_samples: 1, drain: 2s}}";
    let plan = plan(server.address, ", tokenizer: /none/tokenizer.json", load);
    let measure = |takes: Duration| {
        let source: Arc<dyn RequestSource> = Arc::new(SlowTokenizer(takes));
        let trial = trial::run_from(&plan, &source, &Arc::default(), &mut |_| {}).expect("runs");
        assert_eq!(trial.records.len(), 30);
        for record in &trial.records {
            assert_eq!(record.output_tokens.local, Some(Tokens("onetwothree".len() as u64)), "it was asked");
            assert_eq!(record.events.len(), 3);
        }
        let of = |span: &dyn Fn(&Record) -> u64| median(trial.records.iter().map(span).collect());
        let lag = of(&|record| record.dispatched.since(record.intended).expect("not early").0);
        let ttft = of(&|record| record.first_token().and_then(|at| at.since(record.sent?)).expect("a token").0);
        let gap = of(&|record| record.events.gaps[1]);
        [lag, ttft, gap]
    };
    let (quick, slow) = (measure(Duration::ZERO), measure(Duration::from_millis(60)));
    for (quick, slow) in quick.into_iter().zip(slow) {
        assert!(slow.0.abs_diff(quick.0) < 8_000_000, "{quick} became {slow}");
    }
}

/// Arrivals dropped unseen (inference-benchmarker drops an arrival when its executor is busy): the offered rate is then
/// a wish.
///
/// Against a server that never answers, every arrival of the schedule is sent, not sent for the client's own reasons, or
/// left over by a stop; and each is on record. What becomes of those that the machine cannot send is in
/// `arrivals_that_the_machine_cannot_send_are_told` of the command's tests.
#[test]
fn no_arrival_is_dropped_unseen_while_the_server_stalls() {
    let server = scripted::serve(|_| {
        std::thread::sleep(Duration::from_secs(4));
        false
    });
    let load = "{rate: {sweep: [40], for: 1s, warm_up: 0s, min_samples: 1, drain: 1s}}";
    let plan = plan(server.address, "", load);
    for stop_after in [u64::MAX, 10] {
        let stop = Arc::new(StopSignal::default());
        let asked = Arc::clone(&stop);
        let mut done = false;
        let watch = &mut |progress: Progress<'_>| {
            if let Progress::Point(state) = progress
                && state.dispatched >= stop_after
                && !done
            {
                done = true;
                asked.request();
            }
        };
        let trial = trial::run_watched(&plan, &stop, watch).expect("a stop is no error");
        let point = trial.measured.points[0];
        let sent = trial.records.iter().filter(|record| record.sent.is_some()).count() as u64;
        let client = |record: &&Record| matches!(&record.outcome, Outcome::Failed(failure) if failure.kind == FailureKind::Client);
        let dropped = trial.records.iter().filter(client).count() as u64;
        assert_eq!(sent + dropped + point.unsent, point.scheduled);
        assert_eq!(point.dropped, dropped);
        if stop_after == u64::MAX {
            assert_eq!(
                (point.scheduled, point.interrupted),
                (40, false),
                "what the plan offers, not what the server takes"
            );
        } else {
            assert!(point.interrupted && (10..40).contains(&point.scheduled), "{} until the stop", point.scheduled);
        }
        // Not one waited for an answer, of which there was none: what is late is late by the client's own lag alone.
        let stalled = Nanos::from_millis(250);
        assert!(trial.records.iter().all(|record| record.dispatched.saturating_sub(record.intended) < stalled));
        let mut indices: Vec<u64> = trial.records.iter().map(|record| record.index).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..sent + dropped), "each once, in the schedule's order");
    }
}

/// A cap that turns an open loop into a closed one in silence (`AIPerf`, `GuideLLM` at 512, vLLM): the platform is then
/// offered what it can take, and looks well.
///
/// The plan asks for at most three in flight where sixteen would be: no more are, and every arrival that had to wait for
/// it, or was never sent, is counted. That such a point is marked is in `crates/cli/tests/it/rivals.rs`.
#[test]
fn a_cap_on_requests_in_flight_is_counted_where_it_binds() {
    let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let server = scripted::serve(move |stream| {
        peak.fetch_max(inside.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
        std::thread::sleep(Duration::from_millis(200));
        inside.fetch_sub(1, Ordering::AcqRel);
        scripted::stream_of(stream, &["a"], Some(1))
    });
    let capped = |cap: &str| {
        let load = format!("{{rate: {{sweep: [80], for: 1s, warm_up: 0s, min_samples: 1, drain: 2s{cap}}}}}");
        let plan = plan(server.address, "", &load).replace("300ms", "5s");
        trial::run(&plan).expect("runs")
    };
    let trial = capped(", max_in_flight: 3");
    let point = trial.measured.points[0];
    assert!(most.load(Ordering::Acquire) <= 3, "{} at a time", most.load(Ordering::Acquire));
    let sent = trial.records.iter().filter(|record| record.sent.is_some()).count() as u64;
    assert_eq!((point.scheduled, sent + point.dropped), (80, 80), "{point:?}");
    assert!(point.dropped > 40 && point.held_back > 5 && point.held_back <= sent, "{point:?}");
    let open = capped("").measured.points[0];
    assert_eq!((open.scheduled, open.dropped, open.held_back), (80, 0, 0), "without a cap nothing waits");
    assert!(most.load(Ordering::Acquire) > 8, "{} at a time", most.load(Ordering::Acquire));
}
