//! What the tests share: feeding an exchange, building answers.

use kneepoint_model::plan::Dialect;
use kneepoint_model::{FailureKind, Nanos};
use kneepoint_wire::exchange::{Answer, Exchange, Step};

/// The one instant of tests that do not care about time.
pub(crate) const NOW: Nanos = Nanos(1_000);

/// How an answer ends on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The server closes.
    Close,
    /// The connection stays open.
    Open,
}

/// Feeds `wire` in pieces cut at `cuts`, all at one instant.
pub(crate) fn feed(mut exchange: Exchange, wire: &[u8], cuts: &[usize], after: After) -> (Answer, bool) {
    let mut from = 0;
    for cut in cuts.iter().copied().chain([wire.len()]) {
        exchange.received(NOW, &wire[from..cut]);
        from = cut;
    }
    if after == After::Close && !exchange.is_framed() {
        exchange.closed(NOW);
    }
    let reusable = exchange.connection_reusable();
    (exchange.finish(), reusable)
}

/// Feeds a whole answer, and demands that no way of cutting it in two, and no sequence of one-byte reads, changes it.
#[track_caller]
pub(crate) fn answer_of(dialect: Dialect, stream: bool, wire: &[u8], after: After) -> Answer {
    let exchange = || Exchange::new(dialect, stream, true);
    let whole = feed(exchange(), wire, &[], after);
    for cut in 0..wire.len() {
        assert_eq!(feed(exchange(), wire, &[cut], after), whole, "cut at {cut}");
    }
    let every: Vec<usize> = (1..wire.len()).collect();
    assert_eq!(feed(exchange(), wire, &every, after), whole, "byte by byte");
    whole.0
}

/// A chat stream with keep-alive, chunked a piece of `body` at a time.
pub(crate) fn chunked(body: &[&str]) -> Vec<u8> {
    let mut wire = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in body {
        wire.extend_from_slice(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}

/// A stream whose end is the close of the connection.
pub(crate) fn until_close(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// A body with a length.
pub(crate) fn with_length(status: &str, head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{head}\r\n{body}", body.len()).into_bytes()
}

/// One chat chunk as an event: `delta` is the inside of the delta, `rest` what follows it in the choice.
pub(crate) fn event(delta: &str, rest: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{delta}}}{rest}}}]}}\n\n")
}

/// A chunk of content.
pub(crate) fn content(text: &str) -> String {
    event(&format!("\"content\":{}", serde_json::Value::from(text)), "")
}

pub(crate) const ROLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
pub(crate) const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A chat stream made of these events, asked for as a stream, every cut tried.
#[track_caller]
pub(crate) fn chat(events: &[&str]) -> Answer {
    answer_of(Dialect::OpenaiChat, true, &chunked(&[&events.concat()]), After::Open)
}

/// The failure of an answer: kind, how far it had come, and the server's words.
#[track_caller]
pub(crate) fn failure_of(answer: &Answer) -> (FailureKind, kneepoint_model::FailurePoint, &str) {
    let failure = answer.verdict.as_ref().expect_err("a failure");
    (failure.kind, failure.at, &failure.detail)
}

/// Feeds pieces at their own instants and tells each step.
pub(crate) fn timed(exchange: &mut Exchange, pieces: &[(u64, &[u8])]) -> Vec<Step> {
    pieces.iter().map(|(at, bytes)| exchange.received(Nanos(*at), bytes)).collect()
}
