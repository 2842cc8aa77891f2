//! Just enough HTTP/1.1 and JSON to know what a benchmark client asks for.
//!
//! Knows requests with a Content-Length and the handful of fields that change the answer; everything else is skipped.

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1/completions`
    Completions,
    /// `GET /v1/models`
    Models,
    /// `GET /health` and the like
    Health,
    /// Anything else
    Unknown,
}

/// One whole request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// What is asked for.
    pub target: Target,
    /// How the client names the request: its X-Request-Id, else the `user` of its body, else nothing.
    pub key: &'a [u8],
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether the stream ends with a usage chunk.
    pub usage: bool,
    /// The length limit asked for.
    pub max_tokens: Option<u64>,
    /// Words in the prompt, which this server counts as its tokens.
    pub prompt_words: u64,
    /// Bytes of head and body together.
    pub size: usize,
}

/// Why there is no request (yet).
#[derive(Debug, PartialEq, Eq)]
pub enum NoRequest {
    /// More bytes are needed.
    Incomplete,
    /// These bytes will never be a request that this server understands.
    Bad,
}

/// The request at the beginning of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Request<'_>, NoRequest> {
    let Some(head) = find(bytes, b"\r\n\r\n").map(|end| &bytes[..end]) else {
        return Err(if bytes.len() > 65_536 { NoRequest::Bad } else { NoRequest::Incomplete });
    };
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().ok_or(NoRequest::Bad)?);
    let (mut length, mut key) = (0, &[][..]);
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            length = number(value).and_then(|n| usize::try_from(n).ok()).ok_or(NoRequest::Bad)?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Err(NoRequest::Bad);
        } else if name.eq_ignore_ascii_case(b"x-request-id") {
            key = value;
        }
    }
    let start = head.len() + 4;
    let size = start.checked_add(length).ok_or(NoRequest::Bad)?;
    let body = bytes.get(start..size).ok_or(NoRequest::Incomplete)?;
    if key.is_empty() {
        key = field(body, b"\"user\"").and_then(string).unwrap_or_default();
    }
    let prompt = [&b"\"content\""[..], b"\"prompt\"", b"\"text\""];
    Ok(Request {
        target: target(method, path),
        key,
        stream: field(body, b"\"stream\"").is_some_and(|value| value.starts_with(b"true")),
        usage: field(body, b"\"include_usage\"").is_some_and(|value| value.starts_with(b"true")),
        max_tokens: field(body, b"\"max_completion_tokens\"")
            .and_then(number)
            .or_else(|| field(body, b"\"max_tokens\"").and_then(number)),
        prompt_words: prompt.iter().find_map(|name| field(body, name).and_then(string)).map_or(0, count_words),
        size,
    })
}

fn target(method: &[u8], path: &[u8]) -> Target {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    match (method, path) {
        (b"POST", b"/v1/chat/completions") => Target::Chat,
        (b"POST", b"/v1/completions") => Target::Completions,
        (b"GET", b"/v1/models") => Target::Models,
        (b"GET", b"/health" | b"/" | b"/version") => Target::Health,
        _ => Target::Unknown,
    }
}

/// What follows `"name":`. Quotes inside a JSON string are escaped, so a name in quotes is never part of a prompt.
fn field<'a>(body: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = body;
    loop {
        rest = &rest[find(rest, name)? + name.len()..];
        if let Some(value) = rest.trim_ascii_start().strip_prefix(b":") {
            return Some(value.trim_ascii_start());
        }
    }
}

fn string(value: &[u8]) -> Option<&[u8]> {
    let text = value.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = text.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some(&text[..end])
}

fn count_words(text: &[u8]) -> u64 {
    text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count() as u64
}

fn number(value: &[u8]) -> Option<u64> {
    let digits = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
    std::str::from_utf8(&value[..digits]).ok()?.parse().ok()
}

/// Where `needle` begins. Looks for its first byte with the fast search of std's `position`.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = haystack.get(from..)?.iter().position(|byte| *byte == needle[0]) {
        if haystack[from + at..].starts_with(needle) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc\r\ncontent-length: LEN\r\n\r\n";

    fn chat(body: &str) -> Vec<u8> {
        (CHAT.replace("LEN", &body.len().to_string()) + body).into_bytes()
    }

    #[test]
    fn whole_and_in_pieces() {
        let bytes = chat(
            r#"{"messages":[{"role":"user","content":"a \"stream\": true, b"}],"max_tokens": 7,"stream":false,"user":"u"}"#,
        );
        let request = parse(&bytes).expect("whole");
        assert_eq!((request.target, request.key, request.stream), (Target::Chat, &b"abc"[..], false));
        assert_eq!((request.max_tokens, request.prompt_words, request.size), (Some(7), 4, bytes.len()));
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Err(NoRequest::Incomplete), "{cut}");
        }
    }

    #[test]
    fn stream_options() {
        let bytes = chat(r#"{"stream": true, "stream_options": {"include_usage": true}, "max_completion_tokens":3}"#);
        let request = parse(&bytes).expect("whole");
        assert!(request.stream && request.usage);
        assert_eq!(request.max_tokens, Some(3));
    }

    #[test]
    fn a_chunked_request_is_refused() {
        let bytes = b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(parse(bytes), Err(NoRequest::Bad));
    }
}
