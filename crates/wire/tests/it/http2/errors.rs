//! What a server may not do, and what it does to say no.

use kneepoint_wire::http2::ErrorCode;

use super::*;

fn protocol(error: &Http2Error) -> u32 {
    match error {
        Http2Error::Protocol { code, .. } => code.0,
        other => panic!("{other:?}"),
    }
}

/// The frames after a request and the server's settings, by which the connection ends, and its error code.
#[test]
fn broken_connections() {
    const PROTOCOL: u32 = 1;
    const FLOW_CONTROL: u32 = 3;
    const CLOSED: u32 = 5;
    const SIZE: u32 = 6;
    const COMPRESSION: u32 = 9;
    const CALM: u32 = 11;
    let status = literal(":status", "200");
    let whole = head(1, END_STREAM, &[(":status", "200")]);
    let window = |stream, increment: u32| frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    let flood: Vec<u8> = (0..200).flat_map(|_| frame(CONTINUATION, 0, 1, &[])).collect();
    let cases: Vec<(&str, Vec<u8>, u32)> = vec![
        ("a push", frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]), PROTOCOL),
        ("pushes asked for", frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1]), PROTOCOL),
        ("a frame too long", frame(0x2a, 0, 0, &[0; 16_385]), SIZE),
        ("settings on a stream", frame(SETTINGS, 0, 1, &[]), PROTOCOL),
        ("settings of 5 bytes", frame(SETTINGS, 0, 0, &[0; 5]), SIZE),
        ("an acknowledgement that says something", frame(SETTINGS, ACK, 0, &[0; 6]), SIZE),
        ("a window too large", frame(SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]), FLOW_CONTROL),
        ("frames too small", frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1]), PROTOCOL),
        ("a short ping", frame(PING, 0, 0, &[0; 7]), SIZE),
        ("a ping on a stream", frame(PING, 0, 1, &[0; 8]), PROTOCOL),
        ("a short goaway", frame(GOAWAY, 0, 0, &[0; 7]), SIZE),
        ("a window by nothing", window(0, 0), PROTOCOL),
        ("a window beyond its bounds", window(0, 0x7fff_ffff), FLOW_CONTROL),
        ("a stream's window beyond its bounds", window(1, 0x7fff_ffff), FLOW_CONTROL),
        ("a window of no stream", window(3, 1), PROTOCOL),
        ("a reset of no stream", frame(RST_STREAM, 0, 3, &[0; 4]), PROTOCOL),
        ("a reset of the connection", frame(RST_STREAM, 0, 0, &[0; 4]), PROTOCOL),
        ("a short reset", frame(RST_STREAM, 0, 1, &[0; 3]), SIZE),
        ("a short priority", frame(PRIORITY, 0, 1, &[0; 4]), SIZE),
        ("headers of no stream", frame(HEADERS, END_HEADERS, 3, &status), PROTOCOL),
        ("headers of the server's own stream", frame(HEADERS, END_HEADERS, 2, &status), PROTOCOL),
        ("padding longer than headers", frame(HEADERS, END_HEADERS | PADDED, 1, &[9, 0]), PROTOCOL),
        ("headers too short for a priority", frame(HEADERS, END_HEADERS | PRIORITISED, 1, &[0; 4]), SIZE),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, &status), PROTOCOL),
        ("headers interrupted", [frame(HEADERS, 0, 1, &status), frame(PING, 0, 0, &[0; 8])].concat(), PROTOCOL),
        ("headers interrupted by data", [frame(HEADERS, 0, 1, &status), frame(DATA, 0, 1, b"x")].concat(), PROTOCOL),
        (
            "headers continued elsewhere",
            [frame(HEADERS, 0, 1, &status), frame(CONTINUATION, END_HEADERS, 3, &[])].concat(),
            PROTOCOL,
        ),
        ("headers without end", [frame(HEADERS, 0, 1, &status), flood].concat(), CALM),
        ("headers that cannot be decompressed", frame(HEADERS, END_HEADERS, 1, &[0xff]), COMPRESSION),
        ("data of the connection", frame(DATA, 0, 0, b"x"), PROTOCOL),
        ("data of no stream", frame(DATA, 0, 5, b"x"), PROTOCOL),
        ("padding longer than data", frame(DATA, PADDED, 1, &[2, 0]), PROTOCOL),
        ("padded data without padding", frame(DATA, PADDED, 1, &[]), SIZE),
        ("data after the end", [whole.clone(), frame(DATA, 0, 1, b"x")].concat(), CLOSED),
        ("headers after the end", [whole.clone(), whole].concat(), CLOSED),
    ];
    for (what, wire, code) in cases {
        let mut talk = Talk::asked();
        let error = talk.hear(&wire).expect_err(what);
        assert_eq!(protocol(&error), code, "{what}: {error}");
        let last = talk.said_frames().pop().expect("the server is told");
        assert_eq!((last.kind, &last.payload[4..]), (GOAWAY, &code.to_be_bytes()[..]), "{what}");
    }
}

#[test]
fn malformed_answers() {
    let ok = (":status", "200");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("no status", head(1, END_STREAM, &[])),
        ("a header before the status", head(1, END_STREAM, &[("a", "b"), ok])),
        ("two statuses", head(1, END_STREAM, &[ok, ok])),
        ("a status of two digits", head(1, END_STREAM, &[(":status", "20")])),
        ("a status below 100", head(1, END_STREAM, &[(":status", "099")])),
        ("a status of letters", head(1, END_STREAM, &[(":status", "2OO")])),
        ("another pseudo-header", head(1, END_STREAM, &[ok, (":path", "/")])),
        ("switching protocols", head(1, 0, &[(":status", "101")])),
        ("an interim head that ends", head(1, END_STREAM, &[(":status", "100")])),
        ("a capital letter", head(1, END_STREAM, &[ok, ("Server", "s")])),
        ("a space in a name", head(1, END_STREAM, &[ok, ("a b", "s")])),
        ("an empty name", head(1, END_STREAM, &[ok, ("", "s")])),
        ("a line break in a value", head(1, END_STREAM, &[ok, ("a", "b\r\nc: d")])),
        ("a zero byte in a value", head(1, END_STREAM, &[ok, ("a", "b\0")])),
        ("a length of letters", head(1, END_STREAM, &[ok, ("content-length", "five")])),
        ("two lengths", head(1, END_STREAM, &[ok, ("content-length", "5"), ("content-length", "6")])),
        ("less than announced", head(1, END_STREAM, &[ok, ("content-length", "5")])),
        ("more than announced", [head(1, 0, &[ok, ("content-length", "0")]), frame(DATA, 0, 1, b"x")].concat()),
        ("a body that cannot be", [head(1, 0, &[(":status", "204")]), frame(DATA, 0, 1, b"x")].concat()),
        ("data before the head", frame(DATA, 0, 1, b"x")),
        ("headers in the body", [head(1, 0, &[ok]), head(1, 0, &[("a", "b")])].concat()),
        ("a status in the trailer", [head(1, 0, &[ok]), head(1, END_STREAM, &[ok])].concat()),
    ];
    for (what, wire) in cases {
        let outcome = Talk::asked().hear(&wire);
        assert!(matches!(outcome, Err(Http2Error::Malformed { .. })), "{what}: {outcome:?}");
    }
}

#[test]
fn connection_headers_are_dropped() {
    let sloppy = [(":status", "200"), ("connection", "close"), ("transfer-encoding", "chunked"), ("keep-alive", "9")];
    let answer = Talk::asked().hear(&head(1, END_STREAM, &sloppy)).unwrap();
    assert_eq!(answer, b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn a_server_of_another_protocol() {
    for (first, said) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "it answers in HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "its first bytes are no SETTINGS frame"),
    ] {
        let mut talk = Talk::new();
        assert_eq!(talk.session.closed(), Some(Http2Error::Silent));
        assert_eq!(talk.hear(first), Err(Http2Error::NotHttp2 { said }));
    }
}

#[test]
fn a_stream_reset_names_its_code() {
    for (code, name) in [(7_u32, "REFUSED_STREAM"), (2, "INTERNAL_ERROR"), (99, "error code 0x63")] {
        let error = Talk::asked().hear(&frame(RST_STREAM, 0, 1, &code.to_be_bytes())).unwrap_err();
        assert_eq!(error, Http2Error::StreamReset { code: ErrorCode(code) });
        assert!(error.to_string().contains(name), "{error}");
    }
    let mut talk = Talk::asked();
    let wire = [head(1, 0, &[(":status", "200")]), frame(DATA, 0, 1, b"half"), frame(RST_STREAM, 0, 1, &[0; 4])];
    let mut answer = Vec::new();
    assert!(talk.session.received(&wire.concat(), &mut talk.out, &mut answer).is_err(), "it is not whole");
    assert!(answer.ends_with(b"4\r\nhalf\r\n"), "what came before is handed over");
}

#[test]
fn a_reset_after_the_answer_is_none() {
    let mut talk = Talk::asked();
    let wire = [head(1, END_STREAM, &[(":status", "200")]), frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes())];
    assert!(talk.hear(&wire.concat()).is_ok());
    talk.session.request(REQUEST, &mut talk.out).unwrap();
    assert!(talk.hear(&frame(RST_STREAM, 0, 1, &[0; 4])).is_ok(), "of a stream before");
}

#[test]
fn goaway_before_or_in_the_middle_of_an_answer() {
    let gone = Http2Error::GoneAway { code: ErrorCode::NO_ERROR };
    assert_eq!(Talk::asked().hear(&goaway(0, 0)), Err(gone), "it will not be answered");

    let mut talk = Talk::asked();
    talk.hear(&goaway(1, 11)).unwrap();
    let calm = Http2Error::GoneAway { code: ErrorCode::ENHANCE_YOUR_CALM };
    assert_eq!(talk.session.closed(), Some(calm), "the close that follows has a reason");
    talk.hear(&head(1, END_STREAM, &[(":status", "200")])).unwrap();
    assert_eq!(talk.session.closed(), None, "the answer is whole");
}

#[test]
fn acknowledgements_do_not_pile_up() {
    let mut talk = Talk::asked();
    let pings: Vec<u8> = (0..100).flat_map(|_| frame(PING, 0, 0, &[0; 8])).collect();
    let error = (0..1000).find_map(|_| talk.hear(&pings).err()).expect("an end");
    assert_eq!(protocol(&error), 11);
    assert!(talk.out.pending().len() < 2 << 20);
}

#[test]
fn requests_that_cannot_be_sent() {
    for request in [
        &b"POST / HTTP/1.1\r\nHost: h\r\n"[..],
        b"POST / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\xff",
    ] {
        let mut talk = Talk::new();
        let outcome = talk.session.request(request, &mut talk.out);
        assert!(matches!(outcome, Err(Http2Error::Request { .. })), "{outcome:?}");
    }
}
