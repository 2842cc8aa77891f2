//! The bytes of an answer, in the shape that OpenAI-compatible servers give them.
//!
//! Every event of a dialect with the same number of tokens has the same size, so that a client can count without looking.

use std::io::Write as _;

/// Words of one length, each one token: the text of the answers.
const WORDS: [&str; 16] = [
    " time", " year", " work", " part", " hand", " life", " case", " week", " fact", " room", " line", " city",
    " name", " team", " idea", " body",
];

/// Which of the two shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// What tells one answer from the next.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Chat or completions.
    pub shape: Shape,
    /// Becomes the `id`.
    pub number: u64,
    /// Seconds since 1970.
    pub created: u64,
}

/// The head of a stream.
pub const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/// Appends the event with tokens `first..first + n`, as one HTTP chunk.
pub fn push_event(out: &mut Vec<u8>, identity: Identity, first: u64, n: u64) {
    push_chunk(out, |out| {
        push_start(out, identity);
        out.extend_from_slice(match identity.shape {
            Shape::Chat => br#""choices":[{"index":0,"delta":{"content":""#,
            Shape::Completions => br#""choices":[{"index":0,"text":""#,
        });
        push_words(out, first, n);
        out.extend_from_slice(match identity.shape {
            Shape::Chat => br#""},"logprobs":null,"finish_reason":null}]}"#,
            Shape::Completions => br#"","logprobs":null,"finish_reason":null}]}"#,
        });
    });
}

/// A whole stream that is sent at once. Its text is made once; from one answer to the next only the `id`s are written anew,
/// so that a server that is to be as fast as possible does not spend its time on text.
#[derive(Debug)]
pub struct Stencil {
    made_for: Option<(Shape, u64, u64, u64)>,
    bytes: Vec<u8>,
    events_end: usize,
    ids: Vec<usize>,
}

impl Stencil {
    /// Nothing in it yet.
    pub const fn empty() -> Self {
        Self { made_for: None, bytes: Vec::new(), events_end: 0, ids: Vec::new() }
    }

    /// The bytes of an answer of `tokens`, `per_event` in each event, and the number of its events.
    pub fn answer(
        &mut self,
        identity: Identity,
        tokens: u64,
        per_event: u64,
        usage: Option<(u64, u64)>,
    ) -> (&[u8], u64) {
        let wanted = Some((identity.shape, tokens, per_event, identity.created));
        if self.made_for == wanted {
            let id = id_of(identity.number);
            for at in &self.ids {
                self.bytes[*at..*at + id.len()].copy_from_slice(&id);
            }
        } else {
            self.make(identity, tokens, per_event);
            self.made_for = wanted;
        }
        self.bytes.truncate(self.events_end);
        push_end(&mut self.bytes, identity, usage);
        (&self.bytes, self.ids.len() as u64)
    }

    fn make(&mut self, identity: Identity, tokens: u64, per_event: u64) {
        self.ids.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(STREAM_HEAD);
        let mut next = 0;
        while next < tokens {
            let n = per_event.min(tokens - next);
            self.ids.push(self.bytes.len() + CHUNK_HEAD.len() + before_id(identity.shape).len());
            push_event(&mut self.bytes, identity, next, n);
            next += n;
        }
        self.events_end = self.bytes.len();
    }
}

/// Appends what follows the last token: the finish reason, the usage if asked for, `[DONE]` and the end of the body.
pub fn push_end(out: &mut Vec<u8>, identity: Identity, usage: Option<(u64, u64)>) {
    push_chunk(out, |out| {
        push_start(out, identity);
        out.extend_from_slice(match identity.shape {
            Shape::Chat => br#""choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}"#,
            Shape::Completions => br#""choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}]}"#,
        });
    });
    if let Some(usage) = usage {
        push_chunk(out, |out| {
            push_start(out, identity);
            out.extend_from_slice(br#""choices":[],"#);
            push_usage(out, usage);
            out.push(b'}');
        });
    }
    out.extend_from_slice(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
}

/// Appends a whole answer that is no stream, with its head.
pub fn push_whole(out: &mut Vec<u8>, identity: Identity, tokens: u64, prompt: u64) {
    let mut body = Vec::with_capacity(512);
    let (id, object) = match identity.shape {
        Shape::Chat => ("chatcmpl", "chat.completion"),
        Shape::Completions => ("cmpl", "text_completion"),
    };
    let Identity { number, created, .. } = identity;
    let _ = write!(
        body,
        r#"{{"id":"{id}-{number:016x}","object":"{object}","created":{created},"model":"reference","choices":[{{"index":0,"#
    );
    body.extend_from_slice(match identity.shape {
        Shape::Chat => br#""message":{"role":"assistant","content":""#,
        Shape::Completions => br#""text":""#,
    });
    push_words(&mut body, 0, tokens);
    body.extend_from_slice(match identity.shape {
        Shape::Chat => br#""},"logprobs":null,"finish_reason":"length"}],"#,
        Shape::Completions => br#"","logprobs":null,"finish_reason":"length"}],"#,
    });
    push_usage(&mut body, (prompt, tokens));
    body.push(b'}');
    push_json(out, "200 OK", &body);
}

/// Appends an answer of JSON with its head.
pub fn push_json(out: &mut Vec<u8>, status: &str, body: &[u8]) {
    let length = body.len();
    let _ = write!(out, "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    out.extend_from_slice(body);
}

/// What stands before an event's JSON; the zeros become the chunk's size.
const CHUNK_HEAD: &[u8] = b"0000\r\ndata: ";

fn push_chunk(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let size_at = out.len();
    out.extend_from_slice(CHUNK_HEAD);
    let start = size_at + 6;
    body(out);
    out.extend_from_slice(b"\n\n");
    let size = out.len() - start;
    for (digit, place) in out[size_at..size_at + 4].iter_mut().zip([12, 8, 4, 0]) {
        *digit = b"0123456789abcdef"[(size >> place) & 15];
    }
    out.extend_from_slice(b"\r\n");
}

const fn before_id(shape: Shape) -> &'static [u8] {
    match shape {
        Shape::Chat => br#"{"id":"chatcmpl-"#,
        Shape::Completions => br#"{"id":"cmpl-"#,
    }
}

fn id_of(number: u64) -> [u8; 16] {
    let mut id = [0; 16];
    for (digit, place) in id.iter_mut().zip((0..16).rev()) {
        *digit = b"0123456789abcdef"[usize::try_from((number >> (place * 4)) & 15).unwrap_or(0)];
    }
    id
}

/// Written by hand: the formatting machinery would be most of the cost of an event.
fn push_start(out: &mut Vec<u8>, identity: Identity) {
    out.extend_from_slice(before_id(identity.shape));
    out.extend_from_slice(&id_of(identity.number));
    out.extend_from_slice(match identity.shape {
        Shape::Chat => br#"","object":"chat.completion.chunk","created":"#,
        Shape::Completions => br#"","object":"text_completion","created":"#,
    });
    let mut digits = [b'0'; 10];
    let mut rest = identity.created;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    out.extend_from_slice(&digits);
    out.extend_from_slice(br#","model":"reference","system_fingerprint":null,"#);
}

fn push_words(out: &mut Vec<u8>, first: u64, n: u64) {
    for i in first..first + n {
        out.extend_from_slice(WORDS[usize::try_from(i % 16).unwrap_or(0)].as_bytes());
    }
}

fn push_usage(out: &mut Vec<u8>, (prompt, completion): (u64, u64)) {
    let total = prompt + completion;
    let _ =
        write!(out, r#""usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}}}"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Identity = Identity { shape: Shape::Chat, number: 0xabc, created: 1_700_000_000 };

    #[test]
    fn an_event_is_one_chunk_of_its_stated_size() {
        let mut out = Vec::new();
        push_event(&mut out, ID, 0, 1);
        let text = String::from_utf8(out).expect("ASCII");
        assert_eq!(
            text,
            "00e7\r\ndata: {\"id\":\"chatcmpl-0000000000000abc\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"reference\",\"system_fingerprint\":null,\"choices\":[{\"index\":0,\"delta\":{\"content\":\" time\"},\
             \"logprobs\":null,\"finish_reason\":null}]}\n\n\r\n"
        );
        assert_eq!(text.len(), 0xe7 + 8);
    }

    #[test]
    fn a_stencil_gives_what_was_written_event_by_event() {
        let mut stencil = Stencil::empty();
        let answers = [(Shape::Chat, 5, 2, 10), (Shape::Chat, 5, 2, 10), (Shape::Completions, 5, 2, 10)];
        let more = [(Shape::Completions, 4, 2, 10), (Shape::Completions, 4, 1, 10), (Shape::Completions, 4, 1, 11)];
        for (i, (shape, tokens, per_event, created)) in (0..).zip(answers.into_iter().chain(more)) {
            let identity = Identity { shape, number: 0xabc + i, created };
            let mut expected = STREAM_HEAD.to_vec();
            let mut n_events = 0;
            for first in (0..tokens).step_by(usize::try_from(per_event).expect("small")) {
                push_event(&mut expected, identity, first, per_event.min(tokens - first));
                n_events += 1;
            }
            push_end(&mut expected, identity, Some((i, tokens)));
            let (bytes, n) = stencil.answer(identity, tokens, per_event, Some((i, tokens)));
            assert_eq!((String::from_utf8_lossy(bytes), n), (String::from_utf8_lossy(&expected), n_events));
        }
    }

    #[test]
    fn all_events_have_one_size() {
        for shape in [Shape::Chat, Shape::Completions] {
            let sizes = (0..100).map(|i| {
                let mut out = Vec::new();
                push_event(&mut out, Identity { shape, number: i * 7_919, created: 1_700_000_000 + i }, i, 1);
                out.len()
            });
            let mut sizes: Vec<_> = sizes.collect();
            sizes.dedup();
            assert_eq!(sizes.len(), 1);
        }
    }
}
