//! A bare HTTP/1.1 client over `std::net::TcpStream`: enough to see what the server really sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// For each chunk of a chunked body: its text and how long after the request was begun it came.
    pub(crate) chunks: Vec<(String, Duration)>,
    /// How reading ended, if not well.
    pub(crate) broken: Option<std::io::ErrorKind>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The events of a stream: the data of each, and when it came.
    pub(crate) fn events(&self) -> Vec<(String, Duration)> {
        let mut events = Vec::new();
        for (chunk, at) in &self.chunks {
            for event in chunk.split_terminator("\n\n") {
                if let Some(data) = event.strip_prefix("data: ") {
                    events.push((data.to_owned(), *at));
                }
            }
        }
        events
    }

    /// The events of a stream as JSON, without the end marker, which must be there.
    pub(crate) fn json_events(&self) -> Vec<(serde_json::Value, Duration)> {
        let mut events = self.events();
        assert_eq!(events.pop().map(|(data, _)| data).as_deref(), Some("[DONE]"), "{}", self.body);
        events.into_iter().map(|(data, at)| (serde_json::from_str(&data).expect("JSON"), at)).collect()
    }
}

/// A connection that is kept.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        // A test that hangs is worse than one that fails.
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket option");
        stream.set_nodelay(true).expect("a socket option");
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, "", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Response {
        self.send("POST", path, "", body)
    }

    /// Sends a request with further header lines (each ended by CR LF) and reads the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Response {
        let started = now();
        self.write(method, path, headers, body);
        self.read(started).expect("a response begins")
    }

    pub(crate) fn write(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: sim\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
    }

    /// Reads the status line only: from then on the server has the request.
    pub(crate) fn await_answer(&mut self) {
        assert!(self.line().expect("an answer begins").starts_with("HTTP/1.1 200"));
    }

    /// Reads a response; `Err` if the connection ends before a status line.
    pub(crate) fn read(&mut self, started: Instant) -> Result<Response, std::io::ErrorKind> {
        let status_line = self.line().map_err(|error| error.kind())?;
        if status_line.is_empty() {
            return Err(std::io::ErrorKind::UnexpectedEof);
        }
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
        let mut headers = Vec::new();
        loop {
            let line = self.line().map_err(|error| error.kind())?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut response = Response { status, headers, body: String::new(), chunks: Vec::new(), broken: None };
        let read = if response.header("transfer-encoding") == Some("chunked") {
            self.read_chunks(&mut response, started)
        } else {
            let length = response.header("content-length").map_or(0, |text| text.parse().expect("a length"));
            self.read_exactly(length, &mut response)
        };
        response.broken = read.err().map(|error| error.kind());
        Ok(response)
    }

    fn read_chunks(&mut self, response: &mut Response, started: Instant) -> std::io::Result<()> {
        loop {
            let size = self.line()?;
            if size.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let size = usize::from_str_radix(&size, 16).expect("a chunk size");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            let at = now().duration_since(started);
            if size == 0 {
                return Ok(());
            }
            chunk.truncate(size);
            let chunk = String::from_utf8(chunk).expect("text");
            response.body.push_str(&chunk);
            response.chunks.push((chunk, at));
        }
    }

    fn read_exactly(&mut self, length: usize, response: &mut Response) -> std::io::Result<()> {
        let mut body = Vec::new();
        let got = self.stream.by_ref().take(length as u64).read_to_end(&mut body)?;
        response.body = String::from_utf8(body).expect("text");
        if got == length { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
    }

    /// A line without its end; empty at the end of the stream.
    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

#[expect(clippy::disallowed_methods, reason = "a test measures what the server did from outside")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
