//! The tokenizer: counts, and what it says of files that are none.

use kneepoint_model::units::Tokens;
use kneepoint_workload::{Tokenizer, TokenizerError};

use crate::{fixture, tokenizer};

#[test]
fn counts_leave_out_special_tokens_padding_and_truncation() {
    // The file adds <s>, pads to 16 and cuts at 16.
    let metaspace = tokenizer("metaspace.json");
    assert_eq!(metaspace.count("a"), Some(Tokens(1)));
    let long = "the value of the name ".repeat(50);
    assert!(metaspace.count(&long).expect("encodes").0 >= 250);
    // A byte each.
    assert_eq!(tokenizer("bytes.json").count("naïve word"), Some(Tokens(11)));
    assert_eq!(tokenizer("bytes.json").count(""), Some(Tokens(0)));
}

#[test]
fn files_that_are_no_tokenizer_are_told_apart() {
    let missing = Tokenizer::load(&fixture("nowhere.json")).expect_err("missing");
    assert!(matches!(missing, TokenizerError::Read { .. }));
    assert!(missing.to_string().contains("nowhere.json"), "{missing}");

    let folder = Tokenizer::load(&fixture("")).expect_err("a folder");
    assert!(matches!(folder, TokenizerError::Read { .. }));

    let script = Tokenizer::load(&fixture("make_tokenizers.py")).expect_err("Python");
    assert!(matches!(script, TokenizerError::NotJson { .. }));
    assert!(script.to_string().ends_with("is not JSON (wanted: a Hugging Face `tokenizer.json`)"), "{script}");

    let config = Tokenizer::load(&fixture("tokenizer_config.json")).expect_err("another kind of file");
    assert!(matches!(config, TokenizerError::NotATokenizer { .. }));
    assert!(std::error::Error::source(&config).is_some());
}
