//! Requests: rendered once for a platform and a workload, then filled in for each prompt.
//!
//! Everything that does not depend on the prompt (head, model, options, further fields) is rendered before the run, so
//! that making a request is escaping the prompt and joining the pieces. Knows nothing of sockets or answers.

use std::ops::Range;
use std::sync::Arc;

use kneepoint_model::plan::{ConnectionPolicy, Dialect, HeaderText, LengthControl, Platform, Workload};
use kneepoint_model::{Prompt, Secret, Tokens};
use serde_json::{Map, Value};

use crate::exchange::Exchange;
pub use crate::target::{Target, TargetError};

/// How the client names itself.
pub const USER_AGENT: &str = concat!("kneepoint/", env!("CARGO_PKG_VERSION"));

/// Why no request can be made from a plan.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The URL.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A header's name is empty or holds what a name cannot.
    #[error("header name {name:?} is not valid")]
    HeaderName {
        /// The name.
        name: String,
    },
    /// A header's value holds a line break or another control character. The value is not shown: it may be a secret.
    #[error("the value of header `{name}` holds a control character")]
    HeaderValue {
        /// The header's name.
        name: String,
    },
    /// A header that the client must set itself.
    #[error("header `{name}` cannot be set: the client sets it")]
    ReservedHeader {
        /// The header's name.
        name: String,
    },
    /// A body field that the plan sets elsewhere.
    #[error("body field `{name}` cannot be set here: {instead}")]
    ReservedField {
        /// The field.
        name: &'static str,
        /// Where it is set.
        instead: &'static str,
    },
    /// `auto` must be settled by asking the platform before a request is made.
    #[error("how output length is controlled is not settled yet")]
    LengthNotSettled,
}

/// Fields that the plan sets elsewhere.
const RESERVED_FIELDS: [(&str, &str); 4] = [
    ("model", "it is the platform's `model`"),
    ("messages", "it is made by the workload"),
    ("prompt", "it is made by the workload"),
    ("stream", "it is the workload's `stream`"),
];

/// Headers on which framing or measurement rests.
const RESERVED_HEADERS: [&str; 5] = ["content-length", "transfer-encoding", "connection", "accept-encoding", "expect"];

/// One request, but for its prompt.
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    target: Target,
    dialect: Dialect,
    stream: bool,
    input: Tokens,
    /// The head up to the value of `Content-Length`.
    head: Secretive,
    body: Body,
    secrets: Arc<[Secret]>,
}

/// Text with secrets in it, and where they are.
#[derive(Clone)]
struct Secretive {
    text: String,
    secrets: Vec<Range<usize>>,
}

/// The body in pieces, between which stand the prompt and the output length.
#[derive(Clone, Debug)]
struct Body {
    before: String,
    /// What follows the prompt; between two of these stands the output length.
    after: Vec<String>,
}

impl RequestTemplate {
    /// Renders what does not depend on the prompt.
    ///
    /// `model_id` is sent unless the platform knows the model by another name. Fields of `platform.body` replace the
    /// client's own (`max_tokens`, `ignore_eos`, `min_tokens`, `stream_options`), and `null` takes one away;
    /// `max_completion_tokens` takes `max_tokens` away as well.
    pub fn new(
        platform: &Platform,
        workload: &Workload,
        model_id: &str,
        length: LengthControl,
    ) -> Result<Self, TemplateError> {
        let target = Target::new(&platform.url, platform.dialect)?;
        let body = Body::new(platform, workload, model_id, length)?;
        let head = head(platform, workload, &target)?;
        let mut secrets: Vec<Secret> = platform.key.iter().map(|key| key.value.clone()).collect();
        secrets.extend(platform.headers.iter().filter_map(|(_, value)| match value {
            HeaderText::Secret(secret) => Some(secret.value.clone()),
            HeaderText::Plain(_) => None,
        }));
        // Of `Bearer abc`, a server may repeat `abc` alone.
        let tokens =
            secrets.iter().filter_map(|secret| secret.expose().split_once(' ')).filter(|(_, token)| token.len() >= 8);
        let tokens: Vec<Secret> = tokens.map(|(_, token)| Secret::new(token)).collect();
        secrets.extend(tokens);
        Ok(Self {
            target,
            dialect: platform.dialect,
            stream: workload.stream,
            input: workload.input,
            head,
            body,
            secrets: secrets.into(),
        })
    }

    /// Where it goes.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The dialect of the answer.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether a streamed answer is asked for.
    pub fn stream(&self) -> bool {
        self.stream
    }

    /// What a server said of itself, fit to be kept and shown: secrets masked, nothing that a terminal or a page would
    /// act on, no longer than a line.
    pub fn cleaned(&self, text: &str) -> String {
        let masked = self.secrets.iter().fold(text.to_owned(), |text, secret| secret.mask_in(&text));
        crate::complaint::printable(&masked).chars().take(100).collect()
    }

    /// An exchange for one request of this template, which keeps none of its secrets.
    pub fn exchange(&self, keep_text: bool) -> Exchange {
        Exchange::new(self.dialect, self.stream, keep_text).masking(Arc::clone(&self.secrets))
    }

    /// The secrets in it, to be masked in whatever the server says.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// About how many bytes a request has, at five bytes a token of the prompt: for sizing buffers.
    pub fn approximate_request_bytes(&self) -> usize {
        let prompt = usize::try_from(self.input.0).unwrap_or(usize::MAX).saturating_mul(5);
        (self.head.text.len() + self.body.len("", &Decimal::new(0)) + 8).saturating_add(prompt)
    }

    /// Appends the request for `prompt` to `out`: head and body, ready to be sent.
    pub fn render(&self, prompt: &Prompt, out: &mut Vec<u8>) {
        let length = Decimal::new(prompt.output.0);
        let body_len = self.body.len(&prompt.text, &length);
        out.reserve(self.head.text.len() + body_len + 32);
        out.extend_from_slice(self.head.text.as_bytes());
        out.extend_from_slice(Decimal::new(body_len as u64).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        self.body.render(&prompt.text, &length, out);
    }

    /// The request for `prompt` as text, every secret replaced by `***`.
    pub fn render_masked(&self, prompt: &Prompt) -> String {
        let length = Decimal::new(prompt.output.0);
        let mut body = Vec::new();
        self.body.render(&prompt.text, &length, &mut body);
        let body = String::from_utf8_lossy(&body);
        let body = self.secrets.iter().fold(body.into_owned(), |text, secret| secret.mask_in(&text));
        format!("{}{}\r\n\r\n{body}", self.head.masked(), self.body.len(&prompt.text, &length))
    }
}

/// Everything of the head up to the value of `Content-Length`, which is last.
fn head(platform: &Platform, workload: &Workload, target: &Target) -> Result<Secretive, TemplateError> {
    for (name, _) in &platform.headers {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(TemplateError::HeaderName { name: name.clone() });
        }
        if RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(TemplateError::ReservedHeader { name: name.clone() });
        }
    }
    let given = |name: &str| platform.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let mut head = Secretive { text: format!("POST {} HTTP/1.1\r\n", target.path), secrets: Vec::new() };
    let accept = if workload.stream { "text/event-stream" } else { "application/json" };
    let own = [
        ("Host", target.host_header.as_str()),
        ("User-Agent", USER_AGENT),
        ("Accept", accept),
        ("Content-Type", "application/json"),
    ];
    for (name, value) in own.into_iter().filter(|(name, _)| !given(name)) {
        head.plain_header(name, value)?;
    }
    // A compressing proxy would hold tokens back until its block is full.
    head.plain_header("Accept-Encoding", "identity")?;
    if let Some(key) = platform.key.as_ref().filter(|_| !given("Authorization")) {
        head.header("Authorization", "Bearer ", key.value.expose(), true)?;
    }
    for (name, value) in &platform.headers {
        match value {
            HeaderText::Plain(text) => head.plain_header(name, text)?,
            HeaderText::Secret(secret) => head.header(name, "", secret.value.expose(), true)?,
        }
    }
    head.plain_header(
        "Connection",
        match platform.connection {
            ConnectionPolicy::KeepAlive => "keep-alive",
            ConnectionPolicy::PerRequest => "close",
        },
    )?;
    head.text.push_str("Content-Length: ");
    Ok(head)
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl std::fmt::Debug for Secretive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.masked().fmt(f)
    }
}

impl Secretive {
    fn plain_header(&mut self, name: &str, value: &str) -> Result<(), TemplateError> {
        self.header(name, value, "", false)
    }

    fn header(&mut self, name: &str, scheme: &str, value: &str, is_secret: bool) -> Result<(), TemplateError> {
        if scheme.bytes().chain(value.bytes()).any(|b| b.is_ascii_control() && b != b'\t') {
            return Err(TemplateError::HeaderValue { name: name.to_owned() });
        }
        self.text.push_str(name);
        self.text.push_str(": ");
        self.text.push_str(scheme);
        let start = self.text.len();
        self.text.push_str(value);
        if is_secret {
            self.secrets.push(start..self.text.len());
        }
        self.text.push_str("\r\n");
        Ok(())
    }

    fn masked(&self) -> String {
        let mut masked = String::with_capacity(self.text.len());
        let mut from = 0;
        for secret in &self.secrets {
            masked.push_str(&self.text[from..secret.start]);
            masked.push_str("***");
            from = secret.end;
        }
        masked.push_str(&self.text[from..]);
        masked
    }
}

impl Body {
    fn new(
        platform: &Platform,
        workload: &Workload,
        model_id: &str,
        length: LengthControl,
    ) -> Result<Self, TemplateError> {
        for (name, instead) in RESERVED_FIELDS {
            if platform.body.contains_key(name) {
                return Err(TemplateError::ReservedField { name, instead });
            }
        }
        let model = Value::from(platform.model.as_deref().unwrap_or(model_id));
        let before = match platform.dialect {
            Dialect::OpenaiChat => format!(r#"{{"model":{model},"messages":[{{"role":"user","content":""#),
            Dialect::OpenaiCompletions => format!(r#"{{"model":{model},"prompt":""#),
        };
        let mut after = vec![match platform.dialect {
            Dialect::OpenaiChat => r#""}]"#.to_owned(),
            Dialect::OpenaiCompletions => "\"".to_owned(),
        }];
        let given = |name: &str| platform.body.contains_key(name);
        let lengths = match length {
            LengthControl::Auto => return Err(TemplateError::LengthNotSettled),
            LengthControl::MinTokens => &["max_tokens", "min_tokens"][..],
            LengthControl::IgnoreEos | LengthControl::Natural => &["max_tokens"],
        };
        for name in lengths.iter().filter(|name| !given(name)) {
            if *name == "max_tokens" && given("max_completion_tokens") {
                continue;
            }
            push(&mut after, &format!(r#","{name}":"#));
            after.push(String::new());
        }
        let fields = own_fields(workload.stream, length);
        for (name, value) in fields.iter().filter(|(name, _)| !given(name)).chain(&platform.body) {
            if !value.is_null() {
                push(&mut after, &format!(",{}:{value}", Value::from(name.as_str())));
            }
        }
        push(&mut after, "}");
        Ok(Self { before, after })
    }

    fn len(&self, prompt: &str, length: &Decimal) -> usize {
        let after: usize = self.after.iter().map(String::len).sum();
        self.before.len() + escaped_len(prompt) + after + (self.after.len() - 1) * length.as_bytes().len()
    }

    fn render(&self, prompt: &str, length: &Decimal, out: &mut Vec<u8>) {
        out.extend_from_slice(self.before.as_bytes());
        escape(prompt, out);
        for (i, piece) in self.after.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(length.as_bytes());
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }
}

fn push(pieces: &mut [String], text: &str) {
    pieces.last_mut().expect("invariant: the list begins with one piece").push_str(text);
}

/// What the client itself asks for, lengths aside.
fn own_fields(stream: bool, length: LengthControl) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("stream".into(), stream.into());
    if stream {
        fields.insert("stream_options".into(), serde_json::json!({"include_usage": true}));
    }
    if length == LengthControl::IgnoreEos {
        fields.insert("ignore_eos".into(), true.into());
    }
    fields
}

/// A number as decimal digits, without allocation.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn new(mut n: u64) -> Self {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + u8::try_from(n % 10).expect("invariant: a digit is below 10");
            n /= 10;
            if n == 0 {
                return Self { digits, start };
            }
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// How many bytes [`escape`] makes of `text`.
fn escaped_len(text: &str) -> usize {
    text.bytes().map(|byte| escape_of(byte).map_or(1, <[u8]>::len)).sum()
}

/// Appends `text` as the inside of a JSON string.
fn escape(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, byte) in bytes.iter().enumerate() {
        if let Some(escape) = escape_of(*byte) {
            out.extend_from_slice(&bytes[from..i]);
            out.extend_from_slice(escape);
            from = i + 1;
        }
    }
    out.extend_from_slice(&bytes[from..]);
}

/// The escape that RFC 8259 §7 demands for `byte`, if it does.
fn escape_of(byte: u8) -> Option<&'static [u8]> {
    const CONTROL: [&[u8]; 32] = [
        b"\\u0000", b"\\u0001", b"\\u0002", b"\\u0003", b"\\u0004", b"\\u0005", b"\\u0006", b"\\u0007", b"\\b", b"\\t",
        b"\\n", b"\\u000b", b"\\f", b"\\r", b"\\u000e", b"\\u000f", b"\\u0010", b"\\u0011", b"\\u0012", b"\\u0013",
        b"\\u0014", b"\\u0015", b"\\u0016", b"\\u0017", b"\\u0018", b"\\u0019", b"\\u001a", b"\\u001b", b"\\u001c",
        b"\\u001d", b"\\u001e", b"\\u001f",
    ];
    match byte {
        b'"' => Some(b"\\\""),
        b'\\' => Some(b"\\\\"),
        _ => CONTROL.get(usize::from(byte)).copied(),
    }
}
