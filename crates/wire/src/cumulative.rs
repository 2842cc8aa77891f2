//! Tells a stream whose every piece repeats all text before it from a stream of pieces.
//!
//! The rule is strict, so that an ordinary stream is never mistaken: every piece must begin with the whole of the piece
//! before it, from the first to the last, and at least [`MIN_GROWTHS`] of them must be longer. An ordinary stream fails
//! it at its second or third piece, after which watching costs nothing. A model that says `a`, `aa`, `aaa`, `aaaa`,
//! `aaaaa` and stops would be mistaken.

/// Fewest pieces that must extend their predecessor.
const MIN_GROWTHS: u32 = 4;

/// Watches the pieces of one channel.
#[derive(Debug, Default)]
pub(crate) struct Cumulative {
    previous: String,
    pieces: u64,
    growths: u32,
    /// Indices of events whose piece added nothing.
    repeats: Vec<usize>,
    ruled_out: bool,
}

impl Cumulative {
    /// A piece that is not empty came, in the event of this index.
    pub(crate) fn piece(&mut self, piece: &str, event: usize) {
        self.pieces += 1;
        if self.ruled_out {
            return;
        }
        if self.pieces > 1 {
            match piece.strip_prefix(self.previous.as_str()) {
                None => return self.rule_out(),
                Some("") => self.repeats.push(event),
                Some(_) => self.growths += 1,
            }
        }
        self.previous.clear();
        self.previous.push_str(piece);
    }

    /// It is known by other means that the pieces do not repeat.
    pub(crate) fn rule_out(&mut self) {
        self.ruled_out = true;
        self.repeats = Vec::new();
    }

    /// How many pieces came.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Whether every piece held all the text before it.
    pub(crate) fn is_cumulative(&self) -> bool {
        !self.ruled_out && self.growths >= MIN_GROWTHS
    }

    /// Events that added nothing to a cumulative stream.
    pub(crate) fn repeats(&self) -> &[usize] {
        if self.is_cumulative() { &self.repeats } else { &[] }
    }

    /// Length of the last piece of a cumulative stream, in bytes: it is the whole text.
    pub(crate) fn last_len(&self) -> Option<usize> {
        self.is_cumulative().then_some(self.previous.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(pieces: &[&str]) -> Cumulative {
        let mut watched = Cumulative::default();
        for (i, piece) in pieces.iter().enumerate() {
            watched.piece(piece, i);
        }
        watched
    }

    #[test]
    fn repeating_streams_are_found() {
        let watched = watch(&["a", "a b", "a b c", "a b c", "a b c d", "a b c d e", "a b c d e"]);
        assert!(watched.is_cumulative());
        assert_eq!(watched.repeats(), [3, 6]);
        assert_eq!(watched.last_len(), Some(9));
    }

    #[test]
    fn ordinary_streams_are_not() {
        assert!(!watch(&["ha"; 50]).is_cumulative(), "the same token again and again");
        assert!(!watch(&["1", "10", "100", "1000", "2"]).is_cumulative());
        assert!(!watch(&["a", "ab"]).is_cumulative(), "too few to tell");
        assert!(!watch(&["The", " sea", " is"]).is_cumulative());
        assert!(watch(&["The", " sea", " is"]).repeats().is_empty());
    }
}
