//! HTTP/2 through a whole run, against frames written by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use kneepoint_model::plan::HttpVersion;
use kneepoint_model::record::Outcome;
use kneepoint_model::{FailureKind, Side};

use crate::scripted::token;
use crate::trial;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// The error code of RFC 9113, section 7.
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];

/// A server of HTTP/2 without TLS. The first request of a connection is answered; those after it are by `later`.
fn serve(later: fn(&mut TcpStream, u32) -> std::io::Result<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || converse(stream, later));
        }
    });
    address
}

/// Ends when the client does.
fn converse(mut stream: TcpStream, later: fn(&mut TcpStream, u32) -> std::io::Result<()>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame(&mut stream, SETTINGS, 0, 0, &[])?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("a length")];
        stream.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match kind {
            SETTINGS if flags & ACK == 0 => frame(&mut stream, SETTINGS, ACK, 0, &[])?,
            HEADERS | DATA if flags & END_STREAM != 0 && id == 1 => answer(&mut stream, id)?,
            HEADERS | DATA if flags & END_STREAM != 0 => later(&mut stream, id)?,
            _ => {}
        }
    }
}

fn frame(stream: &mut TcpStream, kind: u8, flags: u8, id: u32, payload: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend_from_slice(payload);
    stream.write_all(&bytes)
}

/// A stream of one token. The header block is `:status: 200` (indexed) and `content-type` (a literal with an indexed name),
/// RFC 7541, section 6.
fn answer(stream: &mut TcpStream, id: u32) -> std::io::Result<()> {
    let mut block = vec![0x88, 0x0f, 0x10, 17];
    block.extend_from_slice(b"text/event-stream");
    frame(stream, HEADERS, END_HEADERS, id, &block)?;
    frame(stream, DATA, 0, id, token("ok").as_bytes())?;
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1}}\n\n";
    let end = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n{usage}data: [DONE]\n\n"
    );
    frame(stream, DATA, END_STREAM, id, end.as_bytes())
}

fn run(address: SocketAddr) -> trial::Trial {
    let plan = format!(
        "{{kneepoint: 1, name: two, model: {{id: m}}, platforms: {{p: {{dialect: openai-chat, url: 'http://{address}', \
         http: 2, length_control: natural, request_timeout: 5s}}}}, workloads: {{w: {{input: 4, output: 1}}}}, \
         load: [{{rate: {{sweep: [20], for: 300ms, warm_up: 0s, min_samples: 1, drain: 5s}}}}]}}"
    );
    trial::run(&plan).expect("runs")
}

#[test]
fn a_run_speaks_the_version_that_its_plan_asks_for() {
    let trial = run(serve(answer));
    assert_eq!(trial.measured.environment.platforms["p"].observed.http, Some(HttpVersion::Http2));
    assert_eq!(trial.records.len(), 6);
    for record in &trial.records {
        assert!(record.outcome.is_ok(), "{record:?}");
        assert_eq!((record.events.len(), record.output_tokens.server.map(|tokens| tokens.0)), (1, Some(1)));
        assert!(record.sent.is_some() && record.written >= record.sent && record.first_byte.is_some());
    }
    assert!(trial.records.iter().any(|record| record.connection.reused), "connections are kept");
}

/// A reset says no: it is not taken for a connection that had been closed before, and the request is not sent again.
#[test]
fn a_refusal_on_a_kept_connection_is_a_failure() {
    let trial = run(serve(|stream, id| frame(stream, RST_STREAM, 0, id, &REFUSED_STREAM)));
    assert_eq!(trial.records.len(), 6);
    let reused: Vec<_> = trial.records.iter().filter(|record| record.connection.reused).collect();
    assert!(!reused.is_empty(), "connections are kept");
    for record in reused {
        let Outcome::Failed(failure) = &record.outcome else { panic!("{record:?}") };
        assert_eq!((failure.kind, failure.side), (FailureKind::Reset, Side::Server));
        assert!(failure.detail.contains("REFUSED_STREAM"), "{}", failure.detail);
    }
    assert!(trial.records.iter().all(|record| !record.connection.stale));
}
