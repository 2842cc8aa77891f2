//! Prompt texts: unique, seeded, of a wanted length.
//!
//! A prompt opens with its *code*: up to seven words which are the request's number in the run, put through a seeded
//! permutation and written in a number system whose digits are words. Different requests therefore differ from the
//! first words on, by construction and not by luck, so no prefix cache can serve one from another. Sentences of
//! common English words follow until the length is reached.
//!
//! # How unique
//!
//! With the whole vocabulary at one token a word, there are 256 codes of one token, 131,072 of two, 67 million of
//! three and 2⁶² of seven or more. Requests of a run repeat each other only where it has more of one such length than
//! that; then all codes are used equally often. A tokenizer that splits many of the words has fewer.
//!
//! # How long
//!
//! Without a tokenizer a prompt has as many words and punctuation marks as tokens are wanted, for each is one token in
//! the vocabularies in wide use. Measured on 240 prompts of 1 to 8,192 tokens: no error at all with `cl100k`, `o200k`,
//! Llama 3, `DeepSeek` and `SmolLM2` (the last also as llama.cpp counts it); with a toy vocabulary of 2,048 tokens a
//! text has about twice the tokens estimated. What a chat template adds is in neither count.
//!
//! With a tokenizer the text is encoded and corrected until it has exactly the wanted number of tokens; should no
//! correction get there, the nearest below is taken. It is never empty and never above.

use std::sync::Arc;

use kneepoint_model::random::SplitMix64;
use kneepoint_model::units::Tokens;

use crate::permutation::permute;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::{Piece, Pool, Slot, Vocabulary};

/// Words in a code: seven reach 2⁶², more than any run sends.
const MAX_CODE_WORDS: u64 = 7;

/// How often a text is corrected by whole pieces before single marks are tried.
const MAX_CORRECTIONS: usize = 8;

/// What is tried behind a text that is still short of tokens.
const TAILS: [&str; 12] = [" a", ".", " I", "!", "a", "x", "q", ",", " x", "?", "z", "7"];

/// How many such trials a text gets.
const MAX_TAILS_TRIED: usize = 48;

/// A generated text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Never empty.
    pub text: Arc<str>,
    /// Its tokens by the reference tokenizer; `None` without one.
    pub tokens: Option<Tokens>,
}

/// The prompts of a run.
#[derive(Debug)]
pub struct Prompts {
    seed: u64,
    n_points: u64,
    vocabulary: Vocabulary,
    tokenizer: Option<Tokenizer>,
}

impl Prompts {
    /// The prompts of a seed, for a run of `n_points` points, measured by `tokenizer` if there is one.
    pub fn new(seed: u64, n_points: usize, tokenizer: Option<Tokenizer>) -> Self {
        let vocabulary = Vocabulary::new(tokenizer.as_ref());
        Self { seed, n_points: n_points as u64, vocabulary, tokenizer }
    }

    /// The fewest tokens a text can have; above 1 with unusual tokenizers only.
    pub fn shortest(&self) -> Tokens {
        Tokens(self.vocabulary.shortest.cost)
    }

    /// The reference tokenizer.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// The text of the `index`-th request of a point: a pure function of seed, number of points and arguments.
    ///
    /// Has `target` tokens (see the module's documentation), where `target` is at least [`Prompts::shortest`].
    pub fn text(&self, point: usize, index: u64, target: Tokens) -> Text {
        let number = index.wrapping_mul(self.n_points).wrapping_add(point as u64);
        let mut random = SplitMix64::for_purpose(self.seed, "prompts", &[point as u64, index]);
        let mut pieces = self.code(number, target.0);
        if pieces.is_empty() {
            pieces.push(*pick(&self.vocabulary.shortest.pieces, &mut random));
        }
        let spent = pieces.iter().map(|&piece| self.vocabulary.cost(piece)).sum();
        self.write_sentences(&mut pieces, target.0.saturating_sub(spent), &mut random);
        match &self.tokenizer {
            None => Text { text: self.vocabulary.render(&pieces).into(), tokens: None },
            Some(tokenizer) => self.fit(tokenizer, pieces, target.0, &mut random),
        }
    }

    /// The code of a request: as many words as the length allows, at most [`MAX_CODE_WORDS`]; none if not one fits.
    fn code(&self, number: u64, target: u64) -> Vec<Piece> {
        let (openers, words) = (&self.vocabulary.openers, &self.vocabulary.code_words);
        if target < openers.cost {
            return Vec::new();
        }
        let n_words = ((target - openers.cost) / words.cost).min(MAX_CODE_WORDS - 1);
        let pools: Vec<&Pool> = std::iter::once(openers).chain((0..n_words).map(|_| words)).collect();
        let n_codes: u64 = pools.iter().map(|pool| pool.pieces.len() as u64).product();
        let mut rest = permute(number % n_codes, n_codes, self.seed);
        let digit = |pool: &Pool| {
            let base = pool.pieces.len() as u64;
            let digit = usize::try_from(rest % base).expect("invariant: a digit indexes its pool");
            rest /= base;
            pool.pieces[digit]
        };
        pools.into_iter().map(digit).collect()
    }

    /// Adds sentences worth `left` tokens, then single words where a whole piece no longer fits.
    fn write_sentences(&self, pieces: &mut Vec<Piece>, mut left: u64, random: &mut SplitMix64) {
        let vocabulary = &self.vocabulary;
        let n_before = pieces.len();
        let mut sentence: &[Slot] = &[Slot::This(vocabulary.full_stop)];
        'sentences: loop {
            for &slot in sentence {
                let piece = match slot {
                    Slot::This(piece) => piece,
                    Slot::AnyOf(first, n) => first + below(n, random),
                };
                let Some(rest) = left.checked_sub(vocabulary.cost(piece)) else { break 'sentences };
                left = rest;
                pieces.push(piece);
            }
            sentence = pick::<Vec<Slot>>(&vocabulary.shapes, random);
        }
        self.add_singles(pieces, left, random);
        // A text that breaks off in a sentence ends with a full stop where that costs the same as its last word.
        if let [.., before, last] = &mut pieces[n_before..]
            && !vocabulary.is_mark(*before)
            && vocabulary.cost(*last) == vocabulary.cost(vocabulary.full_stop)
        {
            *last = vocabulary.full_stop;
        }
    }

    /// Adds so many pieces of one token, if the tokenizer knows any.
    fn add_singles(&self, pieces: &mut Vec<Piece>, n: u64, random: &mut SplitMix64) {
        let singles = &self.vocabulary.singles;
        if !singles.is_empty() {
            pieces.extend((0..n).map(|_| *pick(singles, random)));
        }
    }

    /// Encodes the pieces' text and corrects it until it has `target` tokens, or comes as near below as it can.
    fn fit(&self, tokenizer: &Tokenizer, mut pieces: Vec<Piece>, target: u64, random: &mut SplitMix64) -> Text {
        let mut best: Option<(String, u64)> = None;
        for _ in 0..MAX_CORRECTIONS {
            let text = self.vocabulary.render(&pieces);
            let Some(Tokens(n)) = tokenizer.count(&text) else {
                return Text { text: text.into(), tokens: None };
            };
            if n == target {
                return Text { text: text.into(), tokens: Some(Tokens(n)) };
            }
            if n < target && best.as_ref().is_none_or(|&(_, most)| n > most) {
                best = Some((text, n));
            }
            self.correct(&mut pieces, n, target, random);
        }
        let (text, n) = best.unwrap_or_else(|| {
            let shortest = &self.vocabulary.shortest;
            (self.vocabulary.render(&[*pick(&shortest.pieces, random)]), shortest.cost)
        });
        let (text, n) = extend(tokenizer, text, n, target);
        Text { text: text.into(), tokens: Some(Tokens(n)) }
    }

    /// Takes pieces off the end of a text of `n` tokens, or adds some, so that by their prices it has `target`.
    fn correct(&self, pieces: &mut Vec<Piece>, n: u64, target: u64, random: &mut SplitMix64) {
        let mut missing = target.saturating_sub(n);
        let mut excess = n.saturating_sub(target);
        while excess > 0 && pieces.len() > 1 {
            let freed = pieces.pop().map_or(0, |piece| self.vocabulary.cost(piece));
            missing = freed.saturating_sub(excess);
            excess = excess.saturating_sub(freed);
        }
        self.add_singles(pieces, missing, random);
    }
}

/// Adds marks and letters to a text of `n` tokens, one by one, as long as that brings it nearer to `target`.
fn extend(tokenizer: &Tokenizer, mut text: String, mut n: u64, target: u64) -> (String, u64) {
    let mut tails = TAILS.iter().cycle().take(MAX_TAILS_TRIED);
    while n < target
        && let Some(tail) = tails.next()
    {
        let length = text.len();
        text.push_str(tail);
        match tokenizer.count(&text) {
            Some(Tokens(longer)) if longer > n && longer <= target => n = longer,
            _ => text.truncate(length),
        }
    }
    (text, n)
}

fn below(n: usize, random: &mut SplitMix64) -> usize {
    usize::try_from(random.below(n as u64)).expect("invariant: below n, which is a usize")
}

fn pick<'a, T>(items: &'a [T], random: &mut SplitMix64) -> &'a T {
    &items[below(items.len(), random)]
}
