//! What the fuzz targets check, as plain functions: cargo-fuzz runs them on inputs it evolves, and the ordinary tests
//! of `kneepoint-wire` run the same functions on thousands of random and half-valid ones.
//!
//! The first bytes of an input choose how the rest is cut, so that a fuzzer can search the cuts as well.

use kneepoint_model::Nanos;
use kneepoint_model::plan::Dialect;
use kneepoint_wire::exchange::{Answer, Exchange};
use kneepoint_wire::http1::{HttpError, Part, ResponseParser};
use kneepoint_wire::http2::{Http2Error, Outbox, Session};
use kneepoint_wire::sse::SseDecoder;

/// Splits an input into cuts and payload: up to `n` bytes are distances between cuts.
fn cut_by(input: &[u8], n: usize) -> Vec<&[u8]> {
    let (distances, mut payload) = input.split_at(input.len().min(n));
    let mut pieces = Vec::new();
    for distance in distances {
        let (piece, rest) = payload.split_at(payload.len().min(usize::from(*distance)));
        pieces.push(piece);
        payload = rest;
    }
    pieces.push(payload);
    pieces
}

/// Name, data, `error` field and status of an event.
type Event = (Vec<u8>, Vec<u8>, Option<Vec<u8>>, Option<u16>);

/// The events of a stream given in these pieces, and whether all of it was short enough.
fn events(pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let mut decoder = SseDecoder::new(4096, b"[DONE]");
    let mut found = Vec::new();
    let mut sink = |event: kneepoint_wire::sse::SseEvent<'_>| {
        found.push((event.name.to_vec(), event.data.to_vec(), event.error.map(<[u8]>::to_vec), event.status));
    };
    for piece in pieces {
        if decoder.feed(piece, &mut sink).is_err() {
            return (found, false);
        }
    }
    decoder.finish(&mut sink);
    (found, true)
}

/// Any cutting of a stream gives the same events.
pub(crate) fn sse(input: &[u8]) {
    let pieces = cut_by(input, 8);
    let whole = pieces.concat();
    let expect = events(&[&whole]);
    assert_eq!(events(&pieces), expect);
    assert_eq!(events(&whole.chunks(1).collect::<Vec<_>>()), expect);
}

/// Head, body, whether it ended, how many bytes were left, or that it was refused.
fn response(pieces: &[&[u8]]) -> Option<(Option<kneepoint_wire::http1::Head>, Vec<u8>, bool, usize)> {
    let mut parser = ResponseParser::default();
    let (mut body, mut ended, mut left) = (Vec::new(), false, 0);
    for piece in pieces {
        let mut bytes = *piece;
        while let Some(part) = parser.next(&mut bytes).ok()? {
            match part {
                Part::Head => assert!(parser.head().is_some()),
                Part::Body(piece) => {
                    assert!(!piece.is_empty() && !ended);
                    body.extend_from_slice(piece);
                }
                Part::End => ended = true,
            }
        }
        assert!(bytes.is_empty() || ended, "a parser that is not at its end takes everything");
        left += bytes.len();
    }
    Some((parser.head().cloned(), body, ended, left))
}

/// Any cutting of a response gives the same head, the same body and the same end.
pub(crate) fn http1(input: &[u8]) {
    let pieces = cut_by(input, 8);
    let whole = pieces.concat();
    let expect = response(&[&whole]);
    assert_eq!(response(&pieces), expect);
    assert_eq!(response(&whole.chunks(1).collect::<Vec<_>>()), expect);
}

/// What a connection of HTTP/2 makes of these pieces after a request: the answer in HTTP/1.1, and why it ended.
fn translated(pieces: &[&[u8]]) -> (Vec<u8>, Result<(), Http2Error>, bool) {
    let mut out = Outbox::default();
    let mut session = Session::new(false, &mut out);
    let request = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody";
    session.request(request, &mut out).expect("the request is whole");
    let mut answer = Vec::new();
    for piece in pieces {
        if let Err(error) = session.received(piece, &mut out, &mut answer) {
            return (answer, Err(error), session.is_over());
        }
        out.took(out.pending().len());
    }
    (answer, Ok(()), session.is_over())
}

/// Any cutting of a connection's bytes gives the same answer and the same end, and what is handed on is HTTP/1.1 whatever
/// the server said. The first byte chooses whether the server begins as it must.
pub(crate) fn http2(input: &[u8]) {
    let Some((begin, input)) = input.split_first() else { return };
    let mut pieces = cut_by(input, 8);
    if begin & 1 == 0 {
        pieces.insert(0, &[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    }
    let whole = pieces.concat();
    let expect = translated(&[&whole]);
    assert_eq!(translated(&pieces), expect);
    assert_eq!(translated(&whole.chunks(1).collect::<Vec<_>>()), expect);
    let (mut parser, mut bytes) = (ResponseParser::default(), &expect.0[..]);
    loop {
        match parser.next(&mut bytes) {
            Ok(Some(_)) => {}
            // A header whose value only HTTP/2 allows, or too many of them.
            Err(HttpError::Head { .. } | HttpError::HeadTooLong) => return,
            Err(error) => panic!("{error}: {:?}", String::from_utf8_lossy(&expect.0)),
            Ok(None) => break,
        }
    }
    assert!(bytes.is_empty(), "nothing follows the end of an answer");
}

/// The answer given in these pieces at one instant.
fn answer(dialect: Dialect, stream: bool, pieces: &[&[u8]]) -> Answer {
    answer_to(Exchange::new(dialect, stream, true), pieces)
}

fn answer_to(mut exchange: Exchange, pieces: &[&[u8]]) -> Answer {
    let at = Nanos(7);
    for piece in pieces {
        exchange.received(at, piece);
    }
    if !exchange.is_framed() {
        exchange.closed(at);
    }
    exchange.finish()
}

/// What must hold of an answer to any bytes: it is consistent in itself, and does not depend on how they were cut.
pub(crate) fn exchange(dialect: Dialect, stream: bool, input: &[u8]) {
    let pieces = cut_by(input, 8);
    let whole = pieces.concat();
    let mut expect = answer(dialect, stream, &[&whole]);
    let events = &expect.events;
    assert!(events.tokens.is_empty() || events.tokens.len() == events.len());
    assert!(events.tokens.iter().all(|n| *n > 0));
    assert!(events.first.is_some() || events.gaps.is_empty());
    match &expect.verdict {
        Ok(()) => {
            assert!(expect.status.is_some_and(|status| (200..300).contains(&status)));
            assert!(!events.is_empty() || expect.output_tokens.is_some_and(|n| n.0 > 0));
        }
        Err(failure) => {
            assert!(failure.detail.chars().count() <= 300);
            assert!(!failure.detail.chars().any(char::is_control));
        }
    }
    for pieces in [pieces, whole.chunks(1).collect()] {
        let mut other = answer(dialect, stream, &pieces);
        // What a server that does not speak HTTP said first is shown as far as it had come.
        for answer in [&mut expect, &mut other] {
            if let Err(failure) = &mut answer.verdict
                && failure.kind == kneepoint_model::FailureKind::BadHttp
            {
                failure.detail.clear();
            }
        }
        assert_eq!(other, expect);
    }
}

/// Chunks read by an earlier chunk's form say the same as if each had been parsed, whatever is in them and however they
/// are cut, and whether the text is kept or not.
pub(crate) fn templates(dialect: Dialect, input: &[u8]) {
    let pieces = cut_by(input, 8);
    let whole = pieces.concat();
    for keep_text in [true, false] {
        let exchange = || Exchange::new(dialect, true, keep_text);
        for pieces in [&pieces, &vec![&whole[..]]] {
            assert_eq!(answer_to(exchange(), pieces), answer_to(exchange().parsing_every_payload(), pieces));
        }
    }
}

/// A plan of any text is either read or refused with problems that can be shown.
pub(crate) fn plan(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(problems) = kneepoint_model::yaml::from_str::<kneepoint_model::plan::PlanFile>("plan.yaml", text) {
        assert!(!problems.to_string().is_empty());
    }
}
