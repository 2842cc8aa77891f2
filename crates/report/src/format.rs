//! Numbers as people read them: sensible digits, the unit always said, widths for terminals.

use unicode_width::UnicodeWidthStr as _;

/// Shown where there is no value.
pub(crate) const NONE: &str = "–";

/// About three significant digits; thousands are set off.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    let text = if size == 0.0 {
        return "0".to_owned();
    } else if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else if size >= 0.9995 {
        format!("{value:.2}")
    } else if size >= 1e-4 {
        // Digits after the point so that three of them count.
        let places = (0..8).find(|&p| size * 10f64.powi(p) >= 99.95).unwrap_or(8);
        format!("{value:.*}", usize::try_from(places).unwrap_or(8))
    } else {
        format!("{value:.2e}")
    };
    group_thousands(&text)
}

/// A load level or a count that may be fractional, without needless zeros.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    group_thousands(if text.is_empty() { "0" } else { text })
}

/// A limit: as it was set if that is short, else about three digits.
pub(crate) fn limit(value: f64) -> String {
    let text = plain(value);
    let n_decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if n_decimals <= 2 { text } else { number(value) }
}

/// With so many digits after the point.
pub(crate) fn decimals(value: f64, places: usize) -> String {
    if value.is_finite() { group_thousands(&format!("{value:.places$}")) } else { NONE.to_owned() }
}

/// Money: cents at least, and three digits where it is less than a cent.
pub(crate) fn money(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { group_thousands(&format!("{value:.2}")) } else { number(value) }
}

/// Rounded to a whole number.
pub(crate) fn whole(value: f64) -> String {
    group_thousands(&format!("{value:.0}"))
}

/// A count.
pub(crate) fn count(value: u64) -> String {
    group_thousands(&value.to_string())
}

/// Milliseconds, in seconds from 10 s on.
pub(crate) fn millis(ms: f64) -> String {
    if ms.abs() >= 10_000.0 { format!("{} s", number(ms / 1000.0)) } else { format!("{} ms", number(ms)) }
}

/// A share as a percentage; what is not quite all never reads `100%`, what is not quite none never `0%`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    let percent = share * 100.0;
    let is_whole = (percent - percent.round()).abs() < 1e-9;
    if is_whole {
        return format!("{}%", group_thousands(&format!("{percent:.0}")));
    }
    for places in [1, 2, 3, 4] {
        let text = format!("{percent:.places$}");
        let shown: f64 = text.parse().unwrap_or(percent);
        let at_an_end = (shown - 100.0).abs() < 1e-9 || shown.abs() < 1e-9;
        if !at_an_end {
            return format!("{}%", group_thousands(&text));
        }
    }
    if percent > 50.0 { ">99.99%".to_owned() } else { "<0.01%".to_owned() }
}

/// A relative deviation with its sign.
pub(crate) fn signed_percent(share: f64) -> String {
    if share > 0.0 { format!("+{}", percent(share)) } else { percent(share).replacen('-', "−", 1) }
}

/// Bytes in binary units.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0} B") } else { format!("{} {}", number(value), UNITS[unit]) }
}

/// Columns a terminal needs for `text`: East Asian wide characters take two.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` filled up with spaces to `columns`, on the right, or on the left for numbers.
pub(crate) fn pad(text: &str, columns: usize, to_the_right: bool) -> String {
    let fill = " ".repeat(columns.saturating_sub(width(text)));
    if to_the_right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

fn group_thousands(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let whole_end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(whole_end);
    let mut out = String::with_capacity(text.len() + 4);
    out.push_str(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (0.5, "0.500"),
            (0.999_9, "1.00"),
            (1.0, "1.00"),
            (9.996, "10.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (123.4, "123"),
            (12_345.6, "12,346"),
            (1_234_567.0, "1,234,567"),
            (-1234.5, "-1,234"),
            (0.000_012_3, "1.23e-5"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn almost_all_is_not_all() {
        for (share, text) in [
            (1.0, "100%"),
            (0.0, "0%"),
            (0.05, "5%"),
            (0.062, "6.2%"),
            (0.999_6, "99.96%"),
            (0.999_999_9, ">99.99%"),
            (0.000_000_1, "<0.01%"),
            (0.000_4, "0.04%"),
            (0.29, "29%"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
        assert_eq!(signed_percent(-0.12), "−12%");
        assert_eq!(signed_percent(0.12), "+12%");
    }

    #[test]
    fn money_has_cents() {
        for (value, text) in [(2.512, "2.51"), (0.0, "0.00"), (1234.5, "1,234.50"), (0.001_23, "0.00123")] {
            assert_eq!(money(value), text, "{value}");
        }
        assert_eq!((decimals(1526.04, 2), decimals(-0.05, 1)), ("1,526.04".into(), "-0.1".into()));
    }

    #[test]
    fn levels_have_no_needless_zeros() {
        assert_eq!((plain(8.0), plain(0.5), plain(1200.0)), ("8".into(), "0.5".into(), "1,200".into()));
    }

    #[test]
    fn limits_are_shown_as_set_where_that_is_short() {
        assert_eq!((limit(5.0), limit(0.05), limit(5.164)), ("5".into(), "0.05".into(), "5.16".into()));
    }

    #[test]
    fn chinese_takes_two_columns() {
        assert_eq!(width("平台 a"), 6);
        assert_eq!(pad("平台", 6, true), "  平台");
        assert_eq!(pad("ab", 4, false), "ab  ");
    }

    #[test]
    fn units_fit_the_size() {
        assert_eq!(millis(412.3), "412 ms");
        assert_eq!(millis(12_345.0), "12.3 s");
        assert_eq!(bytes(1536.0), "1.50 KiB");
        assert_eq!(bytes(512.0), "512 B");
    }
}
