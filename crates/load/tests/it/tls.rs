//! TLS: a certificate that fits, and three that do not.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kneepoint_load::RunError;
use kneepoint_model::record::Outcome;
use kneepoint_model::{FailureKind, Nanos, Side};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::scripted::{read_request, respond, stream_of};
use crate::trial;

/// A TLS server on loopback with a certificate of its own for `name`; writes that certificate to `ca`.
fn serve(name: &str, ca: &Path) -> SocketAddr {
    serve_first(usize::MAX, name, ca)
}

/// The same for the first `most` requests; connections after those are taken and no session comes up on them.
fn serve_first(most: usize, name: &str, ca: &Path) -> SocketAddr {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    std::fs::write(ca, cert.pem()).expect("writes");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (served, mut silent) = (Arc::new(AtomicUsize::new(0)), Vec::new());
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            if served.load(Ordering::Acquire) >= most {
                silent.push(stream);
                continue;
            }
            let (config, served) = (Arc::clone(&config), Arc::clone(&served));
            std::thread::spawn(move || converse(stream, config, &served));
        }
    });
    address
}

fn converse(stream: TcpStream, config: Arc<ServerConfig>, served: &AtomicUsize) {
    let Ok(session) = ServerConnection::new(config) else { return };
    let mut stream = StreamOwned::new(session, stream);
    while let Some(request) = read_request(&mut stream) {
        served.fetch_add(1, Ordering::AcqRel);
        let goes_on = if request.starts_with("GET ") {
            respond(&mut stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        } else {
            stream_of(&mut stream, &["a", "b", "c"], Some(3))
        };
        if !goes_on || stream.flush().is_err() {
            return;
        }
    }
}

fn plan(host: &str, port: u16, ca: Option<&Path>) -> String {
    let ca = ca.map_or_else(String::new, |path| format!("ca: '{}', ", path.display()));
    format!(
        "{{kneepoint: 1, name: tls, model: {{id: m}}, platforms: {{p: {{dialect: openai-chat, url: 'https://{host}:{port}', \
         {ca}length_control: natural, request_timeout: 2s}}}}, workloads: {{w: {{input: 4, output: 1}}}}, \
         load: [{{rate: {{sweep: [20], for: 500ms, warm_up: 0s, min_samples: 1, drain: 1s}}}}]}}"
    )
}

#[track_caller]
fn refused(result: Result<trial::Trial, RunError>) -> String {
    let error = result.err().expect("the certificate does not fit");
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[test]
fn measures_over_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let address = serve("localhost", &ca);
    let trial = trial::run(&plan("localhost", address.port(), Some(&ca))).expect("runs");
    assert_eq!(trial.records.len(), 10);
    for record in &trial.records {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        assert_eq!(record.output_tokens.server.map(|n| n.0), Some(3));
        assert!(record.first_byte > record.sent);
    }
    let first = trial.records.iter().find(|record| !record.connection.reused).expect("one new connection at least");
    assert!(first.connection.tls > first.connection.tcp && first.sent >= first.connection.tls);
    let seen = &trial.measured.environment.platforms["p"].observed;
    assert_eq!(seen.tls.as_deref(), Some("TLSv1.3"));
}

/// TCP is up and TLS never is: that ends by the limit on connecting, long before the whole time is over.
#[test]
fn a_session_that_never_comes_up_passes_the_limit_on_connecting() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    // The look at the platform takes three: an answer, the model list, the version.
    let address = serve_first(3, "localhost", &ca);
    let limits = "time_limits: {connect: 300ms, total: 20s}, connection: per-request";
    let plan = plan("localhost", address.port(), Some(&ca)).replace("request_timeout: 2s", limits);
    let trial = trial::run(&plan).expect("runs");
    assert_eq!(trial.records.len(), 10);
    for record in &trial.records {
        let Outcome::Failed(failure) = &record.outcome else { panic!("{record:?}") };
        assert_eq!((failure.kind, failure.side), (FailureKind::ConnectTimeout, Side::Network));
        assert!(record.connection.tcp.is_some() && record.connection.tls.is_none() && record.sent.is_none());
        let waited = failure.when.saturating_sub(record.dispatched);
        assert!(waited >= Nanos::from_millis(300) && waited < Nanos::from_secs(5), "{waited}");
    }
}

#[test]
fn a_wrong_name_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let address = serve("another.example", &ca);
    let text = refused(trial::run(&plan("localhost", address.port(), Some(&ca))));
    assert!(text.contains("tls: ") && text.contains("another.example"), "{text}");
}

#[test]
fn an_unknown_issuer_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let address = serve("localhost", &ca);
    serve("localhost", &ca); // another certificate takes the file's place
    let text = refused(trial::run(&plan("localhost", address.port(), Some(&ca))));
    assert!(text.contains("tls: ") && text.contains("certificate"), "{text}");
}

#[test]
fn plain_http_behind_https_is_named() {
    let server = crate::scripted::serve(|_| false);
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    serve("localhost", &ca);
    let text = refused(trial::run(&plan("localhost", server.address.port(), Some(&ca))));
    assert!(text.contains("the TLS session never came up"), "{text}");
}

#[test]
fn a_ca_file_without_certificates_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, "not a certificate").expect("writes");
    let text = refused(trial::run(&plan("localhost", 1, Some(&ca))));
    assert!(text.contains("ca.pem"), "{text}");
}
