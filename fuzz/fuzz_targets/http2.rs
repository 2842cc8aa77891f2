//! See `bodies::http2`.

#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "each target runs one of them")]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::http2(input));
