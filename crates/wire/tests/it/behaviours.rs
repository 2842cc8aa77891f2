//! What servers do in answers that are no failures. Each test names the behaviour.

use kneepoint_model::plan::Dialect;
use kneepoint_model::{FailureKind, FailurePoint, Nanos, Tokens};
use kneepoint_wire::exchange::{Exchange, Step};

use crate::support::*;

#[test]
fn role_only_first_chunk_in_every_spelling() {
    for role in [r#""role":"assistant","content":null"#, r#""role":"assistant","content":"""#, r#""role":"assistant""#]
    {
        let answer = chat(&[&event(role, ""), &content("Hi"), STOP, DONE]);
        assert_eq!(answer.verdict, Ok(()));
        assert_eq!((answer.events.len(), answer.text.as_str()), (1, "Hi"), "{role}");
    }
}

#[test]
fn role_early_and_first_text_much_later() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, false);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let (first, second) = (content("a"), content("b"));
    let last = format!("{STOP}{DONE}");
    let steps = timed(
        &mut exchange,
        &[(5, head), (10, ROLE.as_bytes()), (900, first.as_bytes()), (920, second.as_bytes()), (930, last.as_bytes())],
    );
    assert_eq!(steps, [Step::More, Step::More, Step::More, Step::More, Step::Done]);
    let answer = exchange.finish();
    assert_eq!(answer.first_byte, Some(Nanos(5)));
    assert_eq!(answer.events.first, Some(Nanos(900)));
    assert_eq!(answer.events.gaps, [20]);
    assert_eq!(answer.closed, Some(Nanos(930)));
    assert_eq!(answer.verdict, Ok(()));
}

#[test]
fn reasoning_counts_and_the_first_answer_is_told_apart() {
    for name in ["reasoning", "reasoning_content"] {
        let think = event(&format!(r#""{name}":"hm""#), "");
        let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
        let (say, end) = (content("42"), format!("{}{STOP}{DONE}", content("!")));
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        timed(
            &mut exchange,
            &[
                (1, head),
                (100, think.as_bytes()),
                (200, think.as_bytes()),
                (900, say.as_bytes()),
                (950, end.as_bytes()),
            ],
        );
        let answer = exchange.finish();
        assert_eq!(answer.events.first, Some(Nanos(100)));
        assert_eq!(answer.events.first_answer, Some(Nanos(900)));
        assert_eq!(answer.events.len(), 4);
        assert_eq!(answer.text, "hmhm42!");
    }
    let answer = chat(&[&content("a"), DONE]);
    assert_eq!(answer.events.first_answer, None, "only where reasoning came before");
}

#[test]
fn reasoning_under_two_names_counts_once() {
    let answer = chat(&[&event(r#""reasoning":"hm","reasoning_content":"hm""#, ""), &content("x"), DONE]);
    assert_eq!(answer.text, "hmx");
}

#[test]
fn cut_by_length_inside_reasoning() {
    let answer = chat(&[
        ROLE,
        &event(r#""reasoning_content":"let me""#, ""),
        &event(r#""reasoning_content":"""#, r#","finish_reason":"length""#),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n",
        DONE,
    ]);
    assert_eq!(answer.verdict, Ok(()));
    assert_eq!(answer.events.len(), 1);
    assert_eq!(answer.events.first_answer, None);
    assert_eq!(answer.finish.as_deref(), Some("length"));
    assert_eq!((answer.output_tokens, answer.reasoning_tokens), (Some(Tokens(2)), Some(Tokens(2))));
}

#[test]
fn tool_call_deltas_only() {
    let answer = chat(&[
        &event(
            r#""role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]"#,
            "",
        ),
        &event(r#""tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]"#, ""),
        &event(r#""tool_calls":[{"index":0,"function":{"arguments":""}}]"#, ""),
        &event(r#""tool_calls":[{"index":0,"function":{"arguments":"1}"}}]"#, ""),
        &event("", r#","finish_reason":"tool_calls""#),
        DONE,
    ]);
    assert_eq!(answer.verdict, Ok(()));
    assert_eq!(answer.events.len(), 3, "an empty piece of arguments is no event");
    assert_eq!(answer.text, r#"f{"a":1}"#);
    assert_eq!(answer.finish.as_deref(), Some("tool_calls"));
    assert_eq!(answer.events.first_answer, None);
}

#[test]
fn several_tokens_in_a_chunk_are_counted_by_running_usage() {
    let counted = |text: &str, total: u32| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{total}}}}}\n\n"
        )
    };
    let answer =
        chat(&[&counted("", 0), &counted("a b c d e", 5), &counted("f", 6), &counted("", 7), &counted("g", 8), DONE]);
    assert_eq!(answer.events.tokens, [5, 1, 2], "a token without text comes out with the next event");
    assert_eq!(answer.output_tokens, Some(Tokens(8)));

    let answer = chat(&[&counted("a", 1), &content("b"), &counted("c", 3), DONE]);
    assert!(answer.events.tokens.is_empty(), "one event without a count spoils them all");
    assert_eq!(answer.output_tokens, Some(Tokens(3)));

    let answer = chat(&[&counted("a", 3), &counted("b", 3), DONE]);
    assert!(answer.events.tokens.is_empty(), "a total that stands still counts nothing");
    let answer = chat(&[&counted("a", 3), &counted("b", 2), DONE]);
    assert!(answer.events.tokens.is_empty(), "a total that falls is none");
    assert_eq!(answer.output_tokens, Some(Tokens(2)), "the last value wins");
}

#[test]
fn token_ids_and_logprobs_count_tokens() {
    let by_ids = |text: &str, ids: &str| event(&format!(r#""content":"{text}""#), &format!(r#","token_ids":{ids}"#));
    let answer = chat(&[&by_ids("ab", "[1,2]"), &by_ids("", "[3]"), &by_ids("c", "[4]"), STOP, DONE]);
    assert_eq!(answer.events.tokens, [2, 2]);

    let completion = "data: {\"choices\":[{\"text\":\"a b\",\"logprobs\":{\"tokens\":[\"a\",\" b\"],\"token_logprobs\":[0,0]}}]}\n\n";
    let wire = chunked(&[completion, completion, DONE]);
    let answer = answer_of(Dialect::OpenaiCompletions, true, &wire, After::Open);
    assert_eq!((answer.events.tokens.as_slice(), answer.text.as_str()), (&[2, 2][..], "a ba b"));
}

#[test]
fn counts_that_exceed_the_usage_are_dropped() {
    let by_ids = event(r#""content":"x""#, r#","token_ids":[1,2,3]"#);
    let usage = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\n";
    assert!(chat(&[&by_ids, STOP, usage, DONE]).events.tokens.is_empty());
}

#[test]
fn whole_answer_in_one_chunk() {
    let answer = chat(&[
        "data: {\"choices\":[{\"delta\":{\"content\":\"all of it\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":3}}\n\n",
        DONE,
    ]);
    assert_eq!((answer.events.len(), answer.events.tokens.as_slice()), (1, &[3][..]));
}

#[test]
fn cumulative_deltas_count_only_what_is_new() {
    let parts = ["a", "a b", "a b c", "a b c", "a b c d", "a b c d e"].map(content);
    let mut events: Vec<&str> = parts.iter().map(String::as_str).collect();
    events.extend([STOP, DONE]);
    let answer = chat(&events);
    assert_eq!(answer.text, "a b c d e");
    assert_eq!(answer.events.len(), 5, "a chunk that adds nothing is no event");
    assert_eq!(answer.oddities, 1, "and the record says that something was odd");
}

#[test]
fn sse_in_every_shape() {
    let chunk = |text: &str| format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}");
    let (a, b, c) = (chunk("a"), chunk(" b\u{2028}\u{85}"), chunk("好"));
    for stream in [
        format!("data:{a}\n\ndata:{b}\n\ndata:{c}\n\ndata:[DONE]\n\n"),
        format!("data: {a}\r\n\r\ndata: {b}\r\n\r\ndata: {c}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!("data: {a}\r\rdata: {b}\r\rdata: {c}\r\rdata: [DONE]\r\r"),
        format!(
            "\u{feff}data: {a}\n\n: ping\n\n:\n\nid: 1\nevent: message\ndata: {b}\n\nretry: 5\n\ndata: {c}\n\ndata: [DONE]"
        ),
        format!(": OPENROUTER PROCESSING\n\ndata: {a}\n\ndata: {b}\n\ndata: {c}\n\ndata: [DONE]\n"),
        format!(
            "data: {a}\n\ndata: {{\"choices\":\ndata: [{{\"delta\":{{\"content\":\" b\u{2028}\u{85}\"}}}}]}}\n\ndata: {c}\n\ndata: [DONE]\n\n"
        ),
    ] {
        let answer = answer_of(Dialect::OpenaiChat, true, &until_close(&stream), After::Close);
        assert_eq!(answer.verdict, Ok(()), "{stream:?}");
        assert_eq!((answer.text.as_str(), answer.events.len()), ("a b\u{2028}\u{85}好", 3), "{stream:?}");
        assert_eq!(answer.oddities, 0, "{stream:?}");
    }
}

#[test]
fn several_events_in_a_read_share_its_instant() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    let body = [content("a"), content("b"), content("c")].concat();
    let wire = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], body.as_bytes()].concat();
    timed(&mut exchange, &[(7, &wire), (9, DONE.as_bytes())]);
    let answer = exchange.finish();
    assert_eq!((answer.events.first, answer.events.gaps.as_slice()), (Some(Nanos(7)), &[0, 0][..]));
}

#[test]
fn white_space_tokens_are_tokens() {
    let answer = chat(&[&content(" "), &content("\n\n"), &content("\t"), STOP, DONE]);
    assert_eq!((answer.events.len(), answer.text.as_str()), (3, " \n\n\t"));
}

#[test]
fn lines_of_200_kb_and_2_mb() {
    for kb in [200, 2048] {
        let long = content(&"x".repeat(kb * 1024));
        let wire = chunked(&[&long, STOP, DONE]);
        let cuts: Vec<usize> = (1448..wire.len()).step_by(1448).collect();
        let (answer, reusable) = feed(Exchange::new(Dialect::OpenaiChat, true, true), &wire, &cuts, After::Open);
        assert_eq!(answer.verdict, Ok(()));
        assert_eq!((answer.text.len(), answer.events.len(), reusable), (kb * 1024, 1, true));
    }
}

#[test]
fn usage_wherever_it_stands() {
    let usage = r#""usage":{"prompt_tokens":11,"completion_tokens":1,"total_tokens":12}"#;
    for last in [
        format!("data: {{\"choices\":[],{usage}}}\n\n"),
        format!("data: {{{usage}}}\n\n"),
        format!("data: {{\"choices\":null,{usage}}}\n\n"),
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],{usage}}}\n\n"),
    ] {
        let answer = chat(&[&content("a"), STOP, &last, DONE]);
        assert_eq!((answer.input_tokens, answer.output_tokens), (Some(Tokens(11)), Some(Tokens(1))), "{last}");
        assert_eq!((answer.oddities, &answer.verdict), (0, &Ok(())), "{last}");
    }
    let null = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n";
    let partial = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":1,\"prompt_tokens_details\":null}}\n\n";
    let answer = chat(&[null, STOP, partial, DONE]);
    assert_eq!((answer.input_tokens, answer.output_tokens), (None, Some(Tokens(1))));
    let answer = chat(&[null, STOP, DONE]);
    assert_eq!((answer.input_tokens, answer.output_tokens, answer.verdict), (None, None, Ok(())));
}

#[test]
fn azure_frames_are_neither_tokens_nor_odd() {
    let answer = chat(&[
        "data: {\"choices\":[],\"prompt_filter_results\":[{\"prompt_index\":0}]}\n\n",
        ROLE,
        &content("a"),
        STOP,
        "data: {\"choices\":[{\"index\":0,\"content_filter_results\":{},\"finish_reason\":null}]}\n\n",
        DONE,
    ]);
    assert_eq!((answer.events.len(), answer.oddities, answer.verdict), (1, 0, Ok(())));
}

#[test]
fn null_objects_are_fine_and_malformed_events_are_counted() {
    let answer = chat(&[
        "data: {\"object\":null,\"choices\":[]}\n\n",
        "data: : OPENROUTER PROCESSING\n\n",
        &content("a"),
        "data: {\"choices\":[{\"delta\":{\"content\":\"lost\n\n",
        "data: 17\n\n",
        "data: {\"foreign\":true}\n\n",
        "data: \n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        &content("b"),
        STOP,
        DONE,
    ]);
    assert_eq!(answer.verdict, Ok(()));
    assert_eq!((answer.text.as_str(), answer.events.len(), answer.oddities), ("ab", 2, 4));
}

#[test]
fn strings_that_are_not_utf_8_are_malformed_events() {
    let mut wire = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    wire.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n");
    wire.extend_from_slice([&content("ok"), DONE].map(|s| s.as_bytes().to_vec()).concat().as_slice());
    let answer = answer_of(Dialect::OpenaiChat, true, &wire, After::Open);
    assert_eq!((answer.text.as_str(), answer.events.len(), answer.oddities), ("ok", 1, 1));
}

#[test]
fn content_made_of_parts() {
    let answer = chat(&[
        &event(r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]"#, ""),
        &event(r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, ""),
        &event(r#""content":[]"#, ""),
        &event(r#""content":{"unknown":1}"#, ""),
        DONE,
    ]);
    assert_eq!((answer.text.as_str(), answer.events.len(), answer.oddities), ("hmab", 2, 0));
}

#[test]
fn finish_reason_without_the_end_marker_is_an_end() {
    let answer = answer_of(Dialect::OpenaiChat, true, &chunked(&[&content("a"), STOP]), After::Open);
    assert_eq!((&answer.verdict, answer.finish.as_deref()), (&Ok(()), Some("stop")));
    let wire = until_close(&[&content("a"), STOP].map(str::to_owned).concat());
    assert_eq!(answer_of(Dialect::OpenaiChat, true, &wire, After::Close).verdict, Ok(()));
}

#[test]
fn the_end_marker_ends_the_request_though_the_connection_stays_open() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    let text = [&content("a"), DONE].map(str::to_owned).concat();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    assert_eq!(timed(&mut exchange, &[(1, head.as_bytes()), (2, chunk.as_bytes())]), [Step::More, Step::Done]);
    assert!(!exchange.is_framed() && !exchange.connection_reusable(), "the last chunk has not come");
    assert_eq!(exchange.received(Nanos(3), b"0\r\n"), Step::Done);
    assert!(!exchange.is_framed());
    assert_eq!(exchange.received(Nanos(4), b"\r\n"), Step::Done);
    assert!(exchange.is_framed() && exchange.connection_reusable(), "and now it has");
    let answer = exchange.take_answer();
    assert_eq!((answer.closed, answer.verdict), (Some(Nanos(2)), Ok(())), "what comes later does not move the end");
    assert_eq!(answer.bytes_received, (head.len() + chunk.len() + 5) as u64);

    // The same exchange serves the next request.
    assert_eq!(exchange.received(Nanos(9), &chunked(&[&content("b"), DONE])), Step::Done);
    let answer = exchange.take_answer();
    assert_eq!((answer.text.as_str(), answer.events.first), ("b", Some(Nanos(9))));
}

#[test]
fn bytes_after_the_end_spoil_the_connection_and_not_the_answer() {
    let mut wire = chunked(&[&content("a"), DONE]);
    wire.extend_from_slice(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
    assert_eq!(exchange.received(NOW, &wire), Step::Done);
    assert!(!exchange.connection_reusable());
    let answer = exchange.finish();
    assert_eq!((answer.verdict, answer.oddities), (Ok(()), 1));
}

#[test]
fn a_server_that_goes_on_after_the_end_marker_is_left() {
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, false);
    exchange.received(NOW, &until_close(&format!("{}{DONE}", content("a"))));
    for _ in 0..100 {
        assert_eq!(exchange.received(NOW, &[b'x'; 1024]), Step::Done);
    }
    assert!(exchange.is_framed() && !exchange.connection_reusable());
    assert_eq!(exchange.finish().events.len(), 1);
}

#[test]
fn stops_after_few_tokens_or_one_or_an_invisible_one() {
    let usage = |n: u32| format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{n}}}}}\n\n");
    let some = content("x").repeat(43);
    let answer = chat(&[&some, STOP, &usage(43), DONE]);
    assert_eq!((answer.events.len(), answer.output_tokens, answer.verdict), (43, Some(Tokens(43)), Ok(())));
    let answer = chat(&[&content("x"), STOP, &usage(1), DONE]);
    assert_eq!((answer.events.len(), answer.events.gaps.len(), answer.verdict), (1, 0, Ok(())));
    let answer = chat(&[&content(""), STOP, &usage(3), DONE]);
    assert_eq!((answer.events.len(), answer.output_tokens, &answer.verdict), (0, Some(Tokens(3)), &Ok(())));
    assert_eq!(answer.events.first, None, "no token was seen, so there is no instant");
    for events in [[&content(""), STOP, DONE].concat(), [&usage(0), STOP, DONE].concat()] {
        let answer = chat(&[&events]);
        assert_eq!(failure_of(&answer).0, FailureKind::Empty);
        assert_eq!(failure_of(&answer).1, FailurePoint::FirstToken);
    }
}

#[test]
fn buffered_streams_are_read_as_they_come() {
    let burst = content("x").repeat(64);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let mut exchange = Exchange::new(Dialect::OpenaiChat, true, false);
    timed(&mut exchange, &[(1, head), (100, burst.as_bytes()), (200, burst.as_bytes()), (200, DONE.as_bytes())]);
    let answer = exchange.finish();
    assert_eq!(answer.events.len(), 128);
    assert_eq!(answer.events.gaps.iter().filter(|gap| **gap > 0).count(), 1, "the bursts stay visible");
}

#[test]
fn unary_answers_have_one_event_at_their_end() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"all"},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":7}}"#;
    let wire = with_length("200 OK", "Content-Type: application/json\r\n", body);
    for stream in [false, true] {
        let answer = answer_of(Dialect::OpenaiChat, stream, &wire, After::Open);
        assert_eq!(answer.verdict, Ok(()));
        assert_eq!((answer.events.len(), answer.text.as_str()), (1, "all"));
        assert_eq!((answer.events.tokens.as_slice(), answer.output_tokens), (&[7][..], Some(Tokens(7))));
    }
    let mut exchange = Exchange::new(Dialect::OpenaiChat, false, false);
    let (start, end) = wire.split_at(wire.len() - 10);
    assert_eq!(timed(&mut exchange, &[(10, start), (50, end)]), [Step::More, Step::Done]);
    let answer = exchange.finish();
    assert_eq!(
        (answer.first_byte, answer.events.first, answer.closed),
        (Some(Nanos(10)), Some(Nanos(50)), Some(Nanos(50)))
    );
}

#[test]
fn a_stream_is_read_as_one_whatever_was_asked_and_however_it_is_labelled() {
    let body = [&content("a"), DONE].map(str::to_owned).concat();
    for label in ["text/event-stream", "application/json", "text/plain", ""] {
        let head = if label.is_empty() { String::new() } else { format!("Content-Type: {label}\r\n") };
        let answer = answer_of(Dialect::OpenaiChat, true, &with_length("200 OK", &head, &body), After::Open);
        assert_eq!((answer.text.as_str(), &answer.verdict), ("a", &Ok(())), "{label}");
    }
    let wire = with_length("200 OK", "Content-Type: text/event-stream\r\n", &body);
    let answer = answer_of(Dialect::OpenaiChat, false, &wire, After::Open);
    assert_eq!((answer.text.as_str(), &answer.verdict), ("a", &Ok(())));
}

#[test]
fn several_choices_are_all_output() {
    let other = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n";
    let both = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"}},{\"index\":1,\"delta\":{\"content\":\"d\"},\"finish_reason\":\"length\"}]}\n\n";
    let answer = chat(&[&content("a"), other, both, DONE]);
    assert_eq!((answer.text.as_str(), answer.events.len()), ("abcd", 3));
}

#[test]
fn server_times_are_read_where_they_are_given() {
    let llama = "data: {\"choices\":[],\"timings\":{\"prompt_ms\":12.5,\"predicted_ms\":100.25}}\n\n";
    let answer = chat(&[&content("a"), llama, DONE]);
    assert_eq!((answer.server.prefill, answer.server.decode), (Some(Nanos(12_500_000)), Some(Nanos(100_250_000))));
    let groq = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":1,\"queue_time\":0.25,\"prompt_time\":0.5,\"completion_time\":1}}\n\n";
    let server = chat(&[&content("a"), groq, DONE]).server;
    assert_eq!(server.queue, Some(Nanos::from_millis(250)));
    assert_eq!((server.prefill, server.decode), (Some(Nanos::from_millis(500)), Some(Nanos::from_secs(1))));
}

#[test]
fn heads_say_who_answers() {
    let head = "Server: sim/1\r\nX-Kneepoint-Simulated: 1\r\n";
    let body = r#"{"choices":[{"text":"x"}]}"#;
    let answer = answer_of(Dialect::OpenaiCompletions, false, &with_length("200 OK", head, body), After::Open);
    assert_eq!((answer.server_header.as_deref(), answer.simulated), (Some("sim/1"), true));
    assert!(!chat(&[&content("a"), DONE]).simulated);
}
