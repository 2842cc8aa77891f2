//! What a plain scalar says: the core schema of YAML 1.2 (§10.3.2), which knows no `yes`, no `0777` and no dates.

use serde_json::{Number, Value};

/// The value of a plain scalar by the core schema; `None` for numbers that JSON cannot hold as they are written.
pub(super) fn resolve(text: &str) -> Option<Value> {
    if is_null(text) {
        return Some(Value::Null);
    }
    if let Some(boolean) = boolean(text) {
        return Some(Value::Bool(boolean));
    }
    if !looks_like_number(text) {
        return Some(Value::String(text.to_owned()));
    }
    number(text).filter(|_| is_exact(text)).map(Value::Number)
}

/// `true` for a number that is not changed by being read and sent: a whole one that fits 64 bits, or one whose digits the
/// nearest double is written with as well. Written as JSON is, for where two shortest forms of a double are equally near,
/// writers differ.
fn is_exact(text: &str) -> bool {
    let digits = |number: &str| {
        let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
        mantissa.chars().filter(char::is_ascii_digit).collect::<String>().trim_matches('0').to_owned()
    };
    let sent = || Number::from_f64(text.parse().ok()?).map(|number| number.to_string());
    let same_digits = || sent().is_some_and(|sent| digits(text) == digits(&sent));
    integer(text).is_some() || text.contains(['.', 'e', 'E']) && same_digits()
}

/// `null`, `~` or nothing.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// `true` or `false`.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// `true` for whatever the core schema reads as a number, `.inf` and `.nan` included.
pub(super) fn looks_like_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0'..=b'7'));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// A whole number.
pub(super) fn integer(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return unsigned_only(digits).then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return unsigned_only(digits).then(|| u64::from_str_radix(digits, 8).ok()).flatten().map(Number::from);
    }
    text.parse::<u64>().map(Number::from).ok().or_else(|| text.parse::<i64>().map(Number::from).ok())
}

/// A number, kept whole where it is written whole; `None` where it is none or is not finite.
pub(super) fn number(text: &str) -> Option<Number> {
    if !looks_like_number(text) {
        return None;
    }
    integer(text).or_else(|| Number::from_f64(text.parse().ok()?))
}

fn unsigned_only(digits: &str) -> bool {
    !digits.starts_with(['+', '-'])
}
