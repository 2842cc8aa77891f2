//! Flow control, both ways.

use super::*;

/// A request with a body of so many bytes.
fn large(body: usize) -> Vec<u8> {
    let mut request = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {body}\r\n\r\n").into_bytes();
    request.extend((0..=250).cycle().take(body));
    request
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// Bytes of DATA said, and whether they end the stream.
fn data(talk: &mut Talk) -> (usize, bool) {
    let said = talk.said_frames();
    let data: Vec<_> = said.iter().filter(|frame| frame.kind == DATA).collect();
    let ends = data.last().is_some_and(|frame| frame.flags & END_STREAM != 0);
    (data.iter().map(|frame| frame.payload.len()).sum(), ends)
}

#[test]
fn a_body_waits_for_both_windows() {
    let mut talk = Talk::new();
    let request = large(200_000);
    talk.session.request(&request, &mut talk.out).unwrap();
    assert_eq!(data(&mut talk), (65_535, false));
    talk.hear(&settings()).unwrap();
    assert_eq!(data(&mut talk), (0, false));
    talk.hear(&window_update(1, 1_000_000)).unwrap();
    assert_eq!(data(&mut talk), (0, false), "the connection's window is still shut");
    talk.hear(&window_update(0, 34_465)).unwrap();
    assert_eq!(data(&mut talk), (34_465, false));
    assert!(!talk.out.request_taken());
    talk.hear(&window_update(0, 1_000_000)).unwrap();
    assert_eq!(data(&mut talk), (100_000, true));
    assert!(talk.out.request_taken());
}

#[test]
fn the_body_arrives_in_order_and_in_frames_that_the_server_accepts() {
    let mut talk = Talk::new();
    let request = large(700_000);
    talk.session.request(&request, &mut talk.out).unwrap();
    // INITIAL_WINDOW_SIZE 1 MiB, MAX_FRAME_SIZE 20,000, and the connection's window.
    let allowed = [0, 4, 0, 16, 0, 0, 0, 5, 0, 0, 0x4e, 0x20];
    talk.hear(&[frame(SETTINGS, 0, 0, &allowed), window_update(0, 1 << 20)].concat()).unwrap();
    let said = talk.said_frames();
    let data: Vec<_> = said.iter().filter(|frame| frame.kind == DATA).collect();
    assert!(data.iter().all(|frame| frame.payload.len() <= 20_000));
    assert!(data.iter().any(|frame| frame.payload.len() == 20_000));
    let body: Vec<u8> = data.iter().flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!(body.len(), 700_000);
    assert!(request.ends_with(&body));
    let ends: Vec<_> = data.iter().map(|frame| frame.flags & END_STREAM != 0).collect();
    assert_eq!(ends.iter().position(|ends| *ends), Some(ends.len() - 1), "the last frame alone ends the stream");
}

#[test]
fn a_smaller_initial_window_holds_for_the_stream_under_way() {
    let mut talk = Talk::new();
    talk.session.request(&large(70_000), &mut talk.out).unwrap();
    assert_eq!(data(&mut talk), (65_535, false));
    // From 65,535 to 1,000: the window is now 64,535 below zero (RFC 9113, section 6.9.2).
    talk.hear(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0x03, 0xe8])).unwrap();
    talk.hear(&[window_update(0, 1 << 20), window_update(1, 64_535)].concat()).unwrap();
    assert_eq!(data(&mut talk), (0, false));
    talk.hear(&window_update(1, 1)).unwrap();
    assert_eq!(data(&mut talk), (1, false));
}

#[test]
fn no_more_lies_in_the_outbox_than_the_socket_could_take() {
    let mut talk = Talk::new();
    talk.hear(&[settings(), window_update(0, 0x7fff_0000)].concat()).unwrap();
    talk.hear(&frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])).unwrap();
    talk.session.request(&large(3_000_000), &mut talk.out).unwrap();
    assert!(talk.out.pending().len() < 300_000, "{}", talk.out.pending().len());
    assert_eq!(data(&mut talk), (3_000_000, true));
}

#[test]
fn windows_are_opened_again_in_time() {
    let mut talk = Talk::asked();
    talk.hear(&head(1, 0, &[(":status", "200")])).unwrap();
    let piece = frame(DATA, 0, 1, &[b'x'; 16_384]);
    let mut updates = Vec::new();
    for _ in 0..1024 {
        talk.hear(&piece).unwrap();
        updates.extend(talk.said_frames());
    }
    let streams: Vec<_> = updates.iter().map(|frame| (frame.kind, frame.stream)).collect();
    assert_eq!(streams, [(WINDOW_UPDATE, 1), (WINDOW_UPDATE, 0)], "once half of 16 MiB is used up");
    let increment: u32 = (8 << 20) + 16_384;
    assert!(updates.iter().all(|frame| frame.payload == increment.to_be_bytes()));
}

#[test]
fn an_early_answer_leaves_the_rest_of_the_request_unsent() {
    let mut talk = Talk::new();
    talk.session.request(&large(100_000), &mut talk.out).unwrap();
    talk.said();
    let early = [settings(), head(1, END_STREAM, &[(":status", "413")]), frame(RST_STREAM, 0, 1, &[0; 4])].concat();
    assert!(talk.hear(&early).unwrap().starts_with(b"HTTP/1.1 413 \r\n"));
    talk.hear(&window_update(0, 1 << 20)).unwrap();
    assert_eq!(data(&mut talk), (0, false));
    assert!(!talk.out.request_taken(), "a connection on which a request was cut is not used again");
}
