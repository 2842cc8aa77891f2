//! A server that does what a script says: it answers the probe properly, then misbehaves on purpose.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What to do with one request on a connection; `false` closes the connection.
pub(crate) type Answer = dyn Fn(&mut TcpStream) -> bool + Send + Sync;

pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    stopping: Arc<AtomicBool>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // Wakes the accept loop.
        let _ = TcpStream::connect(self.address);
    }
}

/// Answers completions whose prompt is the probe's (it asks for the probe's output length) properly, all others by
/// `answer`.
pub(crate) fn serve(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> Scripted {
    serve_pages("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), answer)
}

/// The same, with a page of its own for everything that is fetched.
pub(crate) fn serve_pages(page: String, answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("has an address");
    let (connections, stopping) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, stop) = (Arc::clone(&connections), Arc::clone(&stopping));
    let answer: Arc<Answer> = Arc::new(answer);
    let page: Arc<str> = page.into();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if stop.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else { continue };
            counted.fetch_add(1, Ordering::AcqRel);
            let answer = Arc::clone(&answer);
            let page = Arc::clone(&page);
            std::thread::spawn(move || converse(stream, &page, answer.as_ref()));
        }
    });
    Scripted { address, connections, stopping }
}

fn converse(mut stream: TcpStream, page: &str, answer: &Answer) {
    stream.set_nodelay(true).expect("a socket");
    while let Some(request) = read_request(&mut stream) {
        let goes_on = if request.starts_with("GET ") {
            respond(&mut stream, page)
        } else if request.contains("probe-me") {
            stream_of(&mut stream, &["ok"], Some(1))
        } else {
            answer(&mut stream)
        };
        if !goes_on {
            return;
        }
    }
}

/// One whole request, head and body.
pub(crate) fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

/// Sends raw bytes; `true` if they were taken.
pub(crate) fn respond(stream: &mut impl Write, bytes: &str) -> bool {
    stream.write_all(bytes.as_bytes()).is_ok()
}

pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// One chunk of the body, framed.
pub(crate) fn chunk(stream: &mut impl Write, text: &str) -> bool {
    respond(stream, &format!("{:x}\r\n{text}\r\n", text.len()))
}

pub(crate) fn token(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text:?}}},\"finish_reason\":null}}]}}\n\n")
}

/// A proper stream of these tokens, with usage.
pub(crate) fn stream_of(stream: &mut impl Write, tokens: &[&str], count: Option<usize>) -> bool {
    let mut body: Vec<String> = tokens.iter().map(|text| token(text)).collect();
    body.push("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n".into());
    if let Some(count) = count {
        let usage = format!("{{\"prompt_tokens\":4,\"completion_tokens\":{count}}}");
        body.push(format!("data: {{\"choices\":[],\"usage\":{usage}}}\n\n"));
    }
    body.push("data: [DONE]\n\n".into());
    respond(stream, STREAM_HEAD) && body.iter().all(|event| chunk(stream, event)) && respond(stream, "0\r\n\r\n")
}
