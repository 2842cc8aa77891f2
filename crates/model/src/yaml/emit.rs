//! A JSON value as YAML that reads back as the same value.

use std::fmt::Write as _;

use serde_json::Value;

use super::scalar;

/// A JSON value as block-style YAML; lists of scalars stay on one line. Ends with a line break.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block(&mut out, value, 0),
        Value::Array(items) if !is_inline(items) => block(&mut out, value, 0),
        _ => {
            inline(&mut out, value);
            out.push('\n');
        }
    }
    out
}

/// Writes a non-empty map or list of its own lines, each indented by `indent` spaces.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                pad(out, indent);
                scalar_text(out, key, true);
                out.push(':');
                entry(out, value, indent + 2);
            }
        }
        Value::Array(items) => {
            for item in items {
                pad(out, indent);
                out.push('-');
                match item {
                    Value::Object(map) if !map.is_empty() => {
                        // The first key follows the dash; the rest line up with it.
                        let mut nested = String::new();
                        block(&mut nested, item, indent + 2);
                        out.push(' ');
                        out.push_str(&nested[indent + 2..]);
                    }
                    _ => entry(out, item, indent + 2),
                }
            }
        }
        _ => inline(out, value),
    }
}

/// Writes what follows `key:` or `-`: on the same line where it is short, else as a block below.
fn entry(out: &mut String, value: &Value, indent: usize) {
    let below = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !is_inline(items),
        _ => false,
    };
    if below {
        out.push('\n');
        block(out, value, indent);
    } else {
        out.push(' ');
        inline(out, value);
        out.push('\n');
    }
}

fn is_inline(items: &[Value]) -> bool {
    items.iter().all(|item| match item {
        Value::Array(inner) => inner.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    })
}

fn inline(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(out, "{number}"); // writing to a `String` cannot fail
        }
        Value::String(text) => scalar_text(out, text, false),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                match item {
                    // Inside brackets more characters have a meaning: quote whatever is not a plain word.
                    Value::String(text) if !is_word(text) => quoted(out, text),
                    _ => inline(out, item),
                }
            }
            out.push(']');
        }
        Value::Object(_) => out.push_str("{}"),
    }
}

/// Text as a plain scalar where no reader can take it for something else, else in double quotes.
fn scalar_text(out: &mut String, text: &str, is_key: bool) {
    let plain = if is_key { is_word(text) } else { is_plain(text) };
    if plain { out.push_str(text) } else { quoted(out, text) }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !means_something_else(text)
}

fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '$'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:%+${}~@=".contains(c))
        && !text.ends_with(':')
        && !text.starts_with("...")
        && !means_something_else(text)
}

/// Also what only older readers (YAML 1.1) take for a truth value or a number: dates, `yes`, `1:30`, `012`.
fn means_something_else(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let numeric = text.bytes().all(|b| b.is_ascii_digit() || b"+-.:_eExXoO".contains(&b));
    scalar::is_null(text)
        || scalar::boolean(text).is_some()
        || scalar::looks_like_number(text)
        || matches!(lower.as_str(), "yes" | "no" | "on" | "off" | "y" | "n" | "null" | "true" | "false")
        || (numeric && text.bytes().any(|b| b.is_ascii_digit()))
}

/// In double quotes, with JSON's escapes, which YAML shares; what is not printable is escaped too.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c)); // writing to a `String` cannot fail
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
