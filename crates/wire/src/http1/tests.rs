//! Heads, framing and what the parser refuses.

use super::*;

/// The parts of a response given in pieces: `Head 200`, body pieces joined, `End`, and whether it can be used again.
fn parts(pieces: &[&[u8]]) -> Result<(u16, String, bool, bool), HttpError> {
    let mut parser = ResponseParser::default();
    let (mut status, mut body, mut ended) = (0, Vec::new(), false);
    for piece in pieces {
        let mut bytes = *piece;
        while let Some(part) = parser.next(&mut bytes)? {
            match part {
                Part::Head => status = parser.head().expect("told").status,
                Part::Body(piece) => body.extend_from_slice(piece),
                Part::End => ended = true,
            }
        }
    }
    Ok((status, String::from_utf8(body).expect("text"), ended, parser.keeps_alive()))
}

#[track_caller]
fn check(response: &str, expect: (u16, &str, bool, bool)) {
    let expect = Ok((expect.0, expect.1.to_owned(), expect.2, expect.3));
    assert_eq!(parts(&[response.as_bytes()]), expect, "whole");
    let bytes: Vec<_> = response.as_bytes().chunks(1).collect();
    assert_eq!(parts(&bytes), expect, "byte by byte");
    for cut in 0..response.len() {
        let (a, b) = response.as_bytes().split_at(cut);
        assert_eq!(parts(&[a, b]), expect, "cut at {cut}");
    }
}

#[track_caller]
fn check_error(response: &str, expect: &str) {
    let error = parts(&[response.as_bytes()]).expect_err("an error");
    assert!(error.to_string().contains(expect), "{error}");
    let bytes: Vec<_> = response.as_bytes().chunks(1).collect();
    assert!(parts(&bytes).is_err(), "byte by byte");
}

#[test]
fn content_length_ends_the_body() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (200, "hello", true, true));
    check("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhello", (200, "hello", true, true));
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (200, "", true, true));
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", (200, "hello", true, false));
    check("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", (200, "hello", false, false));
}

#[test]
fn chunks_extensions_and_trailers() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{head}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"), (200, "hello!", true, true));
    check(&format!("{head}5;a=b;c=\"d\"\r\nhello\r\n000\r\nX-T: 1\r\nY: 2\r\n\r\n"), (200, "hello", true, true));
    check(&format!("{head}A \r\n0123456789\r\n0\r\n\r\n"), (200, "0123456789", true, true));
    check(&format!("{head}5\nhello\n0\n\n"), (200, "hello", true, true));
    check(&format!("{head}5\r\nhel"), (200, "hel", false, false));
}

#[test]
fn close_ends_a_body_without_length() {
    check("HTTP/1.1 200 OK\r\n\r\nhello", (200, "hello", false, false));
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", (200, "ok", true, true));
    check("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, "ok", true, false));
}

#[test]
fn interim_heads_are_skipped_and_some_statuses_have_no_body() {
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
        (204, "", true, true),
    );
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", (304, "", true, true));
    check("HTTP/1.1 101 Switching Protocols\r\n\r\n", (101, "", true, false));
    let mut parser = ResponseParser::new(Asked::HeadOnly);
    let mut bytes = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"[..];
    assert_eq!(parser.next(&mut bytes), Ok(Some(Part::Head)));
    assert_eq!(parser.next(&mut bytes), Ok(Some(Part::End)));
}

#[test]
fn sloppy_heads_are_read() {
    check("\r\nHTTP/1.1 200\nContent-Length : 2\nX:\n\nok", (200, "ok", true, true));
    check("HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 2\r\n\r\nok", (200, "ok", true, true));
}

#[test]
fn ambiguity_is_an_error() {
    let ok = "HTTP/1.1 200 OK\r\n";
    check_error(&format!("{ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), "chunked and Content-Length");
    check_error(&format!("{ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), "two different");
    check_error(&format!("{ok}Content-Length: +5\r\n\r\n"), "not a number");
    check_error(&format!("{ok}Content-Length: -1\r\n\r\n"), "not a number");
    check_error(&format!("{ok}Transfer-Encoding: gzip, chunked\r\n\r\n"), "not asked for");
    check_error(&format!("{ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX"), "longer than its size");
    check_error(&format!("{ok}Transfer-Encoding: chunked\r\n\r\nhello"), "size is missing");
    check_error(&format!("{ok}Transfer-Encoding: chunked\r\n\r\n5x\r\n"), "not hexadecimal");
    check_error(&format!("{ok}Transfer-Encoding: chunked\r\n\r\n1234567890123456\r\n"), "15 digits");
}

#[test]
fn other_protocols_are_told_at_once() {
    check_error("SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0");
    check_error("\u{15}\u{3}\u{1}", "not an HTTP/1");
    check_error("HTTP/2 200\r\n\r\n", "not an HTTP/1");
    check_error("<html>", "not an HTTP/1");
    check_error("HTTP/1.1 abc\r\n\r\n", "malformed");
}

#[test]
fn heads_have_a_limit() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(MAX_HEAD));
    check_error(&endless, "longer than");
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(200));
    check_error(&many, "malformed");
}

#[test]
fn what_follows_the_answer_is_left_alone() {
    let mut parser = ResponseParser::default();
    let mut bytes = &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP"[..];
    while parser.next(&mut bytes).expect("valid").is_some() {}
    assert_eq!(bytes, b"HTTP");
    assert!(parser.keeps_alive());
}

#[test]
fn a_close_means_what_its_place_says() {
    for (response, expect) in [
        ("", Close::BeforeAnything),
        ("HTTP/1.1 200 OK\r\n", Close::InHead),
        ("HTTP/1.1 100 Continue\r\n\r\n", Close::InHead),
        ("HTTP/1.1 200 OK\r\n\r\nabc", Close::Whole),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", Close::InBody),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Close::InBody),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", Close::Whole),
    ] {
        let mut parser = ResponseParser::default();
        let mut bytes = response.as_bytes();
        while parser.next(&mut bytes).expect("valid").is_some() {}
        assert_eq!(parser.closed(), expect, "{response:?}");
    }
}
