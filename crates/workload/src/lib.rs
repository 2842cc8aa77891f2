//! Plan and seed in, prompts and a schedule of arrivals out.
//!
//! Owns what is sent and when: arrival processes, prompt texts of a given length, and the reference tokenizer.
//! Knows no wire protocol and no clock, and sends nothing; its only I/O is reading a tokenizer file. The same plan
//! gives the same requests on any machine, in any order of asking.

pub mod arrivals;
mod permutation;
pub mod prompts;
mod source;
pub mod tokenizer;
mod vocabulary;
mod words;

pub use arrivals::{Schedule, ScheduleError, open_loop, schedule};
pub use prompts::Prompts;
pub use source::{Source, WorkloadError, source};
pub use tokenizer::{Tokenizer, TokenizerError};
