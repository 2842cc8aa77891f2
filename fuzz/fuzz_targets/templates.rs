//! See `bodies::templates`. The first byte chooses the dialect.

#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "each target runs one of them")]
mod bodies;

use kneepoint_model::plan::Dialect;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((choice, input)) = input.split_first() else { return };
    let dialect = if choice & 1 == 0 { Dialect::OpenaiChat } else { Dialect::OpenaiCompletions };
    bodies::templates(dialect, input);
});
