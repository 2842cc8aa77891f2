//! How fast an [`Exchange`] decodes a captured stream: `cargo bench -p kneepoint-wire`.
//!
//! Prints token events and bytes per second of one core, for reads as they were captured and for whole answers.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock itself")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use kneepoint_model::Nanos;
use kneepoint_model::plan::Dialect;
use kneepoint_wire::exchange::Exchange;

const CAPTURES: [(&str, &[u8]); 3] = [
    ("llamacpp/chat_stream_hot", include_bytes!("../tests/fixtures/engines/llamacpp/chat_stream_hot.http")),
    ("vllm/chat_stream_hot", include_bytes!("../tests/fixtures/engines/vllm/chat_stream_hot.http")),
    ("vllm/chat_stream_eos", include_bytes!("../tests/fixtures/engines/vllm/chat_stream_eos.http")),
];

fn main() {
    for (name, wire) in CAPTURES {
        for (what, read) in [("240-byte reads", 240), ("one read", wire.len())] {
            let mut exchange = Exchange::new(Dialect::OpenaiChat, true, false);
            let (mut events, mut bytes) = (0_usize, 0_usize);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(1) {
                for (at, piece) in wire.chunks(read).enumerate() {
                    exchange.received(Nanos(at as u64), black_box(piece));
                }
                let answer = exchange.take_answer();
                assert_eq!(answer.verdict, Ok(()), "a benchmark of failures would say nothing");
                events += answer.events.len();
                bytes += wire.len();
            }
            let seconds = start.elapsed().as_secs_f64();
            let (rate, volume) = (events as f64 / seconds, bytes as f64 / seconds / 1e6);
            println!("{name:28} {what:15} {rate:>10.0} events/s {volume:>8.0} MB/s");
        }
    }
}
