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

    /// Replaces every occurrence of the secret in `text` by `***`.
    ///
    /// Servers echo credentials in error messages; whatever text of theirs is kept goes through here.
    pub fn mask_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
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
}
