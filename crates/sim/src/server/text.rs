//! Generated text: words from a small list, each with its leading space, one a token; the same for the same seed.

use kneepoint_model::random::SplitMix64;

const WORDS: [&str; 64] = [
    " time", " river", " stone", " light", " winter", " garden", " letter", " window", " bridge", " music", " paper",
    " market", " silver", " forest", " engine", " harbour", " morning", " shadow", " copper", " valley", " orange",
    " summer", " island", " mirror", " planet", " velvet", " thunder", " meadow", " candle", " needle", " basket",
    " castle", " dragon", " falcon", " ginger", " hollow", " ivory", " jungle", " kettle", " ladder", " magnet",
    " nectar", " oyster", " pepper", " quartz", " ribbon", " saddle", " temple", " umber", " violet", " walnut",
    " yellow", " zephyr", " anchor", " butter", " circle", " desert", " ember", " feather", " glacier", " hammer",
    " indigo", " jasper", " kernel",
];

/// The text of one answer, token by token.
#[derive(Clone, Debug)]
pub(super) struct Text {
    random: SplitMix64,
}

impl Text {
    pub(super) fn new(seed: u64, request: u64) -> Self {
        Self { random: SplitMix64::for_purpose(seed, "sim text", &[request]) }
    }

    /// The next `count` tokens.
    pub(super) fn take(&mut self, count: u64) -> String {
        (0..count).map(|_| self.word()).collect()
    }

    fn word(&mut self) -> &'static str {
        let place = usize::try_from(self.random.below(WORDS.len() as u64)).expect("invariant: below the list's length");
        WORDS[place]
    }
}

/// Tokens of a text, by the simulator's rule: one a word, words being separated by white space, and one a mark of
/// punctuation at a word's end, as the tokenizers of common models have it.
pub(super) fn count_tokens(text: &str) -> u64 {
    let tokens = |word: &str| {
        let marks = word.len() - word.trim_end_matches(['.', ',', ';', ':', '!', '?']).len();
        // A word that is nothing but marks has no further token.
        if marks == word.len() { marks } else { marks + 1 }
    };
    text.split_whitespace().map(tokens).sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_word_and_the_seed_fixes_them() {
        let text = Text::new(1, 2).take(100);
        assert_eq!(count_tokens(&text), 100);
        assert_eq!(text, Text::new(1, 2).take(100));
        assert_ne!(text, Text::new(1, 3).take(100));
        let mut piecewise = Text::new(1, 2);
        assert_eq!((0..10).map(|_| piecewise.take(10)).collect::<String>(), text);
        assert_eq!(count_tokens(" \n\t "), 0);
        assert_eq!(count_tokens("Later, the moon rose. It was ... late!"), 13);
    }
}
