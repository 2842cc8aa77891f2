//! What goes over the wire for a request, and what comes of an answer.

use super::*;

#[test]
fn a_connection_opens_with_preface_settings_and_window() {
    let mut talk = Talk::new();
    let said = talk.said();
    let rest = said.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the preface comes first");
    let said = frames(rest);
    assert_eq!(said.len(), 2, "{said:?}");
    // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE 16 MiB, MAX_HEADER_LIST_SIZE 64 KiB.
    let expected = [0, 2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 6, 0, 1, 0, 0];
    assert_eq!((said[0].kind, said[0].flags, &said[0].payload[..]), (SETTINGS, 0, &expected[..]));
    let increment: u32 = (16 << 20) - 65_535;
    assert_eq!((said[1].kind, said[1].stream), (WINDOW_UPDATE, 0));
    assert_eq!(said[1].payload, increment.to_be_bytes());
    assert!(talk.out.request_taken(), "there is no request yet");
}

#[test]
fn a_request_becomes_headers_and_data() {
    let mut talk = Talk::new();
    talk.said();
    talk.session.request(REQUEST, &mut talk.out).unwrap();
    assert!(!talk.out.request_taken());
    let said = talk.said_frames();
    assert!(talk.out.request_taken());
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((said[0].kind, said[0].flags, said[0].stream), (HEADERS, END_HEADERS, 1));
    // In the forms of RFC 7541, section 6: no dynamic table; literals without indexing, names by number where they have
    // one; what may be secret never indexed.
    let mut block = vec![0x20];
    block.extend(b"\x02\x04POST");
    block.extend(b"\x06\x04http");
    block.extend(b"\x01\x10example.com:8000");
    block.extend(b"\x04\x14/v1/chat/completions");
    block.extend(b"\x0f\x2b\x01u");
    block.extend(b"\x1f\x08\x09Bearer k1");
    block.extend(b"\x10\x05x-own\x01v");
    block.extend(b"\x0f\x0d\x014");
    assert_eq!(said[0].payload, block);
    let body = Frame { kind: DATA, flags: END_STREAM, stream: 1, payload: b"body".to_vec() };
    assert_eq!(said[1], body);
}

#[test]
fn a_request_without_a_body_ends_with_its_headers() {
    let mut talk = Talk::new();
    talk.session.request(b"GET /version HTTP/1.1\r\nHost: h\r\n\r\n", &mut talk.out).unwrap();
    let said = talk.said_frames();
    assert_eq!((said[2].kind, said[2].flags), (HEADERS, END_HEADERS | END_STREAM));
    assert_eq!(said.len(), 3);
    assert!(talk.out.request_taken());
}

#[test]
fn a_long_head_is_continued() {
    let long = format!("GET / HTTP/1.1\r\nHost: h\r\nX-Long: {}\r\n\r\n", "x".repeat(40_000));
    let mut talk = Talk::new();
    talk.session.request(long.as_bytes(), &mut talk.out).unwrap();
    let said = talk.said_frames();
    let heads: Vec<_> = said[2..].iter().map(|frame| (frame.kind, frame.flags, frame.payload.len())).collect();
    let rest = heads[2].2;
    assert_eq!(
        heads,
        [(HEADERS, END_STREAM, 16_384), (CONTINUATION, 0, 16_384), (CONTINUATION, END_HEADERS, rest)],
        "the stream's end is said by HEADERS, the block's by the last"
    );
}

#[test]
fn an_answer_becomes_one_of_http_1_1() {
    let mut talk = Talk::asked();
    let status = [(":status", "200"), ("content-type", "text/event-stream"), ("content-length", "11"), ("server", "s")];
    let wire = [
        head(1, 0, &status),
        frame(DATA, 0, 1, b"hello"),
        frame(DATA, 0, 1, b""),
        frame(DATA, END_STREAM, 1, b" world"),
    ];
    assert_eq!(
        String::from_utf8(talk.hear(&wire.concat()).unwrap()).unwrap(),
        "HTTP/1.1 200 \r\ncontent-type: text/event-stream\r\nserver: s\r\ntransfer-encoding: chunked\r\n\r\n\
         5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    );
    assert!(!talk.session.is_over());
}

#[test]
fn content_goes_on_as_it_arrives() {
    let mut talk = Talk::asked();
    talk.hear(&head(1, 0, &[(":status", "200")])).unwrap();
    let data = frame(DATA, END_STREAM, 1, b"hello");
    let (first, rest) = data.split_at(data.len() - 2);
    assert_eq!(talk.hear(first).unwrap(), b"5\r\nhel", "before the frame has ended");
    assert_eq!(talk.hear(rest).unwrap(), b"lo\r\n0\r\n\r\n");
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let mut talk = Talk::asked();
    for stream in [1, 3, 5] {
        assert!(talk.session.request(REQUEST, &mut talk.out).is_err(), "one is under way");
        let answer = talk.hear(&head(stream, END_STREAM, &[(":status", "200")])).unwrap();
        assert_eq!(answer, b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
        talk.session.request(REQUEST, &mut talk.out).unwrap();
        let said = talk.said_frames();
        let streams: Vec<_> = said.iter().map(|frame| (frame.kind, frame.stream)).collect();
        assert_eq!(streams, [(HEADERS, stream + 2), (DATA, stream + 2)]);
        assert_ne!(said[0].payload[0], 0x20, "the table's size is said once");
    }
}

#[test]
fn frames_of_the_connection_are_answered_and_never_seen() {
    let mut talk = Talk::new();
    talk.said();
    let wire = [
        settings(),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, 0, 0, b"12345678"),
        frame(PING, ACK, 0, b"87654321"),
        frame(WINDOW_UPDATE, 0, 0, &1000_u32.to_be_bytes()),
        frame(PRIORITY, 0, 7, &[0; 5]),
        frame(0x2a, 0xff, 9, b"of a type that nobody knows"),
    ];
    assert_eq!(talk.hear(&wire.concat()).unwrap(), b"");
    let answered = [frame(SETTINGS, ACK, 0, &[]), frame(PING, ACK, 0, b"12345678")].concat();
    assert_eq!(talk.said(), answered);
}

#[test]
fn interim_heads_padding_priorities_continuations_and_trailers() {
    let mut talk = Talk::asked();
    let status = literal(":status", "200");
    let (start, rest) = status.split_at(5);
    // Two bytes of padding, a priority, and the head in three frames.
    let padded = [&[2], &[0x80, 0, 0, 0, 7][..], start, &[0, 0]].concat();
    let wire = [
        head(1, 0, &[(":status", "103"), ("link", "</a>")]),
        frame(HEADERS, PADDED | PRIORITISED, 1, &padded),
        frame(CONTINUATION, 0, 1, rest),
        frame(CONTINUATION, END_HEADERS, 1, &literal("a", "b")),
        frame(DATA, PADDED, 1, b"\x03text\0\0\0"),
        frame(DATA, PADDED, 1, b"\x02\0\0"),
        head(1, END_STREAM, &[("x-checksum", "9")]),
    ];
    let expected = "HTTP/1.1 103 \r\nlink: </a>\r\n\r\n\
        HTTP/1.1 200 \r\na: b\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n";
    assert_eq!(String::from_utf8(talk.hear(&wire.concat()).unwrap()).unwrap(), expected);
}

#[test]
fn heads_that_rule_a_body_out() {
    let mut talk = Talk::asked();
    let answer = talk.hear(&head(1, END_STREAM, &[(":status", "204"), ("content-length", "0")])).unwrap();
    assert_eq!(answer, b"HTTP/1.1 204 \r\n\r\n");
    talk.session.request(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", &mut talk.out).unwrap();
    let answer = talk.hear(&head(3, END_STREAM, &[(":status", "200"), ("content-length", "70")])).unwrap();
    assert_eq!(answer, b"HTTP/1.1 200 \r\n\r\n");
}

#[test]
fn a_closing_server_finishes_what_it_took_up() {
    let mut talk = Talk::asked();
    assert_eq!(talk.hear(&goaway(1, 0)).unwrap(), b"");
    assert!(!talk.session.is_over());
    let answer = talk.hear(&head(1, 0, &[(":status", "200")])).unwrap();
    assert!(answer.ends_with(b"connection: close\r\n\r\n"), "the next request needs another connection");
    assert!(!talk.session.is_over());
    talk.hear(&frame(DATA, END_STREAM, 1, b"x")).unwrap();
    assert!(talk.session.is_over());

    let mut idle = Talk::new();
    idle.hear(&[settings(), goaway(0, 0)].concat()).unwrap();
    assert!(idle.session.is_over());
    assert!(idle.session.request(REQUEST, &mut idle.out).is_err());
}

#[test]
fn a_request_can_be_taken_to_another_connection() {
    let mut talk = Talk::asked();
    assert_eq!(talk.session.take_request(), REQUEST);
}
