//! Reads a chunk that differs from an earlier one in its text alone, without parsing it as JSON.
//!
//! Servers build the chunks of a stream from one form: all bytes but those of the token repeat. Once a chunk with a
//! single string of text has been parsed, a later chunk with the same bytes before and behind that string is the same
//! JSON with another string in it, so it says the same in all but the text. Whatever differs anywhere else, or needs
//! any thought, goes to the parser.

use super::openai::{Payload, Texts};

/// Longest form held, in bytes without the text: far beyond any chunk of a stream, far below a unary body.
const LONGEST: usize = 2048;

/// The bytes around the text of an earlier chunk.
#[derive(Debug, Default)]
pub(crate) struct Template {
    /// What stands before the text, its opening quote included, and what stands behind, its closing quote included.
    around: Vec<u8>,
    /// Where the second part begins; 0 if nothing has been learned.
    split: usize,
    /// The text is of the reasoning channel.
    reasoning: bool,
}

impl Template {
    /// Looks at a chunk that was just parsed, `texts` as the parser left it, and keeps its form if nothing but its one
    /// string of text was of interest.
    pub(crate) fn learn(&mut self, json: &[u8], payload: &Payload, texts: &Texts) {
        let channel = match (payload.reasoning, payload.answer) {
            (true, false) => &texts.reasoning,
            (false, true) => &texts.answer,
            _ => return,
        };
        let others = texts.reasoning.strings + texts.answer.strings - channel.strings;
        if channel.strings != 1 || others != 0 || !says_only_text(payload) {
            return;
        }
        let Some(place) = channel.verbatim.as_ref().and_then(|verbatim| verbatim.within(json)) else { return };
        let (before, behind) = (&json[..place.start], &json[place.end..]);
        if before.last() != Some(&b'"') || behind.first() != Some(&b'"') || before.len() + behind.len() > LONGEST {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(before);
        self.around.extend_from_slice(behind);
        self.split = before.len();
        self.reasoning = payload.reasoning;
    }

    /// Reads a chunk of the learned form: what [`super::openai::read`] would say of it, and the same text pushed.
    pub(crate) fn read(&self, json: &[u8], texts: &mut Texts) -> Option<Payload> {
        if self.split == 0 {
            return None;
        }
        let (before, behind) = self.around.split_at(self.split);
        let text = json.strip_prefix(before)?.strip_suffix(behind)?;
        // A JSON string without an escape; a loop without an early exit is one that vectorises.
        let is_odd = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        if text.is_empty() || text.iter().fold(false, |odd, byte| odd | is_odd(*byte)) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let channel = if self.reasoning { &mut texts.reasoning } else { &mut texts.answer };
        channel.text.push_str(text);
        Some(Payload {
            reasoning: self.reasoning,
            answer: !self.reasoning,
            choices: 1,
            is_known: true,
            ..Payload::default()
        })
    }
}

/// All facts but the text are those of the commonest chunk: one choice, the first, and nothing else said.
fn says_only_text(payload: &Payload) -> bool {
    let Payload {
        reasoning: _,
        answer: _,
        tool_call,
        choices,
        other_choice,
        finish,
        counted,
        usage,
        timing,
        is_error,
        is_known,
    } = payload;
    !tool_call
        && *choices == 1
        && !other_choice
        && finish.is_none()
        && counted.is_none()
        && *usage == super::Usage::default()
        && *timing == kneepoint_model::record::ServerTiming::default()
        && !is_error
        && *is_known
}

#[cfg(test)]
mod tests {
    use super::super::openai;
    use super::*;

    const CONTENT: &str = r#"{"id":"a","choices":[{"index":0,"delta":{"content":"one"}}]}"#;

    fn learned(json: &str) -> Template {
        let mut template = Template::default();
        let mut texts = Texts::default();
        let payload = openai::read(json.as_bytes(), &mut texts).expect("JSON");
        template.learn(json.as_bytes(), &payload, &texts);
        template
    }

    /// The text and channel that the template reads, checked against the parser; `None` if it leaves it to the parser.
    #[track_caller]
    fn read(template: &Template, json: &[u8]) -> Option<(bool, String)> {
        let mut texts = Texts::default();
        let payload = template.read(json, &mut texts)?;
        let mut expect = Texts::default();
        let parsed = openai::read(json, &mut expect).expect("what a template takes is JSON");
        assert_eq!(format!("{payload:?}"), format!("{parsed:?}"));
        assert_eq!((&texts.reasoning.text, &texts.answer.text), (&expect.reasoning.text, &expect.answer.text));
        Some((payload.reasoning, texts.reasoning.text + &texts.answer.text))
    }

    #[test]
    fn a_chunk_with_another_text_alone_is_read() {
        let template = learned(CONTENT);
        for text in ["two", "好", "'{}[]:,", "\u{7f}\u{2028}"] {
            assert_eq!(read(&template, CONTENT.replace("one", text).as_bytes()), Some((false, text.to_owned())));
        }
        let reasoning = CONTENT.replace("content", "reasoning_content");
        assert_eq!(read(&learned(&reasoning), reasoning.as_bytes()), Some((true, "one".to_owned())));
        let completion = r#"{"choices":[{"index":0,"text":"one","finish_reason":null}]}"#;
        assert_eq!(read(&learned(completion), completion.as_bytes()), Some((false, "one".to_owned())));
    }

    #[test]
    fn any_other_chunk_is_left_to_the_parser() {
        let template = learned(CONTENT);
        let with = |text: &[u8]| {
            let (before, behind) = CONTENT.split_once("one").expect("in it");
            [before.as_bytes(), text, behind.as_bytes()].concat()
        };
        for text in [&b""[..], b"\\n", b"a\"b", b"a\\", b"a\nb", b"\x00", b"\xff", b"\xe5\xa5"] {
            assert_eq!(read(&template, &with(text)), None, "{text:?}");
        }
        for json in [
            CONTENT.replace("\"a\"", "\"b\""),
            CONTENT.replace("}}]}", "},\"finish_reason\":\"stop\"}]}"),
            CONTENT.replace("content", "reasoning"),
            format!(" {CONTENT}"),
            format!("{CONTENT} "),
            CONTENT[..CONTENT.len() - 1].to_owned(),
            // Where both parts match only by sharing a byte.
            CONTENT.replace("\"one\"", "\""),
            String::new(),
        ] {
            assert_eq!(read(&template, json.as_bytes()), None, "{json}");
        }
        assert_eq!(read(&Template::default(), CONTENT.as_bytes()), None);
    }

    #[test]
    fn nothing_is_learned_from_a_chunk_that_says_more() {
        for json in [
            r#"{"choices":[{"delta":{"content":""}}]}"#,
            r#"{"choices":[{"delta":{"content":"\u006fne"},"x":"one"}]}"#,
            r#"{"choices":[{"delta":{"content":["o","ne"]},"x":"one"}]}"#,
            r#"{"choices":[{"delta":{"content":"a","refusal":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"a"}}]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"token_ids":[1]}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"timings":{"predicted_ms":1}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"error":"b"}"#,
        ] {
            assert_eq!(learned(json).split, 0, "{json}");
        }
        let long = CONTENT.replace("\"a\"", &format!("\"{}\"", "a".repeat(LONGEST)));
        assert_eq!(learned(&long).split, 0, "too long to hold");
    }
}
