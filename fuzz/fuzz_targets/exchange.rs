//! See `bodies::exchange`. The first byte chooses the dialect and whether a stream was asked for.

#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "each target runs one of them")]
mod bodies;

use kneepoint_model::plan::Dialect;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((choice, input)) = input.split_first() else { return };
    let dialect = if choice & 1 == 0 { Dialect::OpenaiChat } else { Dialect::OpenaiCompletions };
    bodies::exchange(dialect, choice & 2 == 0, input);
});
