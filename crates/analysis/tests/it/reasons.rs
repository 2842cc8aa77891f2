//! Each validity reason is provoked by what it names, and a clean run provokes none.

use kneepoint_model::bundle::{AddedDelay, Calibration, Loss, PointEnd};
use kneepoint_model::plan::EndPolicy;
use kneepoint_model::record::{Outcome, TokenEvents};
use kneepoint_model::summary::{Reason, ReasonCode, Severity, SteadyState, Throughput, summary_schema};
use kneepoint_model::{FailureKind, Nanos, Record, Tokens};
use serde_json::Value;

use crate::run::{MS, Run, SECOND, WARM_UP, WINDOW, answer, plan, refuse};

/// The run has the reason, with this severity and about this figure, and is valid accordingly.
#[track_caller]
fn provokes(run: &Run, code: ReasonCode, severity: Severity, observed: f64) -> Reason {
    let point = run.point();
    let reason = point.reasons.iter().find(|reason| reason.code == code);
    let reason = reason.unwrap_or_else(|| panic!("no {code:?} in {:?}", point.reasons)).clone();
    assert_eq!(reason.severity, severity, "{reason:?}");
    let figure = reason.observed.expect("a figure");
    assert!((figure - observed).abs() <= 0.05 * observed.abs().max(1e-9), "{reason:?}, not {observed}");
    assert_eq!(point.valid, point.reasons.iter().all(|reason| reason.severity == Severity::Warning));
    reason
}

#[track_caller]
fn lacks(run: &Run, code: ReasonCode) {
    let reasons = run.point().reasons;
    assert!(reasons.iter().all(|reason| reason.code != code), "{reasons:?}");
}

fn delay(record: &mut Record, by: u64) {
    for instant in [&mut record.events.first, &mut record.closed, &mut record.first_byte].into_iter().flatten() {
        instant.0 += by;
    }
}

#[test]
fn a_clean_run_has_none() {
    let point = Run::clean().point();
    assert_eq!(point.reasons, []);
    assert!(point.valid && point.open_loop == Some(true));
}

#[test]
fn no_success() {
    let run = Run::clean().each(refuse);
    provokes(&run, ReasonCode::NoSuccess, Severity::Invalid, 1_200.0);
    provokes(&run, ReasonCode::ErrorRate, Severity::Invalid, 1.0);
}

#[test]
fn too_few_samples() {
    let mut run = Run::clean();
    run.records.retain(|record| record.index % 2 == 0);
    run.ended.scheduled = 600;
    assert_eq!(provokes(&run, ReasonCode::TooFewSamples, Severity::Invalid, 600.0).limit, Some(1_000.0));
}

#[test]
fn client_late() {
    // Two in a hundred are enough to move the 99th percentile.
    let late = |ms| Run::clean().every(50, move |record| record.dispatched = Nanos(record.intended.0 + ms * MS));
    provokes(&late(30), ReasonCode::ClientLate, Severity::Invalid, 30.0);
    assert_eq!(late(30).point().open_loop, Some(false));
    assert_eq!(late(30).point().requests.late, 24);
    provokes(&late(7), ReasonCode::ClientLate, Severity::Warning, 7.0);
    lacks(&late(3), ReasonCode::ClientLate);
}

#[test]
fn client_busy() {
    let mut run = Run::clean();
    run.ended.worker_cpu_share = Some(0.97);
    provokes(&run, ReasonCode::ClientBusy, Severity::Invalid, 0.97);
}

#[test]
fn client_waited() {
    let waited = |share| {
        let mut run = Run::clean();
        run.ended.worker_wait_share = Some(share);
        run
    };
    provokes(&waited(0.2), ReasonCode::ClientWaited, Severity::Invalid, 0.2);
    provokes(&waited(0.05), ReasonCode::ClientWaited, Severity::Warning, 0.05);
    lacks(&waited(0.01), ReasonCode::ClientWaited);
}

#[test]
fn client_read_late() {
    let late = |ms| {
        let delay = kneepoint_model::record::ReadDelay { first: Nanos(0), longest: Nanos(ms * MS) };
        Run::clean().every(50, move |record| record.read_delay = Some(delay))
    };
    provokes(&late(60), ReasonCode::ClientReadLate, Severity::Invalid, 60.0);
    provokes(&late(7), ReasonCode::ClientReadLate, Severity::Warning, 7.0);
    lacks(&late(1), ReasonCode::ClientReadLate);
}

#[test]
fn error_rate() {
    provokes(&Run::clean().every(10, refuse), ReasonCode::ErrorRate, Severity::Invalid, 0.1);
    provokes(&Run::clean().every(50, refuse), ReasonCode::ErrorRate, Severity::Warning, 0.02);
}

#[test]
fn interrupted() {
    let mut run = Run::clean();
    run.ended.interrupted = true;
    provokes(&run, ReasonCode::Interrupted, Severity::Warning, 60.0);
    run.ended.window_end = Nanos(WARM_UP + WINDOW / 2);
    run.ended.ended = run.ended.window_end;
    run.records.retain(|record| record.intended < run.ended.window_end);
    run.ended.scheduled = 1_200;
    run.ended.unsent = 600;
    provokes(&run, ReasonCode::Interrupted, Severity::Invalid, 30.0);
    let counts = run.point().requests;
    assert_eq!((counts.scheduled, counts.unsent, counts.ok), (1_200, 600, 600));
}

#[test]
fn records_lost() {
    let mut run = Run::clean();
    run.loss = Some(Loss { bytes: 77, unflushed: false });
    lacks(&run, ReasonCode::RecordsLost);
    run.records.truncate(1_295);
    provokes(&run, ReasonCode::RecordsLost, Severity::Warning, 77.0);
    run.records.truncate(1_200);
    provokes(&run, ReasonCode::RecordsLost, Severity::Invalid, 77.0);
}

/// A request has one record: two of it, or more than were scheduled, were not written by a run.
#[test]
fn records_inconsistent() {
    let mut twice = Run::clean();
    // One in the warm-up, where the number of scheduled requests says nothing.
    twice.records.extend([twice.records[3].clone(), twice.records[700].clone(), twice.records[700].clone()]);
    provokes(&twice, ReasonCode::RecordsInconsistent, Severity::Invalid, 3.0);
    let mut more = Run::clean();
    more.ended.scheduled = 1_190;
    provokes(&more, ReasonCode::RecordsInconsistent, Severity::Invalid, 10.0);
    // A thread that sent a moment after another one ended the window wrote no record too many.
    let mut stopped = Run::clean();
    stopped.ended.interrupted = true;
    (stopped.ended.window_end, stopped.ended.scheduled) = (Nanos(WARM_UP + WINDOW - SECOND), 1_180);
    lacks(&stopped, ReasonCode::RecordsInconsistent);
    more.ended.point = 1;
    more.records.iter_mut().for_each(|record| record.point = 1);
    lacks(&more, ReasonCode::RecordsInconsistent);
}

/// A window without a length was not measured, whoever says that the point ended well.
#[test]
fn a_window_without_length() {
    for end in [WARM_UP, WARM_UP - SECOND] {
        let mut run = Run::clean();
        run.ended.window_end = Nanos(end);
        let point = run.point();
        assert_eq!(point.throughput, Throughput::default(), "nothing is a rate of 0");
        let reason = point.reasons.into_iter().find(|reason| reason.code == ReasonCode::Interrupted);
        let reason = reason.expect("an empty window");
        assert_eq!((reason.severity, reason.observed), (Severity::Invalid, Some(0.0)));
    }
}

/// A server that answers 20 requests in 1.05 s.
fn overloaded() -> Run {
    let mut run = Run::clean().each(|record| delay(record, record.intended.0 / 20));
    run.ended.ended = Nanos(WARM_UP + WINDOW + 20 * SECOND);
    run
}

#[test]
fn backlog_growing() {
    let reason = provokes(&overloaded(), ReasonCode::BacklogGrowing, Severity::Invalid, 20.0 * (1.0 - 1.0 / 1.05));
    assert!(reason.limit.is_some_and(|limit| limit > 0.0));
    // A slower server without a growing queue is no such case.
    let mut slow = Run::clean().each(|record| delay(record, 2 * SECOND));
    slow.ended.ended = Nanos(WARM_UP + WINDOW + 4 * SECOND);
    lacks(&slow, ReasonCode::BacklogGrowing);
}

#[test]
fn rate_not_kept() {
    let mut run = Run::clean().each(|record| delay(record, record.intended.0 / 4));
    run.ended.ended = Nanos(WARM_UP + WINDOW + 20 * SECOND);
    provokes(&run, ReasonCode::RateNotKept, Severity::Warning, 0.8);
    // A reader who divides the two rates of the table gets the figure of the warning.
    let point = run.point();
    let told = point.reasons.iter().find(|reason| reason.code == ReasonCode::RateNotKept).and_then(|r| r.observed);
    let rates = point.throughput.req_s.zip(point.throughput.scheduled_req_s);
    assert_eq!(told, rates.map(|(achieved, scheduled)| achieved / scheduled));
}

#[test]
fn littles_law() {
    // In the books of this run 40 requests a second end that were never sent: their records were dispatched only when
    // they ended, so that hardly any is ever in flight while the plan holds four.
    let mut run = Run::clean();
    run.ended.point = 1;
    run.records.iter_mut().for_each(|record| record.point = 1);
    provokes(&run, ReasonCode::LittlesLaw, Severity::Warning, (4.0_f64 / (20.0 * 0.4) - 1.0).abs());
    assert_eq!(run.point().open_loop, None);
}

#[test]
fn lengths() {
    let longer = Run::clean().each(|record| record.input_tokens.server = Some(Tokens(120)));
    provokes(&longer, ReasonCode::InputLength, Severity::Warning, 0.2);
    let shorter = Run::clean().each(|record| {
        record.events.gaps.truncate(8);
        record.output_tokens.server = Some(Tokens(9));
    });
    provokes(&shorter, ReasonCode::OutputLength, Severity::Warning, -2.0 / 11.0);
}

#[test]
fn token_counts_disagree() {
    let counted = |local| Run::clean().each(move |record| record.output_tokens.local = Some(Tokens(local)));
    provokes(&counted(8), ReasonCode::TokenCountsDisagree, Severity::Warning, 2.0 / 11.0);
    lacks(&counted(10), ReasonCode::TokenCountsDisagree);
}

#[test]
fn pseudo_streaming() {
    let at_once = Run::clean().each(|record| record.events.gaps = vec![5 * MS]);
    provokes(&at_once, ReasonCode::PseudoStreaming, Severity::Warning, 1.0);
    let burst = Run::clean().each(|record| record.events.gaps = vec![2_500; 10]);
    provokes(&burst, ReasonCode::PseudoStreaming, Severity::Warning, 1.0);
    // Events that all came at one instant have no TPOT: as many as that are no oddity of single answers.
    let at_one_instant = |step| Run::clean().every(step, |record| record.events.gaps = vec![0; 10]);
    provokes(&at_one_instant(8), ReasonCode::PseudoStreaming, Severity::Warning, 1.0 / 8.0);
    lacks(&at_one_instant(10), ReasonCode::PseudoStreaming);
    let mut unasked = at_once;
    unasked.plan = plan(", stream: false");
    lacks(&unasked, ReasonCode::PseudoStreaming);
}

/// One event for several tokens is known for what it is however short the answer; single ones prove nothing.
#[test]
fn pseudo_streaming_of_short_answers() {
    let short = |record: &mut Record| {
        record.events.gaps.truncate(3);
        record.output_tokens.server = Some(Tokens(4));
    };
    let one_piece = |step| Run::clean().each(short).every(step, |record| record.events.gaps.clear());
    assert_eq!(provokes(&one_piece(1), ReasonCode::PseudoStreaming, Severity::Warning, 1.0).limit, Some(0.5));
    lacks(&one_piece(2), ReasonCode::PseudoStreaming);
    lacks(&Run::clean().each(short), ReasonCode::PseudoStreaming);
    let one_token = Run::clean().each(|record| {
        record.events.gaps.clear();
        record.output_tokens.server = Some(Tokens(1));
    });
    lacks(&one_token, ReasonCode::PseudoStreaming);
}

#[test]
fn cached_prompts() {
    let run = Run::clean().each(|record| record.input_tokens.cached = Some(Tokens(50)));
    provokes(&run, ReasonCode::CachedPrompts, Severity::Warning, 50.0 / 101.0);
    let most = Run::clean().each(|record| record.input_tokens.cached = Some(Tokens(60)));
    provokes(&most, ReasonCode::CachedPrompts, Severity::Invalid, 60.0 / 101.0);
}

#[test]
fn invisible_output() {
    let run = Run::clean().every(10, |record| record.events = TokenEvents::default());
    provokes(&run, ReasonCode::InvisibleOutput, Severity::Warning, 0.1);
}

#[test]
fn no_token_count() {
    let run = Run::clean().each(|record| record.output_tokens.server = None);
    provokes(&run, ReasonCode::NoTokenCount, Severity::Warning, 1.0);
    let point = run.point();
    assert_eq!((point.throughput.output_tok_s, point.tpot_ms.n), (None, 0));
    assert_eq!((point.slo["tight"].attainment, point.slo["tight"].met), (None, None));
    assert!(point.slo["whole"].met == Some(true));
}

/// Eleven events hold eleven tokens at least: a server that counts fewer has not counted them.
#[test]
fn counts_that_cannot_be() {
    for count in [0, 1, 10] {
        let run = Run::clean().each(move |record| record.output_tokens.server = Some(Tokens(count)));
        provokes(&run, ReasonCode::NoTokenCount, Severity::Warning, 1.0);
        let point = run.point();
        assert_eq!((point.throughput.output_tok_s, point.tpot_ms.n), (None, 0));
        assert_eq!((point.output_tokens.source, point.output_tokens.server_mean), (None, None));
        assert_eq!((point.slo["tight"].attainment, point.slo["tight"].met), (None, None));

        let counted = run.each(|record| record.output_tokens.local = Some(Tokens(11)));
        lacks(&counted, ReasonCode::NoTokenCount);
        let point = counted.point();
        assert_eq!((point.output_tokens.source.as_deref(), point.tpot_ms.p50), (Some("tokenizer"), Some(20.0)));
        assert_eq!(point.slo["tight"].good, Run::clean().point().slo["tight"].good);
        if count < 10 {
            let apart = (10.0 - count as f64) / (count as f64).max(1.0);
            provokes(&counted, ReasonCode::TokenCountsDisagree, Severity::Warning, apart);
        }
    }
}

/// Where the tokenizer too finds fewer tokens than events, tokens came in pieces and the server's count stands.
#[test]
fn tokens_cut_into_pieces() {
    let run = Run::clean().each(|record| {
        (record.output_tokens.server, record.output_tokens.local) = (Some(Tokens(6)), Some(Tokens(6)));
    });
    let point = run.point();
    assert_eq!((point.output_tokens.source.as_deref(), point.tpot_ms.p50), (Some("server"), Some(40.0)));
    lacks(&run, ReasonCode::NoTokenCount);
}

#[test]
fn cut() {
    let cut = |step| Run::clean().every(step, |record| record.outcome = Outcome::Cut);
    provokes(&cut(100), ReasonCode::Cut, Severity::Warning, 12.0);
    provokes(&cut(10), ReasonCode::Cut, Severity::Invalid, 120.0);
    // What the plan asks for is told and no more.
    let mut wanted = cut(10);
    wanted.plan.loads[0].hold.at_end = EndPolicy::Cancel;
    provokes(&wanted, ReasonCode::Cut, Severity::Warning, 120.0);
}

#[test]
fn oddities() {
    let run = Run::clean().every(100, |record| record.oddities = 2);
    provokes(&run, ReasonCode::Oddities, Severity::Warning, 24.0);
}

/// A window which its warm-up fills evenly is not taken for an overloaded one, whatever its length.
#[test]
fn short_points_are_not_accused() {
    for seconds in [1, 2, 3, 5] {
        let mut run = Run::clean();
        run.records = (0..20 * (seconds + 5)).map(|i| answer(i, i * SECOND / 20)).collect();
        run.ended.window_end = Nanos(WARM_UP + seconds * SECOND);
        run.ended.ended = Nanos(run.ended.window_end.0 + SECOND);
        run.ended.scheduled = 20 * seconds;
        for code in [ReasonCode::BacklogGrowing, ReasonCode::RateNotKept, ReasonCode::LittlesLaw] {
            lacks(&run, code);
        }
    }
}

/// Latencies that fall by four fifths forty seconds into the window never settled in its first half.
#[test]
fn not_steady() {
    let settling = |seconds: u64| {
        Run::clean().each(move |record| {
            if record.intended.0 < WARM_UP + seconds * SECOND {
                delay(record, 800 * MS);
            }
        })
    };
    let late = settling(40);
    let told = provokes(&late, ReasonCode::NotSteady, Severity::Invalid, 2.0 / 3.0);
    assert_eq!((told.limit, late.point().steady.state), (Some(0.5), SteadyState::NotSteady));
    assert_eq!(late.point().ttft_ms.n, 1_200, "nothing is cut where nothing settles");
    lacks(&settling(10), ReasonCode::NotSteady);
    // A growing backlog is not steady either; its own reason says why.
    lacks(&overloaded(), ReasonCode::NotSteady);
}

/// The same point ended after twenty seconds.
fn ended_early(end: PointEnd) -> Run {
    let mut run = Run::clean();
    run.ended.end = end;
    run.ended.window_end = Nanos(WARM_UP + 20 * SECOND);
    run.ended.ended = Nanos(run.ended.window_end.0 + SECOND);
    run.records.retain(|record| record.intended < run.ended.window_end);
    run.ended.scheduled = 400;
    run
}

#[test]
fn over_saturated() {
    let run = ended_early(PointEnd::OverSaturated);
    assert_eq!(provokes(&run, ReasonCode::OverSaturated, Severity::Invalid, 20.0).limit, Some(60.0));
    // That it has fewer samples than planned follows from that, and is no second fault.
    lacks(&run, ReasonCode::TooFewSamples);
    assert_eq!(run.point().end, PointEnd::OverSaturated);
}

#[test]
fn limit_reached() {
    let mut run = ended_early(PointEnd::Limit);
    run.ended.interrupted = true;
    provokes(&run, ReasonCode::LimitReached, Severity::Invalid, 20.0);
    lacks(&run, ReasonCode::Interrupted);
    let mut whole = Run::clean();
    whole.ended.end = PointEnd::Limit;
    provokes(&whole, ReasonCode::LimitReached, Severity::Warning, 60.0);
}

#[test]
fn not_open_loop() {
    let held = |held_back| {
        let mut run = Run::clean();
        run.ended.held_back = held_back;
        run
    };
    provokes(&held(6), ReasonCode::NotOpenLoop, Severity::Warning, 6.0 / 1_200.0);
    provokes(&held(120), ReasonCode::NotOpenLoop, Severity::Invalid, 0.1);
    let point = held(6).point();
    assert_eq!((point.open_loop, point.requests.held_back), (Some(false), 6));
    lacks(&held(120), ReasonCode::Dropped);
    let mut closed = held(120);
    closed.ended.point = 1;
    closed.records.iter_mut().for_each(|record| record.point = 1);
    lacks(&closed, ReasonCode::NotOpenLoop);
}

#[test]
fn dropped() {
    let dropped = |dropped: u32| {
        let mut run = Run::clean();
        run.ended.dropped = dropped.into();
        for _ in 0..dropped {
            run.records.pop();
        }
        run
    };
    provokes(&dropped(6), ReasonCode::Dropped, Severity::Warning, 6.0 / 1_200.0);
    provokes(&dropped(120), ReasonCode::Dropped, Severity::Invalid, 0.1);
    provokes(&dropped(6), ReasonCode::NotOpenLoop, Severity::Warning, 6.0 / 1_200.0);
    assert_eq!(dropped(6).point().requests.dropped, 6);
    // They were never written, so the journal did not lose them; one that was written is lost if it is not there.
    lacks(&dropped(120), ReasonCode::RecordsLost);
    let mut recorded = dropped(6).every(200, |record| {
        refuse(record);
        let Outcome::Failed(failure) = &mut record.outcome else { panic!("refused") };
        failure.kind = FailureKind::Client;
    });
    recorded.loss = Some(Loss { bytes: 9, unflushed: false });
    provokes(&recorded, ReasonCode::RecordsLost, Severity::Warning, 9.0);
}

fn calibrated(ttft_p99: f64, itl_p99: f64, streams: u32, events: f64) -> Run {
    let mut run = Run::clean();
    run.calibration = Some(Calibration {
        streams,
        token_events_s: events,
        samples: 1_000,
        ttft_added_ms: AddedDelay { p50: 0.02, p99: ttft_p99 },
        itl_added_ms: AddedDelay { p50: 0.01, p99: itl_p99 },
        server_late_p99_ms: 0.3,
    });
    run
}

#[test]
fn client_calibration() {
    lacks(&calibrated(0.5, 0.2, 20, 500.0), ReasonCode::ClientCalibration);
    provokes(&calibrated(2.0, 0.2, 20, 500.0), ReasonCode::ClientCalibration, Severity::Warning, 2.0);
    provokes(&calibrated(2.0, 12.0, 20, 500.0), ReasonCode::ClientCalibration, Severity::Invalid, 12.0);
    // What the calibration's own server was late by is not the client's.
    let mut rough = calibrated(2.0, 0.2, 20, 500.0);
    rough.calibration = rough.calibration.map(|at| Calibration { server_late_p99_ms: 3.0, ..at });
    lacks(&rough, ReasonCode::ClientCalibration);
}

#[test]
fn calibration_too_small() {
    let enough = calibrated(0.1, 0.1, 20, 250.0);
    lacks(&enough, ReasonCode::CalibrationTooSmall);
    assert_eq!(enough.point().client.calibrated, Some(true));
    // Twenty requests a second of eleven events each.
    let few_events = calibrated(0.1, 0.1, 20, 110.0);
    provokes(&few_events, ReasonCode::CalibrationTooSmall, Severity::Warning, 2.0);
    assert_eq!(few_events.point().client.calibrated, Some(false));
    let most = Run::clean().point().client.in_flight_max.expect("a window");
    let few_streams = calibrated(0.1, 0.1, 2, 250.0);
    provokes(&few_streams, ReasonCode::CalibrationTooSmall, Severity::Warning, most as f64 / 2.0);
    assert_eq!(Run::clean().point().client.calibrated, None);
}

/// Every code that a summary can hold is provoked by a test of this file.
#[test]
fn every_code_has_its_test() {
    let schema = summary_schema();
    let codes = schema.pointer("/$defs/ReasonCode/oneOf").and_then(Value::as_array).expect("an enumeration");
    assert!(codes.len() >= 29, "{codes:?}");
    let text: String = include_str!("reasons.rs").split_whitespace().collect();
    for code in codes {
        let code: ReasonCode = serde_json::from_value(code["const"].clone()).expect("a code");
        let provoked = format!(",ReasonCode::{code:?},Severity::");
        let told = text
            .split("provokes(")
            .skip(1)
            .any(|call| call.split(';').next().is_some_and(|call| call.contains(&provoked)));
        assert!(told, "no test provokes {code:?}");
    }
}
