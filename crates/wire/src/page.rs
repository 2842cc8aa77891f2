//! A plain page of a platform (`/v1/models`, `/version`): fetched before a run, never timed.

use kneepoint_model::plan::{HeaderText, Platform};

use crate::http1::{Part, ResponseParser};
use crate::request::Target;

/// A page longer than this is cut: nothing that is looked for comes later.
const LIMIT: usize = 4 << 20;

/// What a page brought.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// HTTP status; `None` if what came was not HTTP.
    pub status: Option<u16>,
    /// The `Server` header.
    pub server: Option<String>,
    /// `true` if the platform says that it is simulated.
    pub simulated: bool,
    /// The body, where it is JSON and the status a success.
    pub json: Option<serde_json::Value>,
}

/// A GET request for `path` with the platform's own credentials and headers, on a connection of its own.
pub fn get_request(platform: &Platform, target: &Target, path: &str) -> Vec<u8> {
    let mut head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: {}\r\nConnection: close\r\n",
        target.authority(),
        crate::request::USER_AGENT,
    );
    if let Some(key) = &platform.key {
        head.push_str("Authorization: Bearer ");
        head.push_str(key.value.expose());
        head.push_str("\r\n");
    }
    for (name, text) in &platform.headers {
        let value = match text {
            HeaderText::Plain(value) => value,
            HeaderText::Secret(secret) => secret.value.expose(),
        };
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Collects one page.
#[derive(Debug, Default)]
pub struct PageReader {
    parser: ResponseParser,
    body: Vec<u8>,
    enough: bool,
}

impl PageReader {
    /// A reader for one answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes; `true` once nothing more is needed.
    pub fn received(&mut self, mut bytes: &[u8]) -> bool {
        while !self.enough {
            match self.parser.next(&mut bytes) {
                Ok(Some(Part::Head)) => {}
                Ok(Some(Part::Body(piece))) => {
                    self.body.extend_from_slice(piece);
                    self.enough = self.body.len() > LIMIT;
                }
                Ok(Some(Part::End)) | Err(_) => self.enough = true,
                Ok(None) => break,
            }
        }
        self.enough
    }

    /// The page, as far as it came.
    pub fn finish(self) -> Page {
        let Some(head) = self.parser.head() else { return Page::default() };
        let is_success = (200..300).contains(&head.status);
        Page {
            status: Some(head.status),
            server: head.server.clone(),
            simulated: head.simulated,
            json: if is_success { serde_json::from_slice(&self.body).ok() } else { None },
        }
    }
}
