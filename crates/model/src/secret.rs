//! A value that must never be printed.

use std::fmt;

/// A secret (API key, token). It has no `Display` and no `Serialize`; `Debug` prints `***`.
///
/// What a bundle keeps instead is the *reference* it came from (`${NAME}`).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the secret in `text` by `***`, also an escaped one (JSON, Rust, percent, HTML) or one
    /// in other case, and a beginning of it where the text ends inside it.
    ///
    /// Servers echo credentials in error messages; whatever text of theirs is kept goes through here, before it is cut
    /// or rewritten: what is left of a key after that might not be known again.
    #[must_use]
    pub fn mask_in(&self, text: &str) -> String {
        let pattern = Pattern::new(&self.0);
        if pattern.significant.len() < SHORTEST_SOUGHT {
            return if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, MASK) };
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if let Some(end) = pattern.end_of_match(text, at) {
                out.push_str(MASK);
                at = end;
            } else {
                out.push(c);
                at += c.len_utf8();
            }
        }
        out
    }
}

const MASK: &str = "***";
/// Secrets with fewer telling characters are only taken out as they are: escaped forms of them are in too many words.
const SHORTEST_SOUGHT: usize = 4;
/// So many characters of a secret at the end of a text are taken for a secret that was cut there.
const SHORTEST_BEGINNING: usize = 6;

/// What of a secret is sought. Backslashes, and spaces where it has some, are what escaping and line folding multiply:
/// they are passed over on both sides.
struct Pattern {
    significant: Vec<char>,
    has_space: bool,
    has_backslash: bool,
}

impl Pattern {
    fn new(secret: &str) -> Self {
        Self {
            significant: secret.chars().filter(|c| *c != '\\' && !c.is_whitespace()).collect(),
            has_space: secret.contains(char::is_whitespace),
            has_backslash: secret.contains('\\'),
        }
    }

    fn is_passed_over(&self, c: char) -> bool {
        c == '\\' || self.has_space && c.is_whitespace()
    }

    /// Where the secret ends that begins at `start`, if one does. What is passed over belongs to it only inside it,
    /// backslashes before and after it also where it may begin or end with them.
    fn end_of_match(&self, text: &str, start: usize) -> Option<usize> {
        let first = text[start..].chars().next()?;
        if self.is_passed_over(first) && !(self.has_backslash && first == '\\') {
            return None;
        }
        // Most characters of a text begin nothing.
        if !first.eq_ignore_ascii_case(self.significant.first()?) && !matches!(first, '\\' | '%' | '&' | 'u') {
            return None;
        }
        let mut places = vec![start];
        for (n, &wanted) in self.significant.iter().enumerate() {
            self.pass_over(text, &mut places);
            if n >= SHORTEST_BEGINNING && places.iter().any(|&at| is_end(&text[at..])) {
                return Some(text.len());
            }
            let mut next = Vec::new();
            for &at in &places {
                for (c, len) in readings(&text[at..]).into_iter().flatten() {
                    if c.eq_ignore_ascii_case(&wanted) && !next.contains(&(at + len)) {
                        next.push(at + len);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            places = next;
        }
        if self.has_backslash {
            self.pass_over(text, &mut places);
        }
        places.into_iter().max()
    }

    /// Adds the places behind what is passed over.
    fn pass_over(&self, text: &str, places: &mut Vec<usize>) {
        let mut i = 0;
        while let Some(&at) = places.get(i) {
            for (c, len) in readings(&text[at..]).into_iter().flatten() {
                if self.is_passed_over(c) && !places.contains(&(at + len)) {
                    places.push(at + len);
                }
            }
            i += 1;
        }
    }
}

/// `true` where a text ends, or was cut, perhaps inside an escape.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest == "…" || rest.len() <= 5 && rest.starts_with(['%', '&', 'u'])
}

/// The ways to read the first character of `rest`, with the bytes each takes: as it is, `%41`, `u0041` (the backslash
/// before it was passed over), an HTML entity.
fn readings(rest: &str) -> [Option<(char, usize)>; 3] {
    let as_it_is = rest.chars().next().map(|c| (c, c.len_utf8()));
    let hex = |from: usize, to: usize| {
        let digits = rest.get(from..to).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, to))
    };
    let escape = match as_it_is {
        Some(('%', _)) => hex(1, 3),
        Some(('u', _)) => hex(1, 5),
        _ => None,
    };
    let entity = || {
        let name = rest.strip_prefix('&')?;
        let name = &name[..name.bytes().take(8).position(|b| b == b';')?];
        let c = match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = name.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)?
            }
        };
        Some((c, name.len() + 2))
    };
    [as_it_is, escape, entity()]
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_value() {
        assert_eq!(format!("{:?}", Secret::new("sk-123")), "***");
    }

    #[test]
    fn masks_every_occurrence() {
        assert_eq!(Secret::new("sk-1").mask_in("bad key sk-1, sk-1"), "bad key ***, ***");
        assert_eq!(Secret::new("").mask_in("unchanged"), "unchanged");
    }

    #[test]
    fn masks_escaped_forms() {
        let key = r#"Zq"9\x/Wsecret<&>%41$$!long"#;
        let secret = Secret::new(key);
        let json = serde_json::Value::from(key).to_string();
        let twice = serde_json::Value::from(json.as_str()).to_string();
        let html = key.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
        let percent = key.bytes().fold(String::new(), |text, b| format!("{text}%{b:02x}"));
        let go = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        for form in [key.to_owned(), json, twice, html, percent, go, format!("{key:?}"), key.to_lowercase()] {
            let masked = secret.mask_in(&format!("bad key {form}, sorry"));
            assert!(!masked.to_lowercase().contains("secret"), "{form}: {masked}");
            assert!(masked.starts_with("bad key ") && masked.ends_with(", sorry"), "{form}: {masked}");
        }
        assert_eq!(Secret::new("pass word  1234").mask_in("is pass word 1234 good"), "is *** good");
    }

    #[test]
    fn masks_a_beginning_at_the_end() {
        let secret = Secret::new("sk-0123456789");
        assert_eq!(secret.mask_in("bad key sk-01234"), "bad key ***");
        assert_eq!(secret.mask_in("bad key sk-01234…"), "bad key ***");
        assert_eq!(secret.mask_in("bad key sk-01234 it is"), "bad key sk-01234 it is");
        assert_eq!(secret.mask_in("no key sk-"), "no key sk-");
    }
}
