//! The message catalogue: every sentence and label a person reads, in English and Chinese.
//!
//! A message is a variant of a catalogue enum, so one that lacks a language does not compile; tests hold both texts to
//! the same placeholders. Knows nothing of summaries or of output formats.

mod console;
mod failures;
mod glossary;
mod labels;
mod reasons;
mod sentences;

use std::fmt::Write as _;
use std::str::FromStr;

pub use console::Console;
pub(crate) use failures::{failure_text, side_text};
pub(crate) use glossary::TERMS;
pub(crate) use labels::Label;
pub(crate) use reasons::{reason_figure, reason_limit, reason_text};
pub(crate) use sentences::Sentence;

/// The language of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// As written on the command line: `en` or `zh`.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// BCP 47 tag for HTML's `lang`.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// Between the items of a list inside a sentence.
    pub(crate) fn comma(self) -> &'static str {
        match self {
            Self::English => ", ",
            Self::Chinese => "、",
        }
    }

    /// Between a name and its unit.
    pub(crate) fn comma_in_head(self) -> &'static str {
        match self {
            Self::English => ", ",
            Self::Chinese => "，",
        }
    }

    /// Between two statements about one thing.
    pub(crate) fn semicolon(self) -> &'static str {
        match self {
            Self::English => "; ",
            Self::Chinese => "；",
        }
    }

    /// Between a name and what is said of it.
    pub(crate) fn colon(self) -> &'static str {
        match self {
            Self::English => ": ",
            Self::Chinese => "：",
        }
    }

    /// An aside after a sentence.
    pub(crate) fn in_brackets(self, aside: &str) -> String {
        match self {
            Self::English => format!(" ({aside})"),
            Self::Chinese => format!("（{aside}）"),
        }
    }

    /// Between two sentences.
    pub(crate) fn space(self) -> &'static str {
        match self {
            Self::English => " ",
            Self::Chinese => "",
        }
    }

    /// Names in a sentence: `a, b and c`.
    pub(crate) fn list(self, names: &[&str]) -> String {
        let and = match self {
            Self::English => " and ",
            Self::Chinese => " 和 ",
        };
        match names {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [first @ .., last] => format!("{}{and}{last}", first.join(self.comma())),
        }
    }

    /// A sentence of the command line with its placeholders filled.
    pub fn console(self, message: Console, values: &[(&str, &str)]) -> String {
        self.say(message, values)
    }

    /// A message with its placeholders filled.
    pub(crate) fn say(self, message: impl Message, values: &[(&str, &str)]) -> String {
        fill(message.text(self), values)
    }
}

/// A language code that is neither `en` nor `zh`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a language of the report; expected `en` or `zh`")]
pub struct UnknownLanguage(pub String);

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(code: &str) -> Result<Self, UnknownLanguage> {
        Self::ALL.into_iter().find(|l| l.code() == code).ok_or_else(|| UnknownLanguage(code.to_owned()))
    }
}

/// A key of a catalogue.
pub(crate) trait Message: Copy {
    /// The text, placeholders in braces.
    fn text(self, language: Language) -> &'static str;
}

/// Declares a catalogue: `Key: "English", "中文";` lines become an enum with both texts.
macro_rules! catalogue {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($key:ident: $en:literal, $zh:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($key),+ }

        impl $crate::messages::Message for $name {
            fn text(self, language: $crate::messages::Language) -> &'static str {
                match (self, language) {
                    $(
                        (Self::$key, $crate::messages::Language::English) => $en,
                        (Self::$key, $crate::messages::Language::Chinese) => $zh,
                    )+
                }
            }
        }

        #[cfg(test)]
        impl $name {
            /// Every key with both texts, for the catalogue's own tests.
            pub(crate) const ALL: &'static [(&'static str, &'static str, &'static str)] =
                &[$((concat!(stringify!($name), "::", stringify!($key)), $en, $zh)),+];
        }
    };
}
pub(in crate::messages) use catalogue;

/// Replaces `{name}` by its value, in one pass: braces inside a value stay as they are. Chinese texts set a space
/// around a placeholder, as is done around Latin words; it goes where the value is Chinese too.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        rest = tail;
        let Some((_, value)) = values.iter().find(|(key, _)| *key == name) else {
            debug_assert!(false, "no value for the placeholder {{{name}}} of {template:?}");
            let _ = write!(out, "{{{name}}}");
            continue;
        };
        if value.starts_with(is_chinese) && out.strip_suffix(' ').is_some_and(|text| text.ends_with(is_chinese)) {
            out.pop();
        }
        out.push_str(value);
        if value.ends_with(is_chinese)
            && let Some(tail) = rest.strip_prefix(' ').filter(|tail| tail.starts_with(is_chinese))
        {
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

/// A Chinese character or a full-width mark.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ff60}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
    }

    fn everything() -> Vec<(&'static str, &'static str, &'static str)> {
        [
            Console::ALL,
            Label::ALL,
            Sentence::ALL,
            glossary::Term::ALL,
            reasons::ReasonText::ALL,
            reasons::Figure::ALL,
            failures::FailureText::ALL,
            failures::SideText::ALL,
        ]
        .concat()
    }

    #[test]
    fn both_languages_say_something_with_the_same_placeholders() {
        for (key, en, zh) in everything() {
            assert!(!en.trim().is_empty() && !zh.trim().is_empty(), "{key} lacks a language");
            assert_eq!(placeholders(en), placeholders(zh), "{key}: placeholders differ");
            assert_eq!(en.matches('{').count(), en.matches('}').count(), "{key}: unbalanced braces");
            assert_eq!(zh.matches('{').count(), zh.matches('}').count(), "{key}: unbalanced braces");
        }
    }

    #[test]
    fn english_is_english_and_chinese_is_chinese() {
        // Short names that are the same in both languages; placeholders alone are neither.
        let international = [
            "n",
            "p50",
            "p90",
            "p95",
            "p99",
            "p99.9",
            "SLO",
            "URL",
            "TLS",
            "Kneepoint",
            "TTFT",
            "TPOT",
            "token/s",
            "ms",
            "R²",
            "DNS",
            "TCP",
            "E2E",
            "E2E − RTT/2",
            "E2E − RTT",
            "n = {n}",
            "TTFT +{percentile}",
            "ITL ±{percentile}",
        ];
        let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        for (key, en, zh) in everything() {
            assert!(!en.chars().any(|c| is_han(c) || ('\u{ff00}'..='\u{ff60}').contains(&c)), "{key}: {en}");
            let own = placeholders(zh).iter().fold(zh.to_owned(), |text, name| text.replace(name, ""));
            let says_something = own.chars().any(char::is_alphabetic);
            let is_fine = own.chars().any(is_han) || !says_something || international.contains(&zh);
            assert!(is_fine, "{key}: {zh} has no Chinese character");
        }
    }

    #[test]
    fn chinese_sentences_use_chinese_punctuation() {
        for (key, _, zh) in everything() {
            // Code in backticks keeps its own punctuation.
            let outside_code: String = zh.split('`').step_by(2).collect();
            let ascii = outside_code.chars().find(|c| matches!(c, ',' | ';' | ':' | '!' | '?' | '(' | ')'));
            assert_eq!(ascii, None, "{key}: {zh}");
        }
    }

    #[test]
    fn values_are_not_searched_for_placeholders() {
        assert_eq!(fill("{a} and {b}", &[("a", "{b}"), ("b", "{a}")]), "{b} and {a}");
        assert_eq!(fill("no placeholder", &[]), "no placeholder");
    }

    #[test]
    fn spaces_stand_only_between_scripts() {
        let template = "负载 {load} 下的 {metric} 分布";
        assert_eq!(fill(template, &[("load", "8 req/s"), ("metric", "TTFT")]), "负载 8 req/s 下的 TTFT 分布");
        assert_eq!(fill(template, &[("load", "并发 2"), ("metric", "延迟（秒）")]), "负载并发 2 下的延迟（秒）分布");
    }

    #[test]
    fn languages_parse_by_their_codes() {
        assert_eq!("zh".parse(), Ok(Language::Chinese));
        assert_eq!("en".parse(), Ok(Language::English));
        assert!("fr".parse::<Language>().unwrap_err().to_string().contains("`en` or `zh`"));
    }
}
