//! The bytes of an answer: events of a stream, or one JSON document.

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::error::ApiError;
use super::generation::{Api, Generation, Usage};
use super::text::Text;

/// Writes the events of one answer.
#[derive(Debug)]
pub(super) struct Writer {
    generation: Generation,
    text: Text,
    /// Everything of an event before its choice.
    prefix: String,
    id: String,
    created: u64,
}

impl Writer {
    /// For request number `number`, answered at `created` (seconds since the epoch).
    pub(super) fn new(generation: Generation, seed: u64, number: u64, created: u64) -> Self {
        let (id, object) = match generation.api {
            Api::Chat => (format!("chatcmpl-sim-{number}"), "chat.completion.chunk"),
            Api::Completions => (format!("cmpl-sim-{number}"), "text_completion"),
        };
        let model = Value::from(generation.model.as_str());
        let prefix = format!(r#"data: {{"id":"{id}","object":"{object}","created":{created},"model":{model},"#);
        Self { text: Text::new(seed, number), prefix, id, created, generation }
    }

    /// The event that only names the role; `None` where the API has none.
    pub(super) fn role(&self) -> Option<Bytes> {
        let choice = r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}"#;
        (self.generation.api == Api::Chat).then(|| self.event(&format!("[{choice}]"), 0))
    }

    /// The event with the next `count` tokens, `sent` being the tokens sent with it included.
    pub(super) fn tokens(&mut self, count: u64, sent: u64, last: bool) -> Bytes {
        // The words need no escaping.
        let text = self.text.take(count);
        let finish = if last { format!("\"{}\"", self.generation.finish) } else { "null".to_owned() };
        let part = match self.generation.api {
            Api::Chat => format!(r#""delta":{{"content":"{text}"}}"#),
            Api::Completions => format!(r#""text":"{text}""#),
        };
        self.event(&format!(r#"[{{"index":0,{part},"logprobs":null,"finish_reason":{finish}}}]"#), sent)
    }

    /// The event that reports usage, if the request wants it.
    pub(super) fn usage(&self, sent: u64) -> Option<Bytes> {
        let usage = format!("{}\"choices\":[],\"usage\":{}}}\n\n", self.prefix, self.usage_object(sent));
        (self.generation.usage != Usage::Absent).then(|| usage.into())
    }

    /// The end marker.
    pub(super) fn done() -> Bytes {
        Bytes::from_static(b"data: [DONE]\n\n")
    }

    /// An error as an event.
    pub(super) fn error(error: &ApiError) -> Bytes {
        format!("data: {}\n\n", error.body()).into()
    }

    /// A comment, which every client has to skip.
    pub(super) fn comment() -> Bytes {
        Bytes::from_static(b": keep-alive\n\n")
    }

    /// The whole answer as one document.
    pub(super) fn document(&mut self) -> Bytes {
        let generation = &self.generation;
        let text = self.text.take(generation.output);
        let (object, key, part) = match generation.api {
            Api::Chat => ("chat.completion", "message", json!({"role": "assistant", "content": text})),
            Api::Completions => ("text_completion", "text", Value::from(text)),
        };
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": generation.model,
            "choices": [{"index": 0, key: part, "logprobs": null, "finish_reason": generation.finish}],
            "usage": self.usage_object(generation.output),
        })
        .to_string()
        .into()
    }

    fn usage_object(&self, sent: u64) -> Value {
        let prompt = self.generation.prompt;
        json!({"prompt_tokens": prompt, "total_tokens": prompt + sent, "completion_tokens": sent})
    }

    fn event(&self, choices: &str, sent: u64) -> Bytes {
        let usage = match self.generation.usage {
            Usage::Running => format!(",\"usage\":{}", self.usage_object(sent)),
            Usage::Absent | Usage::AtEnd => String::new(),
        };
        format!("{}\"choices\":{choices}{usage}}}\n\n", self.prefix).into()
    }
}
