//! Against a server that sends what it is told to and never closes first.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use kneepoint_model::plan::HttpVersion;
use kneepoint_model::{FailureKind, Side};

use super::client::{Client, End, endpoint, whole};
use super::*;

const PAUSE: Duration = Duration::from_millis(60);

/// A client of a server that sends these one after the other with a pause before each, the first at once after the
/// client's first bytes.
fn client_of(script: Vec<Vec<u8>>) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        socket.set_nodelay(true).expect("sends at once");
        socket.read_exact(&mut [0; 24]).expect("a preface");
        for (i, part) in script.iter().enumerate() {
            if i > 0 {
                std::thread::sleep(PAUSE);
            }
            socket.write_all(part).expect("the client is still there");
        }
        // Ends when the client closes.
        let _ = socket.read_to_end(&mut Vec::new());
    });
    (Client::connect(&endpoint(&url, None, HttpVersion::Http2)), server)
}

fn finish(client: Client, server: JoinHandle<()>) {
    drop(client);
    server.join().expect("the script is played");
}

#[test]
fn a_piece_is_stamped_when_it_came_and_not_when_its_frame_ends() {
    let data = frame(DATA, END_STREAM, 1, b"first-second");
    let (start, rest) = data.split_at(9 + 5);
    let first = [&settings(), &head(1, 0, &[(":status", "200")]), start].concat();
    let (mut client, server) = client_of(vec![first, rest.to_vec()]);
    let (pieces, end) = client.ask(REQUEST);
    assert!(matches!(end, End::Whole), "{end:?}");
    assert_eq!(pieces.len(), 2, "{pieces:?}");
    assert!(pieces[0].1.ends_with(b"c\r\nfirst") && pieces[1].1.starts_with(b"-second"));
    assert!(pieces[1].0.saturating_sub(pieces[0].0) > kneepoint_model::Nanos::from(PAUSE / 2));
    finish(client, server);
}

#[test]
fn the_connection_is_over_with_the_answer_if_the_server_said_so_in_its_middle() {
    let begin = [settings(), head(1, 0, &[(":status", "200")]), goaway(1, 0)].concat();
    let (mut client, server) = client_of(vec![begin, frame(DATA, END_STREAM, 1, b"text")]);
    let (pieces, end) = client.ask(REQUEST);
    assert!(whole(&pieces).ends_with("4\r\ntext\r\n0\r\n\r\n"));
    assert!(matches!(end, End::Closed), "the head had promised to keep it: {end:?}");
    finish(client, server);
}

#[test]
fn an_idle_connection_is_over_when_the_server_says_so() {
    let answer = [settings(), head(1, END_STREAM, &[(":status", "200")])].concat();
    let ping = frame(PING, 0, 0, &[0; 8]);
    let (mut client, server) = client_of(vec![answer, ping, goaway(1, 0)]);
    let (_, end) = client.ask(REQUEST);
    assert!(matches!(end, End::Whole), "{end:?}");
    let end = client.idle(Duration::from_secs(5));
    assert!(matches!(end, Some(End::Closed)), "{end:?}");
    finish(client, server);
}

#[test]
fn what_nobody_asked_for_ends_an_idle_connection() {
    let answer = [settings(), head(1, END_STREAM, &[(":status", "200")])].concat();
    let (mut client, server) = client_of(vec![answer, frame(DATA, 0, 1, b"more")]);
    client.ask(REQUEST);
    let end = client.idle(Duration::from_secs(5));
    let Some(End::Failed(failure)) = end else { panic!("{end:?}") };
    assert_eq!((failure.kind, failure.side), (FailureKind::BadHttp, Side::Server));
    finish(client, server);
}

#[test]
fn a_request_that_a_closing_server_did_not_take_up_is_not_refused() {
    let (mut client, server) = client_of(vec![[settings(), goaway(0, 0)].concat()]);
    let (_, end) = client.ask(REQUEST);
    let End::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!((failure.kind, failure.side, failure.refused), (FailureKind::ClosedEarly, Side::Server, false));
    assert_eq!(client.transport.take_request(), REQUEST, "it can be sent on another connection");
    finish(client, server);
}

#[test]
fn a_request_counts_as_written_when_its_last_byte_is() {
    let body = vec![b'b'; 100_000];
    let request =
        [format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let window = |stream, n: u32| frame(WINDOW_UPDATE, 0, stream, &n.to_be_bytes());
    let answer = head(1, END_STREAM, &[(":status", "200")]);
    let (mut client, server) = client_of(vec![settings(), [window(0, 50_000), window(1, 50_000)].concat(), answer]);
    let (pieces, end) = client.ask(&request);
    assert!(matches!(end, End::Whole), "{end:?}");
    let (sent, written) = (client.transport.sent().unwrap(), client.transport.written().unwrap());
    assert!(written.saturating_sub(sent) > kneepoint_model::Nanos::from(PAUSE / 2), "it waited for the window");
    assert!(written < pieces[0].0);
    finish(client, server);
}
