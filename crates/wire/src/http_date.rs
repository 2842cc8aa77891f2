//! The date formats of HTTP, read; needed for `Retry-After`.

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Seconds since 1970-01-01T00:00:00Z of an HTTP date, in any of the three forms RFC 9110 §5.6.7 asks recipients to
/// accept; `None` for anything else.
pub(crate) fn parse_http_date(text: &str) -> Option<i64> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    let words = text.split([' ', ',', '-', '\t']).filter(|word| !word.is_empty());
    for word in words {
        if word.contains(':') {
            time = Some(parse_time(word)?);
        } else if word.bytes().all(|b| b.is_ascii_digit()) {
            let number: i64 = word.parse().ok()?;
            if day.is_none() { day = Some(number) } else { year = Some((number, word.len())) }
        } else if month.is_none() {
            month = word.get(..3).and_then(|name| MONTHS.iter().position(|m| m.eq_ignore_ascii_case(name)));
        }
    }
    let year = match year? {
        (year, 4) => year,
        // RFC 850 years have two digits; 70 and later are of the last century, for those servers that still send them.
        (year, 2) => year + if year >= 70 { 1900 } else { 2000 },
        _ => return None,
    };
    let (day, month) = (day.filter(|day| (1..=31).contains(day))?, i64::try_from(month?).ok()? + 1);
    Some(days_from_civil(year, month, day) * 86_400 + time?)
}

fn parse_time(word: &str) -> Option<i64> {
    let mut parts = word.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Howard Hinnant's `days_from_civil`).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_the_rfc_agree() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse_http_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse_http_date("Tue, 01 Dec 2026 00:49:02 GMT"), Some(1_796_086_142));
        assert_eq!(parse_http_date("Thu, 29 Feb 2024 23:59:60 GMT"), Some(1_709_251_200));
    }

    #[test]
    fn nonsense_is_none() {
        for text in ["", "soon", "12", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 25:00:00 GMT", "Sun, 99 Nov 1994 08:00:00"]
        {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
