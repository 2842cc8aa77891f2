//! Against a server of other authors: the `h2` crate, over TCP and over TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use kneepoint_model::plan::{Dialect, HttpVersion};
use kneepoint_model::{FailureKind, Nanos, Side};
use kneepoint_wire::exchange::{Exchange, Step};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite};

use super::client::{Client, End, endpoint, whole};
use crate::support::{DONE, ROLE, STOP, content};

/// Between two pieces of a streamed answer.
const GAP: Duration = Duration::from_millis(30);

/// A server on loopback that answers by path; over TLS if there is a configuration.
fn serve(tls: Option<Arc<ServerConfig>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    listener.set_nonblocking(true).expect("does not block");
    let address = listener.local_addr().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    std::thread::spawn(move || runtime.block_on(accept(listener, tls)));
    address
}

async fn accept(listener: TcpListener, tls: Option<Arc<ServerConfig>>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while let Ok((socket, _)) = listener.accept().await {
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => connection(socket).await,
                Some(config) => {
                    if let Ok(session) = tokio_rustls::TlsAcceptor::from(config).accept(socket).await {
                        connection(session).await;
                    }
                }
            }
        });
    }
}

async fn connection(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let mut builder = h2::server::Builder::new();
    // Narrow, so that a large request has to wait for leave many times.
    builder.initial_window_size(10_000);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        if request.uri().path() == "/last" {
            connection.graceful_shutdown();
        }
        if request.uri().path() == "/abrupt" {
            connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        }
        tokio::spawn(async move {
            // An error here is one that the client made, and sees itself.
            let _ = answer(request, respond).await;
        });
    }
}

async fn answer(mut request: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let path = request.uri().path().to_owned();
    let mut received = 0;
    let mut sum = 0_u64;
    while let Some(piece) = request.body_mut().data().await {
        let piece = piece?;
        received += piece.len();
        sum = piece.iter().fold(sum, |sum, byte| sum * 31 % 1_000_007 + u64::from(*byte));
        request.body_mut().flow_control().release_capacity(piece.len())?;
    }
    let ok = || Response::builder().header("content-type", "text/event-stream");
    let response = |builder: http::response::Builder| builder.body(()).expect("a response");
    match path.as_str() {
        "/v1/chat/completions" => {
            respond.send_informational(response(Response::builder().status(103).header("link", "</a>")))?;
            let mut stream = respond.send_response(response(ok()), false)?;
            for piece in [ROLE.to_owned(), content("Hel"), content("lo"), STOP.to_owned(), DONE.to_owned()] {
                tokio::time::sleep(GAP).await;
                stream.send_data(piece.into(), false)?;
            }
            let mut trailers = HeaderMap::new();
            trailers.insert("x-checksum", "7".parse().expect("a value"));
            stream.send_trailers(trailers)
        }
        "/refused" => {
            respond.send_reset(Reason::REFUSED_STREAM);
            Ok(())
        }
        "/half" => {
            let mut stream = respond.send_response(response(ok()), false)?;
            stream.send_data(content("half").into(), false)?;
            tokio::time::sleep(GAP).await;
            stream.send_reset(Reason::INTERNAL_ERROR);
            Ok(())
        }
        "/large" => {
            let mut stream = respond.send_response(response(ok()), false)?;
            for _ in 0..30 {
                stream.send_data(vec![b'~'; 1_000_000].into(), false)?;
            }
            stream.send_data(Bytes::new(), true)
        }
        _ => {
            let headers = request.headers();
            let said = format!(
                "{} {path} {} {received} {sum} connection={} host={} authorization={:?}",
                request.method(),
                request.uri().authority().map_or("", |authority| authority.as_str()),
                headers.contains_key("connection"),
                headers.contains_key("host"),
                headers.get("authorization"),
            );
            let length = response(Response::builder().header("content-length", said.len()));
            respond.send_response(length, false)?.send_data(said.into(), true)
        }
    }
}

/// Of a certificate written to `ca`, with these protocols for the handshake.
fn tls(ca: &Path, protocols: &[&str]) -> Arc<ServerConfig> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).expect("a key pair");
    std::fs::write(ca, cert.pem()).expect("writes");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

fn request(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer k\r\nConnection: keep-alive\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A client of a server without TLS, and one of a server with.
fn clients() -> Vec<Client> {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let plain = serve(None);
    let secure = serve(Some(tls(&ca, &["h2", "http/1.1"])));
    vec![
        Client::connect(&endpoint(&format!("http://{plain}"), None, HttpVersion::Http2)),
        Client::connect(&endpoint(&format!("https://localhost:{}", secure.port()), Some(&ca), HttpVersion::Http2)),
    ]
}

#[test]
fn streamed_answers_one_after_the_other() {
    for mut client in clients() {
        for _ in 0..3 {
            let (pieces, end) = client.ask(&request("/v1/chat/completions", b"{}"));
            assert!(matches!(end, End::Whole), "{end:?}");
            assert!(client.transport.request_written());
            assert_eq!(client.transport.http_version(), HttpVersion::Http2);
            let mut exchange = Exchange::new(Dialect::OpenaiChat, true, true);
            let steps: Vec<Step> = pieces.iter().map(|(at, bytes)| exchange.received(*at, bytes)).collect();
            assert_eq!(steps.last(), Some(&Step::Done));
            assert!(exchange.connection_reusable());
            let answer = exchange.finish();
            assert_eq!((answer.text.as_str(), answer.verdict), ("Hello", Ok(())));
            assert_eq!(answer.events.len(), 2);
            // The pieces are stamped as they came, and not at the end.
            let half = Nanos::from(GAP / 2).0;
            assert!(answer.events.gaps[0] > half, "{:?}", answer.events.gaps);
            let (sent, written) = (client.transport.sent(), client.transport.written());
            assert!(sent <= written && written < answer.first_byte, "{sent:?} {written:?} {:?}", answer.first_byte);
        }
        // Acknowledgements that are still under way are nothing to the user of the connection.
        assert!(client.idle(Duration::from_millis(50)).is_none());
    }
}

#[test]
fn large_requests_wait_for_the_window() {
    for mut client in clients() {
        for size in [0, 1, 9_999, 10_000, 65_536, 200_000, 1_000_000] {
            let body: Vec<u8> = (0..=250).cycle().take(size).collect();
            let sum = body.iter().fold(0_u64, |sum, byte| sum * 31 % 1_000_007 + u64::from(*byte));
            let (pieces, end) = client.ask(&request("/echo", &body));
            assert!(matches!(end, End::Whole), "{end:?}");
            let answer = whole(&pieces);
            let said = format!(
                "POST /echo localhost:1 {size} {sum} connection=false host=false authorization=Some(\"Bearer k\")"
            );
            assert!(answer.contains(&said), "{answer}");
            assert!(!answer.contains("content-length"), "{answer}");
            assert!(client.transport.request_written() && client.transport.written().is_some());
        }
    }
}

#[test]
fn large_answers_open_the_window_again() {
    for mut client in clients() {
        let (pieces, end) = client.ask(&request("/large", b"{}"));
        assert!(matches!(end, End::Whole), "{end:?}");
        let answer = whole(&pieces);
        assert_eq!(answer.matches('~').count(), 30_000_000);
    }
}

#[track_caller]
fn failure(end: End) -> (FailureKind, Side, String, bool) {
    match end {
        End::Failed(failure) => (failure.kind, failure.side, failure.detail, failure.refused),
        other => panic!("{other:?}"),
    }
}

#[test]
fn resets_are_the_servers_word() {
    for mut client in clients() {
        let (pieces, end) = client.ask(&request("/refused", b"{}"));
        assert!(pieces.is_empty());
        let said = "the server reset the stream: REFUSED_STREAM".to_owned();
        assert_eq!(failure(end), (FailureKind::Reset, Side::Server, said, true));
    }
    for mut client in clients() {
        let (pieces, end) = client.ask(&request("/half", b"{}"));
        assert!(whole(&pieces).contains("half"));
        let said = "the server reset the stream: INTERNAL_ERROR".to_owned();
        assert_eq!(failure(end), (FailureKind::Reset, Side::Server, said, true));
    }
}

#[test]
fn a_server_that_closes_finishes_its_answer() {
    for mut client in clients() {
        let (pieces, end) = client.ask(&request("/last", b"{}"));
        assert!(whole(&pieces).ends_with("0\r\n\r\n"));
        // Told so with the answer or right after it.
        let end = if let End::Whole = end { client.idle(Duration::from_secs(5)) } else { Some(end) };
        assert!(matches!(end, Some(End::Closed)), "{end:?}");
    }
}

#[test]
fn a_server_that_breaks_off_says_why() {
    for mut client in clients() {
        let (_, end) = client.ask(&request("/abrupt", b"{}"));
        let said = "the server closed the connection with GOAWAY: ENHANCE_YOUR_CALM".to_owned();
        assert_eq!(failure(end), (FailureKind::Reset, Side::Server, said, true));
    }
}

/// What a client that asks for `http` meets at a TLS server that offers `protocols`.
fn meeting(http: HttpVersion, protocols: &[&str]) -> End {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let address = serve(Some(tls(&ca, protocols)));
    let url = format!("https://localhost:{}", address.port());
    Client::connect(&endpoint(&url, Some(&ca), http)).ask(&request("/", b"{}")).1
}

#[test]
fn the_version_is_never_negotiated_away() {
    for protocols in [&["http/1.1"][..], &[]] {
        let said = "the server did not select HTTP/2 (ALPN `h2`); ask it for HTTP/1.1 instead".to_owned();
        let met = failure(meeting(HttpVersion::Http2, protocols));
        assert_eq!(met, (FailureKind::Tls, Side::Server, said, false), "{protocols:?}");
    }
    let said = "the server did not select HTTP/1.1 (ALPN `http/1.1`); ask it for HTTP/2 instead".to_owned();
    let met = failure(meeting(HttpVersion::Http1, &["h2"]));
    assert_eq!(met, (FailureKind::Tls, Side::Server, said, false));
    assert!(matches!(meeting(HttpVersion::Http2, &["http/1.1", "h2"]), End::Whole));
}

#[test]
fn a_server_of_http_1_1_is_named() {
    for (answers, kind, said) in [
        (
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
            FailureKind::BadHttp,
            "not an HTTP/2 server: it answers in HTTP/1.1; ask it for HTTP/1.1 instead",
        ),
        ("", FailureKind::ClosedEarly, "closed without a word of HTTP/2; it may speak HTTP/1.1 alone"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut first = [0; 24];
            socket.read_exact(&mut first).expect("a preface");
            socket.write_all(answers.as_bytes()).expect("writes");
            socket.shutdown(std::net::Shutdown::Write).expect("closes");
            // Until the client closes, so that no reset overtakes the answer.
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let mut client = Client::connect(&endpoint(&format!("http://{address}"), None, HttpVersion::Http2));
        let (_, end) = client.ask(&request("/", b"{}"));
        drop(client);
        server.join().expect("serves");
        let (met, side, detail, _) = failure(end);
        assert_eq!((met, side, detail.as_str()), (kind, Side::Server, said));
    }
}

/// The task scheduler and the protocol library are for these tests: see docs/decisions/0130.
#[test]
fn what_the_tests_need_is_not_in_the_product() {
    let manifest = include_str!("../../../Cargo.toml");
    let (product, tests) = manifest.split_once("[dev-dependencies]").expect("the manifest has both");
    for name in ["bytes", "h2", "http", "tokio", "tokio-rustls"] {
        let line = format!("\n{name}.workspace");
        assert!(!product.contains(&line) && tests.contains(&line), "{name}");
    }
}
