//! Quantities as people write them: `8ms`, `0.36ms`, `80ns`, `2.5%`.

use kneepoint_model::{Nanos, Share};

/// What [`duration`] accepts, in words.
pub(super) const DURATION: &str = "a duration such as `80ns`, `120us`, `8ms`, `1.5s` or `2m`";
/// What [`share`] accepts, in words.
pub(super) const SHARE: &str = "a share such as `2.5%`, from `0%` to `100%`";

/// A duration: a decimal number and a unit, exact to the nanosecond.
pub(super) fn duration(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim_start() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    scaled(number, unit).map(Nanos)
}

/// A share: a decimal number and `%`.
pub(super) fn share(text: &str) -> Option<Share> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    // Millionths of a percent are exact; nobody needs finer ones.
    Share::new(scaled(number, 1_000_000)? as f64 / 1e8)
}

/// `number × unit` for a plain decimal, if that is whole and fits.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) || fraction.len() > 18 {
        return None;
    }
    let parse = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let power = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let total = parse(whole)?.checked_mul(power)?.checked_add(parse(fraction)?)?.checked_mul(u128::from(unit))?;
    (total % power == 0).then(|| u64::try_from(total / power).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, ns) in [
            ("80ns", 80),
            ("0.36ms", 360_000),
            ("54.9ms", 54_900_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            (" 3 s ", 3_000_000_000),
            ("0s", 0),
            (".5us", 500),
        ] {
            assert_eq!(duration(text), Some(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "8", "ms", "-1ms", "1e3ms", "1..2s", "0.5ns", "1 week", "999999999999h", "1.ms2"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(share("2.5%"), Share::new(0.025));
        assert_eq!(share("100 %"), Share::new(1.0));
        for text in ["0.5", "101%", "%", "-1%", "x%"] {
            assert_eq!(share(text), None, "{text}");
        }
    }
}
