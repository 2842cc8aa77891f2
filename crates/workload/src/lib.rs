//! Plan and seed in, prompts and a schedule of arrivals out.
//!
//! Owns what is sent and when: arrival processes, prompt texts of a given length, and the reference tokenizer.
//! Knows no wire protocol and no clock, and sends nothing; its only I/O is reading a tokenizer file.

pub mod arrivals;
