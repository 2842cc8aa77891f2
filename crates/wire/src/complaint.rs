//! What a server says when it fails: a message and a status, found in whatever it sent.
//!
//! Off the hot path: it reads a body or a payload that is already known to report an error, so a JSON tree is fine.

use kneepoint_model::Secret;
use serde_json::Value;

/// Longest detail kept, in characters.
pub(crate) const MAX_DETAIL: usize = 300;

/// Most of a payload that is searched for words, in bytes.
const MAX_SEARCHED: usize = 64 * 1024;

/// What a server said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its words, made fit to print; may be empty.
    pub(crate) message: String,
    /// The HTTP status it named inside the payload.
    pub(crate) status: Option<u16>,
}

/// Reads what `payload` (JSON, HTML or plain text) complains of. Secrets are masked in it before anything is taken out,
/// rewritten or cut.
pub(crate) fn complaint(payload: &[u8], secrets: &[Secret]) -> Complaint {
    let payload = payload.trim_ascii();
    let json = payload.strip_prefix(b"data:").map_or(payload, <[u8]>::trim_ascii);
    match serde_json::from_slice::<Value>(json) {
        Ok(mut value) => {
            mask_strings(&mut value, secrets);
            from_json(&value)
        }
        Err(_) => Complaint { message: printable(&without_tags(&masked_start(payload, secrets))), status: None },
    }
}

/// `text` without the secrets that a server may have echoed.
pub(crate) fn masked(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| secret.mask_in(&text))
}

/// The start of a payload as text, secrets masked, also one in which the start ends.
pub(crate) fn masked_start(payload: &[u8], secrets: &[Secret]) -> String {
    masked(&String::from_utf8_lossy(&payload[..payload.len().min(MAX_SEARCHED)]), secrets)
}

fn mask_strings(value: &mut Value, secrets: &[Secret]) {
    match value {
        Value::String(text) => *text = masked(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_strings(item, secrets)),
        Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                mask_strings(&mut value, secrets);
                map.insert(masked(&key, secrets), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn from_json(value: &Value) -> Complaint {
    let inner = match value.get("error").or_else(|| value.get("errors")) {
        Some(Value::Array(errors)) => errors.first(),
        Some(Value::Null | Value::Bool(_)) | None => None,
        inner => inner,
    };
    let places = [inner, Some(value), inner.and_then(|inner| inner.get("error"))];
    let places = || places.into_iter().flatten();
    let first_of = |names: &[&str]| {
        places().flat_map(|place| names.iter().filter_map(|name| place.get(name)).collect::<Vec<_>>()).find_map(words)
    };
    let message = inner
        .and_then(words)
        .or_else(|| first_of(&["message", "msg", "error_msg", "detail", "error_message", "title"]))
        .unwrap_or_else(|| if inner.is_some() || value.is_object() { value.to_string() } else { String::new() });
    let label = places()
        .flat_map(|place| ["type", "code"].map(|name| place.get(name).and_then(Value::as_str)))
        .flatten()
        .find(|label| *label != "error" && label.contains(|c: char| c.is_alphabetic()) && !message.contains(label));
    let status = places()
        .flat_map(|place| ["status", "status_code", "code", "http_code"].map(|name| place.get(name)))
        .flatten()
        .find_map(status_number)
        .or_else(|| places().filter_map(|p| p.get("code").or_else(|| p.get("type"))).find_map(throttled));
    let message = match label {
        Some(label) if !message.starts_with('{') => format!("{label}: {message}"),
        _ => message,
    };
    Complaint { message: printable(&message), status }
}

/// A value as words: a string as it is, the first of a list, an object of `FastAPI`'s validation errors by its message.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => items.first().and_then(|item| item.get("msg").or(Some(item))).and_then(words),
        _ => None,
    }
}

fn status_number(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (100..600).contains(&number).then_some(number)
}

/// Names by which providers say 429 without the number.
fn throttled(value: &Value) -> Option<u16> {
    let name = value.as_str()?.to_ascii_lowercase();
    let names = ["throttling", "rate_limit", "ratelimit", "too_many_requests", "toomanyrequests"];
    names.iter().any(|prefix| name.starts_with(prefix)).then_some(429)
}

/// Drops what stands between `<` and `>`, and scripts and styles with their contents.
fn without_tags(text: &str) -> String {
    if !text.contains('<') {
        return text.to_owned();
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        plain.push_str(&rest[..open]);
        plain.push(' ');
        let tag = &rest[open..];
        let hidden = ["<style", "<script"]
            .iter()
            .any(|name| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
        let close =
            if hidden { tag.find("</").and_then(|end| Some(end + tag[end..].find('>')?)) } else { tag.find('>') };
        rest = close.map_or("", |close| &tag[close + 1..]);
    }
    plain.push_str(rest);
    plain
}

/// Fit for one line of a report: no control characters, single spaces, at most [`MAX_DETAIL`] characters.
///
/// Known secrets are masked before. Against others (a key of the server's own, say) a cut never falls inside a run of the
/// characters that keys are made of: half a key would pass a later mask.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::new();
    let mut n = 0;
    for word in text.split(|c: char| c.is_whitespace() || is_hidden(c)).filter(|word| !word.is_empty()) {
        for c in (n > 0).then_some(' ').into_iter().chain(word.chars()) {
            if n == MAX_DETAIL - 1 {
                if is_of_a_key(c) {
                    out.truncate(out.trim_end_matches(is_of_a_key).len());
                }
                out.push('…');
                return out;
            }
            out.push(c);
            n += 1;
        }
    }
    out
}

/// Invisible and direction-changing characters, by which a server could forge what a report shows.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// RFC 6750 §2.1 (`b64token`), and what else is seen in keys.
fn is_of_a_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/=:*".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(payload: &str, message: &str, status: Option<u16>) {
        assert_eq!(complaint(payload.as_bytes(), &[]), Complaint { message: message.into(), status });
    }

    #[test]
    fn every_known_shape_gives_its_message() {
        check(r#"{"error":{"message":"no","type":"bad_request","code":400}}"#, "bad_request: no", Some(400));
        check(r#"{"error":"overloaded"}"#, "overloaded", None);
        check(r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#, "rate_limit_exceeded: m", Some(429));
        check(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded_error: Overloaded",
            None,
        );
        check(r#"{"code":"Throttling.RateQuota","message":"slow down"}"#, "Throttling.RateQuota: slow down", Some(429));
        check(
            r#"{"object":"error","message":"x","type":"BadRequestError","param":null,"code":400}"#,
            "BadRequestError: x",
            Some(400),
        );
        check(
            r#"{"error_code":17,"error_msg":"Open api daily request limit reached"}"#,
            "Open api daily request limit reached",
            None,
        );
        check(r#"{"detail":"Not Found"}"#, "Not Found", None);
        check(r#"{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}"#, "field required", None);
        check(r#"{"error":{"code":502}}"#, r#"{"error":{"code":502}}"#, Some(502));
        check(r#"{"error":{"error":{"message":"deep","code":503}}}"#, "deep", Some(503));
        check("data: {\"error\":{\"message\":\"in a stream\"}}\n\n", "in a stream", None);
        check("upstream connect error", "upstream connect error", None);
        check(
            "<html><head><style>p{}</style><title>502 Bad Gateway</title></head>\r\n<p>nginx</p>",
            "502 Bad Gateway nginx",
            None,
        );
        check("", "", None);
    }

    #[test]
    fn details_are_short_and_printable() {
        assert_eq!(printable("a\u{1b}[31m\r\n\tb\u{202e}c"), "a [31m b c");
        let long = printable(&"é".repeat(1000));
        assert_eq!(long.chars().count(), MAX_DETAIL);
        assert!(long.ends_with('…'));
        for before in 260..310 {
            let text = printable(&format!("{}sk-0123456789abcdef and more {}", "é".repeat(before), "é".repeat(90)));
            assert!(text.contains("sk-0123456789abcdef") || !text.contains("sk-"), "{text}");
        }
    }
}
