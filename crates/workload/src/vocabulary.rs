//! The pieces a prompt is put together from, and what each costs in tokens.
//!
//! A piece is a word with its leading space, a punctuation mark, or an opening word without a space. Without a
//! tokenizer each counts as one token. With one, each is probed once, so that a prompt of any length is added up
//! rather than encoded over and over.

use crate::tokenizer::Tokenizer;
use crate::words::{ADJECTIVES, GLUE, N_OPENING_ADJECTIVES, N_OPENING_NOUNS, NOUNS, PREPOSITIONS, SHAPES, VERBS};

/// A text to which a piece is added to see what it costs there.
const ANCHOR: &str = "table";

/// A pool of code words must hold this many, or dearer words are taken.
const MIN_POOL: usize = 64;

/// Number of a piece.
pub(crate) type Piece = usize;

/// A place in a sentence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// Any of these pieces, which lie side by side.
    AnyOf(Piece, usize),
    /// This one.
    This(Piece),
}

/// Pieces that all cost the same.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) pieces: Vec<Piece>,
    /// Tokens each.
    pub(crate) cost: u64,
}

/// All pieces.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    texts: Vec<String>,
    costs: Vec<u64>,
    /// What a prompt may begin with.
    pub(crate) openers: Pool,
    /// What its code continues with.
    pub(crate) code_words: Pool,
    /// Words and marks of one token, to fill a gap of any size; empty with some tokenizers.
    pub(crate) singles: Vec<Piece>,
    /// The sentences.
    pub(crate) shapes: Vec<Vec<Slot>>,
    /// The full stop.
    pub(crate) full_stop: Piece,
    /// The shortest texts there are.
    pub(crate) shortest: Pool,
}

const FIRST_ADJECTIVE: Piece = NOUNS.len();
const FIRST_VERB: Piece = FIRST_ADJECTIVE + ADJECTIVES.len();
const FIRST_GLUE: Piece = FIRST_VERB + VERBS.len();
const FIRST_OPENER: Piece = FIRST_GLUE + GLUE.len();
const N_OPENERS: usize = N_OPENING_NOUNS + N_OPENING_ADJECTIVES;
const FIRST_LETTER: Piece = FIRST_OPENER + N_OPENERS;

impl Vocabulary {
    /// The pieces, priced by `tokenizer`, or at one token each.
    pub(crate) fn new(tokenizer: Option<&Tokenizer>) -> Self {
        let spaced = NOUNS.iter().chain(&ADJECTIVES).chain(&VERBS).map(|word| format!(" {word}"));
        let glue = GLUE.iter().map(|&glue| glue.to_owned());
        let openers = NOUNS[..N_OPENING_NOUNS].iter().chain(&ADJECTIVES[..N_OPENING_ADJECTIVES]);
        let letters = ('a'..='z').map(String::from);
        let texts: Vec<String> =
            spaced.chain(glue).chain(openers.map(|&word| word.to_owned())).chain(letters).collect();
        let costs: Vec<u64> = match tokenizer {
            None => vec![1; texts.len()],
            Some(tokenizer) => probe(tokenizer, &texts),
        };
        let singles = if costs[..FIRST_GLUE].contains(&1) { 0..FIRST_GLUE } else { 0..FIRST_OPENER };
        Self {
            openers: pool(&costs, FIRST_OPENER..FIRST_LETTER),
            code_words: pool(&costs, 0..FIRST_GLUE),
            singles: singles.filter(|&piece| costs[piece] == 1).collect(),
            shapes: SHAPES.iter().map(|shape| parse(shape)).collect(),
            full_stop: FIRST_GLUE,
            shortest: cheapest(&costs, FIRST_OPENER..texts.len()),
            texts,
            costs,
        }
    }

    /// What a piece costs: exact alone or behind a word for most tokenizers, else near it.
    pub(crate) fn cost(&self, piece: Piece) -> u64 {
        self.costs[piece]
    }

    /// Whether a piece is punctuation.
    pub(crate) fn is_mark(&self, piece: Piece) -> bool {
        !self.texts[piece].contains(char::is_alphabetic)
    }

    /// The text of pieces.
    pub(crate) fn render(&self, pieces: &[Piece]) -> String {
        pieces.iter().map(|&piece| self.texts[piece].as_str()).collect()
    }
}

/// What each piece costs, at least 1: alone where it may open a text, else behind a word.
fn probe(tokenizer: &Tokenizer, texts: &[String]) -> Vec<u64> {
    // A text that cannot be encoded is priced out of use.
    let count = |text: &str| tokenizer.count(text).map_or(u64::MAX / 2, |tokens| tokens.0);
    let anchor = count(ANCHOR);
    let price = |(piece, text): (Piece, &String)| {
        let cost =
            if piece >= FIRST_OPENER { count(text) } else { count(&format!("{ANCHOR}{text}")).saturating_sub(anchor) };
        cost.max(1)
    };
    texts.iter().enumerate().map(price).collect()
}

/// The cheapest pieces of a range that make a pool large enough, else its largest group of one cost.
fn pool(costs: &[u64], range: std::ops::Range<Piece>) -> Pool {
    let mut groups = std::collections::BTreeMap::<u64, Vec<Piece>>::new();
    for piece in range {
        groups.entry(costs[piece]).or_default().push(piece);
    }
    let largest = groups.values().map(Vec::len).max().unwrap_or(0);
    let found = groups.into_iter().find(|(_, pieces)| pieces.len() >= MIN_POOL.min(largest));
    let (cost, pieces) = found.expect("invariant: the range is not empty");
    Pool { pieces, cost }
}

/// The pieces of the least cost.
fn cheapest(costs: &[u64], range: std::ops::Range<Piece>) -> Pool {
    let cost = costs[range.clone()].iter().copied().min().expect("invariant: the range is not empty");
    Pool { pieces: range.filter(|&piece| costs[piece] == cost).collect(), cost }
}

/// The slots of one shape.
fn parse(shape: &str) -> Vec<Slot> {
    let slot = |word: &str| match word {
        "N" => Slot::AnyOf(0, NOUNS.len()),
        "J" => Slot::AnyOf(FIRST_ADJECTIVE, ADJECTIVES.len()),
        "V" => Slot::AnyOf(FIRST_VERB, VERBS.len()),
        "P" => Slot::AnyOf(FIRST_GLUE + PREPOSITIONS.start, PREPOSITIONS.len()),
        word => {
            let glue = GLUE.iter().position(|glue| glue.trim_start() == word);
            Slot::This(FIRST_GLUE + glue.expect("invariant: shapes use glue words only"))
        }
    };
    shape.split(' ').map(slot).collect()
}
