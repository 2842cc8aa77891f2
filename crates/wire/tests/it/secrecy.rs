//! Whatever of the server's words is kept, nothing of a key that it echoed is in it.

use std::sync::Arc;

use kneepoint_model::Secret;
use kneepoint_model::plan::Dialect;
use kneepoint_wire::exchange::{Answer, Exchange};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{After, DONE, chunked, feed, with_length};

/// The answer to a request that carried `key`.
fn answer(key: &str, wire: &[u8]) -> Answer {
    let secrets: Arc<[Secret]> = Arc::new([Secret::new(key)]);
    feed(Exchange::new(Dialect::OpenaiChat, true, false).masking(secrets), wire, &[], After::Close).0
}

#[track_caller]
fn detail(key: &str, wire: &[u8]) -> String {
    answer(key, wire).verdict.expect_err("a failure").detail
}

/// The ways in which a server has been seen to repeat a key, `before` that many characters of other text.
fn echoes(key: &str, before: usize) -> Vec<Vec<u8>> {
    let lead = "é ".repeat(before / 2) + if before % 2 == 1 { "é" } else { "" };
    let text = format!("{lead}{key} and more ééé");
    let escaped = Value::from(text.as_str()).to_string();
    let bodies = [
        text.clone(),
        escaped.clone(),
        json!({"error": {"message": text}}).to_string(),
        json!({"error": {"info": {"headers": text}}}).to_string(),
        json!({"error": {"message": json!({"error": {"got": text}}).to_string()}}).to_string(),
        json!({"error": {"info": json!({"got": text}).to_string()}}).to_string(),
        json!({"detail": [{"msg": text, "input": key}]}).to_string(),
        json!({"error": {"type": key, "message": lead}}).to_string(),
        json!({"error": {key: lead}}).to_string(),
        json!({"choices": [], "note": text}).to_string(),
        format!("<p>{text}</p>"),
        format!("{{\"error\": {escaped}"),
    ];
    let mut wires = Vec::new();
    for body in &bodies {
        wires.push(with_length("401 Unauthorized", "", body));
        wires.push(with_length("200 OK", "Content-Type: application/json\r\n", body));
        wires.push(with_length("200 OK", "Content-Type: text/html\r\n", body));
        wires.push(chunked(&[&format!("event: error\ndata: {body}\n\n"), DONE]));
        wires.push(body.clone().into_bytes());
    }
    wires.push(with_length("302 Found", &format!("Location: {key}\r\n"), ""));
    wires.push(with_length("200 OK", &format!("Content-Type: {key}\r\n"), "x"));
    wires.push(with_length("200 OK", &format!("Content-Encoding: {key}\r\n"), "x"));
    wires.push(key.as_bytes().to_vec());
    wires
}

/// A part of 8 characters of `key` that stands in `kept`, which may have been escaped.
fn leak<'k>(key: &'k str, kept: &str) -> Option<&'k str> {
    (0..=key.len() - 8).map(|at| &key[at..at + 8]).find(|part| {
        let escaped = Value::from(*part).to_string();
        kept.contains(part) || kept.contains(&escaped[1..escaped.len() - 1])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_part_of_a_key_survives(
        key in "[!-~][ -~]{6,60}[!-~]".prop_filter("more than spaces and backslashes", |key| {
            key.chars().filter(char::is_ascii_alphanumeric).count() >= 8
        }),
        before in prop_oneof![Just(0usize), 220..320usize],
    ) {
        for wire in echoes(&key, before) {
            let answer = answer(&key, &wire);
            let kept = answer.verdict.as_ref().err().map(|failure| failure.detail.as_str()).unwrap_or_default();
            prop_assert_eq!(leak(&key, kept), None, "{} in {}", String::from_utf8_lossy(&wire), kept);
            prop_assert!(kept.chars().count() <= 300);
        }
    }
}

#[test]
fn a_key_of_special_characters_is_masked_in_every_echo() {
    let key = r#"Zq"9\x/Wsecret<&>%41$$!long"#;
    for before in [0].into_iter().chain(240..310) {
        for wire in echoes(key, before) {
            let kept = detail(key, &wire);
            assert_eq!(leak(key, &kept), None, "{kept}");
            assert!(!kept.contains("secret"), "{kept}");
        }
    }
    assert_eq!(detail(key, format!("SSH {key}").as_bytes()), r#"not an HTTP/1 response: it begins with "SSH ***""#);
}

#[test]
fn a_body_that_is_cut_inside_a_key_keeps_none_of_it() {
    let key = "sk-0123456789abcdefghijklmnopqrstuvwxyz";
    for more in (0..key.len()).step_by(4) {
        // Blanks take no room in what is kept, so that the cut of the body itself shows.
        let body = " ".repeat(64 * 1024 - 1 - more).replacen(' ', "x", 1) + key + &" ".repeat(100);
        let kept = detail(key, &with_length("500 Oops", "", &body));
        assert_eq!(leak(key, &kept), None, "{kept}");
    }
}

#[test]
fn a_finish_reason_is_a_short_word_or_other() {
    let key = "sk-0123456789abcdef";
    let finish = |word: &str| {
        let choice = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": word}]});
        answer(key, &chunked(&[&format!("data: {choice}\n\n"), DONE])).finish
    };
    for word in ["stop", "tool_calls", "max-tokens", "v1.length", &"a".repeat(40)] {
        assert_eq!(finish(word).as_deref(), Some(word));
    }
    for word in [key, "my sk-0123456789abcdef", &"a".repeat(41), "<b>", "a b", "结束", "x.sk-0123456789abcdef"] {
        assert_eq!(finish(word).as_deref(), Some("other"), "{word}");
    }
}

#[test]
fn a_server_header_is_short_and_without_the_key() {
    let key = "sk-0123456789abcdef";
    for before in 0..120 {
        let head = format!("Server: {} {key}\u{1b}[2J{}\r\n", "n".repeat(before), "v".repeat(300));
        let kept = answer(key, &with_length("500 Oops", &head, "")).server_header.unwrap_or_default();
        assert_eq!(leak(key, &kept), None, "{kept}");
        assert!(kept.chars().count() <= 100 && !kept.contains(char::is_control), "{kept}");
    }
}
