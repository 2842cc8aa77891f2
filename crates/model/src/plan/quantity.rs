//! Quantities as people write them: durations with their unit, shares, ranges of levels.

use std::fmt::Display;

use rust_decimal::Decimal;

use super::{Currency, Spend};
use crate::units::{Nanos, Share};

/// Why a text is no quantity of the kind wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotAQuantity {
    pub(super) expected: &'static str,
    pub(super) hint: Option<String>,
}

const DURATION: &str = "a duration with its unit, such as `500ms`, `2s`, `10m` or `1h30m`";
const SHARE: &str = "a share above 0, such as `99%` or `0.99`";
const SHARE_FROM_ZERO: &str = "a share, such as `20%` or `0.2`";
const RATE: &str = "requests per second, such as `2/s` or `0.5/s`";
const DECIMAL: &str = "a plain number, 0 or more, such as `2` or `0.50`";
const SPEND: &str = "an amount above 0 and its currency, such as `2.50 USD`";
const CURRENCY: &str = "a currency's code of three capital letters, such as `USD`, `EUR` or `CNY`";
/// So that a price times any count of tokens is a number that can be held.
const LARGEST_AMOUNT: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);
const POINT: &str = "the decimal point is `.`, and nothing stands between thousands";
const MOST_PLACES: usize = 12;
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Reads `500ms`, `1.5s`, `1h30m`. Exact: what is finer than a nanosecond is refused.
pub(super) fn duration(text: &str) -> Result<Nanos, NotAQuantity> {
    let refuse = |hint: Option<String>| NotAQuantity { expected: DURATION, hint };
    let mut rest = text.trim();
    if rest.is_empty() || rest.starts_with('-') {
        return Err(refuse(None));
    }
    let mut total: u64 = 0;
    let mut last_unit = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let Some(&(_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(refuse(unit_hint(number, unit)));
        };
        if size >= last_unit {
            return Err(refuse(Some("write the larger unit first, each unit once".to_owned())));
        }
        last_unit = size;
        let part = scaled(number, size).ok_or_else(|| refuse(None))?;
        total = total.checked_add(part).ok_or_else(|| refuse(Some("that is more than 584 years".to_owned())))?;
        rest = after.trim_start();
    }
    Ok(Nanos(total))
}

/// What to say of a number whose unit is missing or unknown.
fn unit_hint(number: &str, unit: &str) -> Option<String> {
    if number.is_empty() || number.parse::<f64>().is_err() {
        return None;
    }
    let meant = match unit.to_lowercase().as_str() {
        "" => return Some(format!("write `{number}s` for seconds, `{number}ms` for milliseconds")),
        "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "m",
        "hr" | "hrs" | "hour" | "hours" | "h" => "h",
        "msec" | "millis" | "milliseconds" | "ms" => "ms",
        "usec" | "micros" | "microseconds" => "us",
        _ => return Some("the units are `h`, `m`, `s`, `ms`, `us` and `ns`".to_owned()),
    };
    Some(format!("write `{number}{meant}`"))
}

/// `number × size`, exactly; `None` if `number` is none or the product is not whole.
fn scaled(number: &str, size: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let unit = u128::from(size);
    let mut sum = u128::from(whole.parse::<u64>().ok()?) * unit;
    if !fraction.is_empty() {
        let parts = fraction.parse::<u128>().ok()? * unit;
        let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        if !parts.is_multiple_of(scale) {
            return None;
        }
        sum += parts / scale;
    }
    u64::try_from(sum).ok()
}

/// Reads `99%` or `0.99`; `1` is all, and none is no share.
pub(super) fn share(text: &str) -> Result<Share, NotAQuantity> {
    let refuse = |hint: Option<String>| NotAQuantity { expected: SHARE, hint };
    share_or_none(text).map_err(refuse).and_then(|share| if share.get() > 0.0 { Ok(share) } else { Err(refuse(None)) })
}

/// Reads a share that may be none at all, as a limit on what should not be: `0%`.
pub(super) fn share_from_zero(text: &str) -> Result<Share, NotAQuantity> {
    share_or_none(text).map_err(|hint| NotAQuantity { expected: SHARE_FROM_ZERO, hint })
}

/// The share, or a hint.
fn share_or_none(text: &str) -> Result<Share, Option<String>> {
    let text = text.trim();
    let plain = |number: &str| {
        let number = number.trim_end();
        let form = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        form.then(|| number.parse::<f64>().ok()).flatten()
    };
    let share = match text.strip_suffix('%') {
        // Dividing the decimal text, not its binary value: `99.9%` and `0.999` are the same share.
        Some(number) => plain(number).map(|percent| percent / 100.0),
        None => plain(text),
    };
    match share {
        Some(share) if share > 1.0 && !text.ends_with('%') => Err((share <= 100.0).then(|| format!("write `{text}%`"))),
        Some(share) => Share::new(share).ok_or(None),
        None => Err(None),
    }
}

/// Reads `2/s` or `2` as requests per second.
pub(super) fn rate(text: &str) -> Result<f64, NotAQuantity> {
    let refuse = |hint: Option<String>| NotAQuantity { expected: RATE, hint };
    let text = text.trim();
    let (number, unit) = match text.find(|c: char| !(c.is_ascii_digit() || c == '.')) {
        Some(at) => (&text[..at], text[at..].trim()),
        None => (text, ""),
    };
    let rate = number.parse::<f64>().ok().filter(|rate| rate.is_finite());
    match (rate, unit) {
        (Some(rate), "" | "/s") => Ok(rate),
        (Some(rate), "rps" | "qps" | "/sec" | "/second" | "per second" | "req/s") => {
            Err(refuse(Some(format!("write `{rate}/s`"))))
        }
        (Some(_), "/m" | "/min" | "/minute" | "/h" | "/hour") => {
            Err(refuse(Some("rates are counted by the second".to_owned())))
        }
        _ => Err(refuse(None)),
    }
}

/// Reads `2`, `0.50`: a plain decimal number, exactly as written, of at most a billion and twelve decimal places.
pub(super) fn decimal(text: &str) -> Result<Decimal, NotAQuantity> {
    let refuse = |hint: Option<&str>| NotAQuantity { expected: DECIMAL, hint: hint.map(str::to_owned) };
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if text.contains(',') {
        return Err(refuse(Some(POINT)));
    }
    if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
        return Err(refuse(None));
    }
    if fraction.len() > MOST_PLACES {
        return Err(refuse(Some("at most 12 decimal places")));
    }
    match Decimal::from_str_exact(text) {
        Ok(number) if number <= LARGEST_AMOUNT => Ok(number),
        _ => Err(refuse(Some("at most a billion"))),
    }
}

/// Reads `2.50 USD`.
pub(super) fn spend(text: &str) -> Result<Spend, NotAQuantity> {
    let refuse = |hint: Option<String>| NotAQuantity { expected: SPEND, hint };
    let text = text.trim();
    let number = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (amount, code) = (text[..number].trim(), text[number..].trim());
    if text.contains(',') {
        return Err(refuse(Some(POINT.to_owned())));
    }
    if amount.is_empty() {
        // The currency first, by code or sign: the amount is known, and what `$` stands for is not.
        let first = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (code, amount) = (text[..first].trim().to_uppercase(), text[first..].trim());
        let code = Currency::new(&code).map_or_else(|| "USD".to_owned(), |currency| currency.to_string());
        return Err(refuse(decimal(amount).is_ok().then(|| format!("write `{amount} {code}`"))));
    }
    let amount = decimal(amount).map_err(|refused| refuse(refused.hint))?;
    match Currency::new(code) {
        Some(currency) if !amount.is_zero() => Ok(Spend { amount, currency }),
        Some(_) => Err(refuse(None)),
        None if code.is_empty() => Err(refuse(Some(format!("name the currency: `{amount} USD`")))),
        None => Err(refuse(currency_hint(code).map(|meant| format!("write `{amount} {meant}`")))),
    }
}

/// Reads `USD`.
pub(super) fn currency(text: &str) -> Result<Currency, NotAQuantity> {
    let hint = || currency_hint(text).map(|meant| format!("write `{meant}`"));
    Currency::new(text.trim()).ok_or_else(|| NotAQuantity { expected: CURRENCY, hint: hint() })
}

/// The currency that was probably meant.
fn currency_hint(text: &str) -> Option<Currency> {
    let text = text.trim();
    let by_sign = match text {
        "$" => "USD",
        "€" => "EUR",
        "£" => "GBP",
        _ => "",
    };
    Currency::new(by_sign).or_else(|| Currency::new(&text.to_uppercase()))
}

/// The share as text that [`share`] reads as the same share.
pub(super) fn share_text(value: Share) -> String {
    let percent = value.to_string();
    if share_or_none(&percent) == Ok(value) { percent } else { value.get().to_string() }
}

/// The levels of `start..end`: every whole number where both ends are whole and at most 16 apart; else doubling from
/// the start, ending in the end. A text without `..` is one level. Ends are included.
pub(super) fn range(text: &str) -> Result<Vec<f64>, NotAQuantity> {
    /// Ranges at most this long are walked one by one.
    const WALKED: f64 = 16.0;

    let refuse = |hint: Option<String>| NotAQuantity {
        expected: "levels above 0, such as `[1, 2, 4]` or the range `1..8`",
        hint,
    };
    let number = |text: &str| {
        let text = text.trim();
        let form = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+'));
        form.then(|| text.parse::<f64>().ok()).flatten().filter(|n| n.is_finite()).ok_or_else(|| refuse(None))
    };
    let Some((start, end)) = text.split_once("..") else {
        if text.contains(',') {
            return Err(refuse(Some(format!("write a list: `[{}]`", text.trim()))));
        }
        return Ok(vec![number(text)?]);
    };
    if let Some(end) = end.strip_prefix('=') {
        return Err(refuse(Some(format!("the end is always included: write `{start}..{end}`"))));
    }
    let (start, end) = (number(start)?, number(end)?);
    if start <= 0.0 {
        return Err(refuse(None));
    }
    if end < start {
        return Err(refuse(Some(format!("the smaller end comes first: `{}`", spelled(end, start)))));
    }
    let whole = start.fract().abs() < f64::EPSILON && end.fract().abs() < f64::EPSILON;
    let mut levels = Vec::new();
    let mut level = start;
    while level < end {
        levels.push(level);
        level = if whole && end - start <= WALKED { level + 1.0 } else { level * 2.0 };
    }
    levels.push(end);
    Ok(levels)
}

fn spelled(start: impl Display, end: impl Display) -> String {
    format!("{start}..{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, ns) in [
            ("500ms", 500_000_000),
            ("2s", 2_000_000_000),
            ("1.5s", 1_500_000_000),
            ("0.001us", 1),
            ("10m", 600_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1 h 30 m", 5_400_000_000_000),
            ("1m0.5s", 60_500_000_000),
            ("3µs", 3_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn durations_without_unit_or_sense_are_refused() {
        for text in
            ["", "10", "s", "-1s", "1.s", ".5s", "0.1ns", "1m1m", "1s1m", "1e3s", "1d", "600000h ", "99999999999h"]
        {
            let result = duration(text);
            if text.trim() == "600000h" {
                assert!(result.is_ok(), "{text}");
            } else {
                assert!(result.is_err(), "{text}");
            }
        }
        assert_eq!(
            duration("60").map_err(|e| e.hint),
            Err(Some("write `60s` for seconds, `60ms` for milliseconds".to_owned()))
        );
        assert_eq!(duration("5min").map_err(|e| e.hint), Err(Some("write `5m`".to_owned())));
    }

    #[test]
    fn shares_in_percent_or_as_fraction() {
        for (text, value) in [("99%", 0.99), ("99.9%", 0.999), ("0.95", 0.95), ("1", 1.0), ("100%", 1.0), ("5 %", 0.05)]
        {
            let got = share(text).map(Share::get).map_err(|e| e.expected);
            assert!(got.is_ok_and(|got| (got - value).abs() < 1e-12), "{text}: {got:?}");
        }
        for text in ["0", "0%", "-1%", "101%", "nan", "inf", "%", "", "half"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert_eq!(share("99").map_err(|e| e.hint), Err(Some("write `99%`".to_owned())));
    }

    #[test]
    fn a_share_of_none_is_one_only_where_it_may_be() {
        assert_eq!(share_from_zero("0%").map(Share::get), Ok(0.0));
        assert_eq!(share_from_zero("0").map(Share::get), Ok(0.0));
        for text in ["-1%", "101%", "nan", "%", ""] {
            assert!(share_from_zero(text).is_err(), "{text}");
        }
        assert_eq!(share_from_zero("20").map_err(|e| e.hint), Err(Some("write `20%`".to_owned())));
    }

    #[test]
    fn rates_are_by_the_second() {
        for (text, value) in [("2/s", 2.0), ("2", 2.0), (" 0.5 /s ", 0.5), ("1000/s", 1000.0)] {
            assert_eq!(rate(text), Ok(value), "{text}");
        }
        assert_eq!(rate("20rps").map_err(|e| e.hint), Err(Some("write `20/s`".to_owned())));
        assert_eq!(rate("60/min").map_err(|e| e.hint), Err(Some("rates are counted by the second".to_owned())));
        for text in ["", "/s", "-1/s", "1..2", "1e3/s", "inf", "2/s/s", "2 s", "."] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn decimals_are_what_is_written() {
        for text in ["0", "2", "0.1", "0.10", "1.20", "0.000000000001", "1000000000", "007.5"] {
            let shown = decimal(text).map(|number| number.to_string());
            assert_eq!(shown.as_deref(), Ok(text.trim_start_matches("00")), "{text}");
        }
        for text in ["", ".5", "1.", "-1", "+1", "1e3", "1_000", "1,5", "0x1", "nan", "1000000000.1", "0.0000000000001"]
        {
            assert!(decimal(text).is_err(), "{text}");
        }
        // A tenth three times is what no sum of binary fractions is.
        let tenth = decimal("0.1").unwrap_or_default();
        assert_eq!(Ok(tenth + tenth + tenth), decimal("0.3"));
    }

    #[test]
    fn money_has_a_currency() {
        let spend_text = |text: &str| spend(text).map(|spend| spend.to_string()).map_err(|e| e.hint);
        for (text, same) in [("2.50 USD", "2.50 USD"), ("2.5USD", "2.5 USD"), (" 10  CNY ", "10 CNY")] {
            assert_eq!(spend_text(text).as_deref(), Ok(same), "{text}");
        }
        let hint = |text: &str| Err(Some(text.to_owned()));
        assert_eq!(spend_text("2.50"), hint("name the currency: `2.50 USD`"));
        assert_eq!(spend_text("2.50 usd"), hint("write `2.50 USD`"));
        assert_eq!(spend_text("$2.50"), hint("write `2.50 USD`"));
        assert_eq!(spend_text("EUR 7"), hint("write `7 EUR`"));
        assert_eq!(spend_text("7€"), hint("write `7 EUR`"));
        for text in ["", "0 USD", "0.00 USD", "-1 USD", "1 DOLLARS", "USD", "1e3 USD", "1 USD EUR", "1.2.3 USD"] {
            assert!(spend(text).is_err(), "{text}");
        }
        assert_eq!(currency("eur").map_err(|e| e.hint), Err(Some("write `EUR`".to_owned())));
    }

    #[test]
    fn ranges_walk_or_double() {
        assert_eq!(range("1..4"), Ok(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(range("1..32"), Ok(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0]));
        assert_eq!(range("1..100").map(|levels| levels.len()), Ok(8));
        assert_eq!(range("0.5..4"), Ok(vec![0.5, 1.0, 2.0, 4.0]));
        assert_eq!(range("3..3"), Ok(vec![3.0]));
        assert_eq!(range("2.5"), Ok(vec![2.5]));
        for text in ["8..1", "0..4", "-1..4", "1..=8", "a..b", "1..", "..", "1,2", "1...4", "inf", "1..inf"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
