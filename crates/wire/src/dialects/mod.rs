//! The wire protocols: a file for each family, and one match for each question that differs between them.
//!
//! A dialect says where a request goes, what its body is, and what a payload of its answer means. It knows nothing of
//! HTTP framing, SSE or time.

mod lenient;
pub(crate) mod openai;
mod openai_usage;
pub(crate) mod template;

use kneepoint_model::plan::Dialect;

pub(crate) use openai_usage::Usage;

/// Path behind a base URL that ends in a version (`…/v1`).
pub(crate) fn endpoint(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat => "/chat/completions",
        Dialect::OpenaiCompletions => "/completions",
    }
}

/// The payload that ends a stream, and is no JSON.
pub(crate) fn end_marker(dialect: Dialect) -> &'static [u8] {
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiCompletions => b"[DONE]",
    }
}
