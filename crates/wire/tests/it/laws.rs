//! Laws that hold for any bytes, tried on thousands: random ones, ones made of the protocols' own words, and captured
//! answers with bytes changed.

use kneepoint_model::plan::Dialect;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

// The targets of cargo-fuzz check the same.
#[path = "../../../../fuzz/bodies.rs"]
pub(crate) mod bodies;

/// Words from which bytes are made that a decoder is likely to take for something.
const WORDS: &[&str] = &[
    "data:",
    "data: ",
    "event: error",
    "event:",
    "error: {\"code\":500}",
    "id: 1",
    ":",
    ": ping",
    ":HTTP_STATUS/429",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\r\n\r\n",
    "\u{feff}",
    "\u{2028}",
    "[DONE]",
    "data: [DONE]\n\n",
    "{",
    "}",
    "null",
    "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}",
    "{\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}",
    "{\"choices\":[{\"message\":{\"content\":\"c\"}}],\"usage\":{\"completion_tokens\":1}}",
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
    "{\"error\":{\"message\":\"no\"}}",
    "{\"choices\":[{\"delta\":{\"reasoning\":\"hm\"},\"token_ids\":[1,2]}]}",
    "{\"object\":\"error\"}",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 503 No\r\n",
    "HTTP/1.1 429 \r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Content-Type: text/event-stream\r\n",
    "Content-Type: text/html\r\n",
    "Retry-After: 5\r\n",
    "5\r\n",
    "0\r\n\r\n",
    "1f;x=y\r\n",
    "a\r\n",
    "hello",
    "<html>",
    "好",
];

fn wordy() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    (vec(any::<u8>(), 8), vec(word, 0..24)).prop_map(|(mut cuts, words)| {
        cuts.extend(words.concat());
        cuts
    })
}

/// A valid head before wordy bytes, so that most cases reach the body.
fn answered() -> impl Strategy<Value = Vec<u8>> {
    let heads = select(
        &[
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n",
            "HTTP/1.1 400 Bad\r\n\r\n",
        ][..],
    );
    (heads, wordy()).prop_map(|(head, mut bytes)| {
        bytes.splice(8..8, head.bytes());
        bytes
    })
}

const CHAT: &[u8] = include_bytes!("../fixtures/engines/vllm/chat_stream_logprobs.http");
const COMPLETION: &[u8] = include_bytes!("../fixtures/engines/llamacpp/completion_stream.http");
const UNARY: &[u8] = include_bytes!("../fixtures/engines/llamacpp/chat_unary.http");

/// A captured answer with a few bytes replaced, left out or doubled.
fn damaged(capture: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    (vec(any::<u8>(), 8), vec((any::<Index>(), any::<u8>(), 0..3_u8), 0..6)).prop_map(move |(mut input, changes)| {
        let mut bytes = capture.to_vec();
        for (place, byte, change) in changes {
            let i = place.index(bytes.len());
            match change {
                0 => bytes[i] = byte,
                1 => drop(bytes.remove(i)),
                _ => bytes.insert(i, byte),
            }
        }
        input.extend(bytes);
        input
    })
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..400)
}

/// The same events in any of the encodings the standard allows.
fn encode(events: &[(String, u8, bool)], end: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (text, comments, space) in events {
        for _ in 0..*comments {
            out.extend_from_slice(format!(": comment{end}").as_bytes());
        }
        for line in text.split('\n') {
            out.extend_from_slice(format!("data:{}{line}{end}", if *space { " " } else { "" }).as_bytes());
        }
        out.extend_from_slice(end.as_bytes());
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_do_not_depend_on_encoding_or_cuts(
        events in vec(("[a-z{}\":好\u{2028}\u{85}\n]{1,20}", 0..3_u8, any::<bool>()), 0..8),
        ends in select(&["\n", "\r\n", "\r"][..]),
        mark in any::<bool>(),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let mut bytes = if mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        bytes.extend(encode(&events, ends));
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let mut decoder = kneepoint_wire::sse::SseDecoder::default();
        let mut found = Vec::new();
        for pair in places.windows(2) {
            decoder
                .feed(&bytes[pair[0]..pair[1]], &mut |event| found.push(String::from_utf8(event.data.to_vec()).expect("text")))
                .expect("short enough");
        }
        prop_assert_eq!(found, events.into_iter().map(|event| event.0).collect::<Vec<_>>());
    }

    #[test]
    fn sse_of_any_bytes(input in any_bytes()) {
        bodies::sse(&input);
    }

    #[test]
    fn sse_of_its_own_words(input in wordy()) {
        bodies::sse(&input);
    }

    #[test]
    fn http_of_any_bytes(input in any_bytes()) {
        bodies::http1(&input);
    }

    #[test]
    fn http_of_its_own_words(input in prop_oneof![wordy(), answered()]) {
        bodies::http1(&input);
    }

    #[test]
    fn chat_of_any_words(input in prop_oneof![any_bytes(), wordy(), answered()], stream in any::<bool>()) {
        bodies::exchange(Dialect::OpenaiChat, stream, &input);
    }

    #[test]
    fn completions_of_any_words(input in prop_oneof![any_bytes(), wordy(), answered()], stream in any::<bool>()) {
        bodies::exchange(Dialect::OpenaiCompletions, stream, &input);
    }

    #[test]
    fn plans_of_any_text(input in prop_oneof![any_bytes(), "[a-z0-9: {}\\[\\],.\n$&*!|>#%-]{0,200}".prop_map(String::into_bytes)]) {
        bodies::plan(&input);
    }
}

const GROWING: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"@\"}}]}\n\n";

/// A stream of chunks of few forms, so that most of them repeat an earlier one: texts of every kind, changed fields, and
/// now and then a byte that fits nowhere.
fn alike() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        4 => "[a-z 好é\u{7f}\u{2028}]{0,4}",
        1 => select(&["\\n", "\\u0041", "\\ud83d", "\"", "\\", "x\",\"y\":\"", "\t", "one", "content"][..])
            .prop_map(str::to_owned),
    ];
    let form = select(
        &[
            r#"{"id":"1","choices":[{"index":0,"delta":{"content":"@"}}]}"#,
            r#"{"id":"2","choices":[{"index":0,"delta":{"content":"@"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning":"@"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning":"@","reasoning_content":"@"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"@","refusal":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"@"}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"@"},"token_ids":[1]}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"@"}}],"usage":{"completion_tokens":3}}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"@"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"@"}}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"@"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"error":"@"}"#,
            r#"{"choices":[{"index":0,"text":"@"}]}"#,
        ][..],
    );
    let chunk = (form, text).prop_map(|(form, text)| format!("data: {}\n\n", form.replace('@', &text)));
    let stream = (vec(any::<u8>(), 8), vec(chunk, 0..3), 1..6_usize, vec((any::<Index>(), any::<u8>()), 0..2));
    let word = "[a-z好]{1,3}";
    (stream, vec(word, 0..6)).prop_map(|((mut input, chunks, times, changes), words)| {
        let mut body = chunks.concat().repeat(times);
        let mut growing = String::new();
        // A stream whose every piece holds all before it, of the same form.
        for word in words {
            growing.push_str(&word);
            body.push_str(&GROWING.replace('@', &growing));
        }
        let mut bytes = body.into_bytes();
        for (place, byte) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        input.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        input.extend(bytes);
        input.extend_from_slice(b"data: [DONE]\n\n");
        input
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_alike_are_read_as_if_each_were_parsed(input in alike()) {
        bodies::templates(Dialect::OpenaiChat, &input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_captures(chat in damaged(CHAT), completion in damaged(COMPLETION), unary in damaged(UNARY)) {
        bodies::http1(&chat);
        bodies::exchange(Dialect::OpenaiChat, true, &chat);
        bodies::exchange(Dialect::OpenaiCompletions, true, &completion);
        bodies::exchange(Dialect::OpenaiChat, false, &unary);
        bodies::templates(Dialect::OpenaiChat, &chat);
        bodies::templates(Dialect::OpenaiCompletions, &completion);
        bodies::templates(Dialect::OpenaiChat, &unary);
    }
}
