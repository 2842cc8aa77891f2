//! Laws that hold for any frames: mostly valid ones in any order, with a byte changed here and there.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::laws::bodies;

/// Header blocks, valid and not.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(vec![0x88]),
        1 => Just(vec![0x8d]),
        1 => Just(literal(":status", "103")),
        2 => Just(literal("content-type", "text/event-stream")),
        1 => Just(literal("content-length", "5")),
        1 => Just(literal("connection", "close")),
        1 => Just(literal("a", "b\n")),
        // Into the dynamic table, and out of it.
        2 => Just(b"\x40\x01a\x01b".to_vec()),
        2 => Just(vec![0xbe]),
        1 => Just(vec![0x20]),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![8 => Just(1_u32), 1 => Just(0), 1 => select(&[2_u32, 3][..])];
    let flags =
        select(&[0, END_STREAM, END_HEADERS, END_HEADERS | END_STREAM, PADDED, PRIORITISED, END_HEADERS | PADDED][..]);
    prop_oneof![
        4 => (stream.clone(), flags.clone(), block()).prop_map(|(s, f, block)| frame(HEADERS, f, s, &block)),
        2 => (stream.clone(), flags.clone(), block()).prop_map(|(s, f, block)| frame(CONTINUATION, f, s, &block)),
        4 => (stream.clone(), flags, vec(any::<u8>(), 0..40)).prop_map(|(s, f, data)| frame(DATA, f, s, &data)),
        1 => vec(any::<u8>(), 0..13).prop_map(|payload| frame(SETTINGS, 0, 0, &payload)),
        1 => Just(frame(PING, 0, 0, &[0; 8])),
        1 => (0..4_u32, 0..14_u32).prop_map(|(last, code)| goaway(last, code)),
        1 => (stream.clone(), any::<u32>()).prop_map(|(s, n)| frame(WINDOW_UPDATE, 0, s, &n.to_be_bytes())),
        1 => stream.prop_map(|s| frame(RST_STREAM, 0, s, &[0, 0, 0, 7])),
        1 => vec(any::<u8>(), 9..20),
    ]
}

/// An answer that is whole but for chance.
fn answer() -> impl Strategy<Value = Vec<u8>> {
    let plain = vec(any::<u8>(), 0..60).prop_map(|data| frame(DATA, 0, 1, &data));
    let padded = vec(any::<u8>(), 0..60).prop_map(|data| [&[3], &data[..], &[0; 3]].concat());
    let data = prop_oneof![plain, padded.prop_map(|data| frame(DATA, PADDED, 1, &data))];
    let between = prop_oneof![4 => data, 1 => Just(frame(PING, 0, 0, &[0; 8])), 1 => Just(goaway(1, 0))];
    let end = select(vec![frame(DATA, END_STREAM, 1, b"end"), head(1, END_STREAM, &[("x", "y")])]);
    (vec(between, 0..8), end).prop_map(|(between, end)| {
        [head(1, 0, &[(":status", "100")]), head(1, 0, &[(":status", "200")]), between.concat(), end].concat()
    })
}

/// The choice of a beginning and eight cuts before the frames.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let frames = prop_oneof![vec(any_frame(), 0..12).prop_map(|frames| frames.concat()), answer()];
    (vec(any::<u8>(), 8), frames).prop_map(|(cuts, frames)| [&[0], &cuts[..], &frames].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_cutting_gives_the_same_answer(input in input()) {
        bodies::http2(&input);
    }

    #[test]
    fn a_changed_byte_changes_no_law(mut input in input(), at in any::<Index>(), byte in any::<u8>()) {
        let at = at.index(input.len());
        input[at] = byte;
        bodies::http2(&input);
    }
}
