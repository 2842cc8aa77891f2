//! What a report says, before it is HTML or Markdown: who is compared, verdict, warnings, tables.
//!
//! Everything here is plain text still to be escaped; it knows no output format.

pub(crate) mod capacity;
pub(crate) mod comparison;
pub(crate) mod document;
pub(crate) mod fastest;
pub(crate) mod method;
pub(crate) mod phases;
pub(crate) mod plan;
pub(crate) mod points;
pub(crate) mod search;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod values;
pub(crate) mod verdict;
pub(crate) mod warnings;
