//! TTFT, TPOT, gaps and goodput of single requests against worked numbers.

use kneepoint_analysis::stats::timeline::{Timeline, token_gaps};
use kneepoint_model::record::{
    Bytes, Connection, InputTokens, Outcome, OutputTokens, Phase, ServerTiming, TokenEvents,
};
use kneepoint_model::{Failure, FailureKind, FailurePoint, Nanos, Record, Side, Tokens};
use serde_json::{Value, json};

use crate::golden::{agrees, cases, fixture};
use crate::run::Run;

fn nanos(seconds: &Value) -> Nanos {
    Nanos::from_secs_f64(seconds.as_f64().expect("seconds"))
}

fn record(request: &Value) -> Record {
    let events = request["token_events"].as_array().expect("events");
    let instants: Vec<Nanos> = events.iter().map(|event| nanos(&event[0])).collect();
    let tokens: Vec<u32> =
        events.iter().map(|event| u32::try_from(event[1].as_u64().expect("tokens")).expect("fits")).collect();
    let n: u32 = tokens.iter().sum();
    let failed = request.get("error").is_some() || n == 0;
    let end = nanos(&request["end_s"]);
    let failure = Failure {
        kind: if n == 0 { FailureKind::Empty } else { FailureKind::Reset },
        side: Side::Server,
        at: FailurePoint::Stream,
        when: end,
        detail: String::new(),
    };
    Record {
        point: 0,
        index: 0,
        phase: Phase::Measured,
        intended: nanos(&request["intended_s"]),
        dispatched: nanos(&request["intended_s"]),
        connection: Connection::default(),
        sent: Some(nanos(&request["sent_s"])),
        written: None,
        first_byte: instants.first().copied(),
        events: TokenEvents {
            first: instants.first().copied(),
            gaps: instants.windows(2).map(|pair| pair[1].0 - pair[0].0).collect(),
            tokens,
            first_answer: None,
        },
        closed: Some(end),
        status: Some(200),
        outcome: if failed { Outcome::Failed(failure) } else { Outcome::Ok },
        finish: None,
        input_tokens: InputTokens::default(),
        output_tokens: OutputTokens { server: Some(Tokens(u64::from(n))), ..OutputTokens::default() },
        bytes: Bytes::default(),
        server: ServerTiming::default(),
        read_delay: None,
        oddities: 0,
    }
}

fn seconds(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|ns| ns as f64 / 1e9)
}

#[test]
fn spans_of_one_request() {
    for case in cases(&fixture("token_metrics"), "cases") {
        let (record, want) = (record(&case["request"]), &case["expected"]);
        let what = case["request"]["id"].to_string();
        assert_eq!(json!(record.outcome.is_ok()), want["ok"], "{what}");
        assert_eq!(json!(record.output_tokens.best().map(|t| t.0)), want["output_tokens"], "{what}");
        if !record.outcome.is_ok() {
            continue;
        }
        let line = Timeline::of(&record);
        agrees(seconds(line.ttft), &want["ttft"], &what);
        agrees(seconds(line.ttft_sent), &want["ttft_from_send"], &what);
        agrees(seconds(line.e2e), &want["e2e"], &what);
        agrees(seconds(line.response), &want["response"], &what);
        agrees(line.tpot.ns().map(|ns| ns / 1e9), &want["tpot"], &what);
        agrees(line.tpot.ns().map(|ns| 1e9 / ns), &want["output_speed"], &what);
        let per_token: Vec<f64> =
            token_gaps(&record.events).flat_map(|(gap, tokens)| (0..tokens).map(move |_| gap / 1e9)).collect();
        for (got, want) in [(per_token, &want["itl_per_token"]), (gaps(&record), &want["itl_event"])] {
            assert_eq!(got.len(), want.as_array().expect("gaps").len(), "{what}");
            got.iter().zip(want.as_array().expect("gaps")).for_each(|(got, want)| agrees(Some(*got), want, &what));
        }
        // What the whole house rests on: E2E − TTFT is the sum of the gaps, to the nanosecond.
        assert_eq!(line.e2e.expect("tokens") - line.ttft.expect("tokens"), record.events.gaps.iter().sum::<u64>());
    }
}

fn gaps(record: &Record) -> Vec<f64> {
    record.events.gaps.iter().map(|ns| *ns as f64 / 1e9).collect()
}

/// The goodput example of the fixture, through the summary: failures and empty answers stay in the denominator, and one
/// token meets a limit on TPOT.
#[test]
fn goodput_of_the_example() {
    let file = fixture("token_metrics");
    let requests = cases(&file, "cases").iter().filter(|case| !case["good"].is_null());
    let mut run = Run::clean();
    run.records = requests.zip(0..).map(|(case, index)| Record { index, ..record(&case["request"]) }).collect();
    let slo = &mut run.plan.slos[0];
    (slo.ttft, slo.tpot) = (Some(nanos(&file["slo"]["ttft"])), Some(nanos(&file["slo"]["tpot"])));
    let name = slo.name.clone();
    (run.ended.started, run.ended.window_start, run.ended.window_end) = (Nanos(0), Nanos(0), nanos(&file["window_s"]));
    (run.ended.ended, run.ended.scheduled) = (run.ended.window_end, 0);

    let (point, want) = (run.point(), &file["totals"]);
    let slo = &point.slo[&name];
    assert_eq!((json!(slo.offered), json!(slo.good)), (want["offered"].clone(), want["good"].clone()));
    assert_eq!(json!(point.requests.ok), want["succeeded"]);
    agrees(slo.goodput_rps, &want["goodput_rps"], "goodput");
    agrees(slo.attainment, &want["attainment_offered"], "attainment");
    agrees(point.throughput.output_tok_s, &want["output_tps"], "output tokens per second");
    let failed = point.requests.failed.values().sum::<u64>() as f64;
    agrees(Some(failed / point.requests.scheduled as f64), &want["error_rate"], "error rate");
}
