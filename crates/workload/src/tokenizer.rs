//! The reference tokenizer: how many tokens a text has.
//!
//! The only module that knows the `tokenizers` crate. Counts are without special tokens and without a chat template:
//! what a server adds is visible in its own count. Truncation and padding that a file may ask for are switched off,
//! since both would falsify counts.

use std::fmt;
use std::path::{Path, PathBuf};

use kneepoint_model::units::Tokens;

/// A loaded `tokenizer.json`. Cheap to share between threads by reference.
pub struct Tokenizer(tokenizers::Tokenizer);

/// Why a tokenizer file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is not there, may not be read, is a folder, or is not UTF-8.
    #[error("reading the tokenizer {}", path.display())]
    Read {
        /// As given.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not JSON; often a `SentencePiece` model, or a Git LFS pointer in place of the file.
    #[error("the tokenizer {} is not JSON (wanted: a Hugging Face `tokenizer.json`)", path.display())]
    NotJson {
        /// As given.
        path: PathBuf,
        /// Where the JSON breaks.
        source: serde_json::Error,
    },
    /// The file is JSON, but of something else; often `tokenizer_config.json` or `vocab.json`.
    #[error("{} does not describe a tokenizer (wanted: a Hugging Face `tokenizer.json`)", path.display())]
    NotATokenizer {
        /// As given.
        path: PathBuf,
        /// What is missing or not understood.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Tokenizer {
    /// Loads a Hugging Face `tokenizer.json`.
    pub fn load(path: &Path) -> Result<Self, TokenizerError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| TokenizerError::Read { path: path.to_owned(), source })?;
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(&text).map_err(|source| {
            match serde_json::from_str::<serde_json::Value>(&text) {
                Err(source) => TokenizerError::NotJson { path: path.to_owned(), source },
                Ok(_) => TokenizerError::NotATokenizer { path: path.to_owned(), source },
            }
        })?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|source| TokenizerError::NotATokenizer { path: path.to_owned(), source })?;
        Ok(Self(tokenizer))
    }

    /// How many tokens `text` has, without special tokens; `None` if the tokenizer cannot encode it (for instance a
    /// word-level one without a token for unknown words).
    pub fn count(&self, text: &str) -> Option<Tokens> {
        // Without offsets, which nobody reads: a third faster.
        let encoding = self.0.encode_fast(text, false).ok()?;
        Some(Tokens(encoding.len() as u64))
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("vocabulary", &self.0.get_vocab_size(true)).finish_non_exhaustive()
    }
}
