//! Header compression (RFC 7541): a whole decoder, and an encoder that never compresses.
//!
//! The decoder must understand all that a server may send. The encoder writes literals, without a dynamic table and
//! without Huffman coding: a request's head is a few hundred bytes once, and what is not compressed cannot be guessed
//! from its compressed length. Nothing here knows what a header means.

use std::collections::VecDeque;

use super::error::Http2Error;
use super::huffman;
use super::static_table::STATIC_TABLE;

/// The dynamic table of the decoder holds at most this, by the measure of RFC 7541, section 4.1: the protocol's default.
const TABLE_LIMIT: usize = 4096;

/// What an entry costs beyond its bytes, by the same measure.
const ENTRY_COST: usize = 32;

/// A header that the server has given a number.
#[derive(Clone, Debug)]
struct Entry {
    /// Name and value together.
    bytes: Box<[u8]>,
    name: usize,
}

impl Entry {
    fn new(name: &[u8], value: &[u8]) -> Self {
        Self { bytes: [name, value].concat().into(), name: name.len() }
    }

    fn cost(&self) -> usize {
        self.bytes.len() + ENTRY_COST
    }
}

/// Decodes the header blocks of one connection, in the order in which they come.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Newest first.
    entries: VecDeque<Entry>,
    /// Sum of their costs.
    cost: usize,
    /// What the server has limited itself to; at most [`TABLE_LIMIT`].
    limit: usize,
    /// Longest header list, by the same measure as the table.
    list_limit: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// What goes into the dynamic table, and what does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Yes,
    No,
}

impl Decoder {
    /// A decoder that refuses header lists longer than `list_limit` (name and value of each, and 32 bytes).
    pub(super) fn new(list_limit: usize) -> Self {
        Self { entries: VecDeque::new(), cost: 0, limit: TABLE_LIMIT, list_limit, name: Vec::new(), value: Vec::new() }
    }

    /// Hands every header of a whole block to `take`, name and value.
    pub(super) fn decode(
        &mut self,
        mut block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Http2Error>,
    ) -> Result<(), Http2Error> {
        let mut list = 0;
        let mut may_resize = true;
        while let Some(&first) = block.first() {
            match first {
                0x80.. => {
                    let index = integer(&mut block, 7)?;
                    self.copy(index, true)?;
                }
                0x40.. => self.literal(&mut block, 6, Keep::Yes)?,
                0x20.. => {
                    if !may_resize {
                        return Err(Http2Error::compression("a table size after a header"));
                    }
                    self.resize(integer(&mut block, 5)?)?;
                    continue;
                }
                // Without indexing (0x00) and never indexed (0x10) differ for those who pass headers on.
                _ => self.literal(&mut block, 4, Keep::No)?,
            }
            may_resize = false;
            list += self.name.len() + self.value.len() + ENTRY_COST;
            if list > self.list_limit {
                return Err(Http2Error::Malformed { reason: "its headers are longer than 64 KiB" });
            }
            take(&self.name, &self.value)?;
        }
        Ok(())
    }

    fn literal(&mut self, block: &mut &[u8], prefix: u32, keep: Keep) -> Result<(), Http2Error> {
        match integer(block, prefix)? {
            0 => {
                self.name.clear();
                string(block, self.list_limit, &mut self.name)?;
            }
            index => self.copy(index, false)?,
        }
        self.value.clear();
        string(block, self.list_limit, &mut self.value)?;
        if keep == Keep::Yes {
            self.insert();
        }
        Ok(())
    }

    /// Makes the name at `index`, and its value if asked for, the current ones.
    fn copy(&mut self, index: usize, with_value: bool) -> Result<(), Http2Error> {
        let missing = || Http2Error::compression("a header number that nothing stands behind");
        let (name, value) = match index.checked_sub(1).ok_or_else(missing)? {
            known if known < STATIC_TABLE.len() => {
                let (name, value) = STATIC_TABLE[known];
                (name.as_bytes(), value.as_bytes())
            }
            later => {
                let entry = self.entries.get(later - STATIC_TABLE.len()).ok_or_else(missing)?;
                entry.bytes.split_at(entry.name)
            }
        };
        self.name.clear();
        self.name.extend_from_slice(name);
        if with_value {
            self.value.clear();
            self.value.extend_from_slice(value);
        }
        Ok(())
    }

    fn insert(&mut self) {
        let entry = Entry::new(&self.name, &self.value);
        let cost = entry.cost();
        // An entry larger than the table empties it and is not kept (RFC 7541, section 4.4).
        self.shrink_to(self.limit.saturating_sub(cost));
        if cost <= self.limit {
            self.cost += cost;
            self.entries.push_front(entry);
        }
    }

    fn resize(&mut self, limit: usize) -> Result<(), Http2Error> {
        if limit > TABLE_LIMIT {
            return Err(Http2Error::compression("a table larger than was offered"));
        }
        self.limit = limit;
        self.shrink_to(limit);
        Ok(())
    }

    fn shrink_to(&mut self, limit: usize) {
        while self.cost > limit {
            let Some(entry) = self.entries.pop_back() else { return };
            self.cost -= entry.cost();
        }
    }
}

fn cut_short() -> Http2Error {
    Http2Error::compression("a header block that ends early")
}

/// Takes an integer whose first byte has `prefix` bits of it (RFC 7541, section 5.1).
fn integer(block: &mut &[u8], prefix: u32) -> Result<usize, Http2Error> {
    let (&first, mut rest) = block.split_first().ok_or_else(cut_short)?;
    let full = (1_u32 << prefix) - 1;
    let mut value = u32::from(first) & full;
    if value == full {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first().ok_or_else(cut_short)?;
            rest = after;
            // Four bytes carry 28 bits, more than anything here may be long.
            if shift > 21 {
                return Err(Http2Error::compression("a number that is too large"));
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    usize::try_from(value).map_err(|_| Http2Error::compression("a number that is too large"))
}

/// Takes a string of at most `limit` bytes, decoded.
fn string(block: &mut &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Http2Error> {
    let is_huffman = block.first().ok_or_else(cut_short)? & 0x80 != 0;
    let length = integer(block, 7)?;
    if length > limit {
        return Err(Http2Error::Malformed { reason: "a header longer than 64 KiB" });
    }
    let (text, rest) = block.split_at_checked(length).ok_or_else(cut_short)?;
    *block = rest;
    if is_huffman {
        huffman::decode(text, out)
    } else {
        out.extend_from_slice(text);
        Ok(())
    }
}

/// Whether others on the way may put a header into a table, where its value could be guessed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// They may.
    Plain,
    /// They must not (RFC 7541, section 7.1.3).
    NeverIndexed,
}

/// Announces an empty dynamic table: then no later change of its size asks for another announcement.
pub(super) fn encode_no_table(out: &mut Vec<u8>) {
    out.push(0x20);
}

/// Appends a header; its name in lower case.
pub(super) fn encode(name: &[u8], value: &[u8], secrecy: Secrecy, out: &mut Vec<u8>) {
    let known = STATIC_TABLE.iter().position(|(known, _)| known.as_bytes() == name).map_or(0, |index| index + 1);
    let form = match secrecy {
        Secrecy::Plain => 0x00,
        Secrecy::NeverIndexed => 0x10,
    };
    encode_integer(known, 4, form, out);
    if known == 0 {
        encode_string(name, out);
    }
    encode_string(value, out);
}

fn encode_string(text: &[u8], out: &mut Vec<u8>) {
    encode_integer(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}

fn encode_integer(value: usize, prefix: u32, form: u8, out: &mut Vec<u8>) {
    let full = (1_usize << prefix) - 1;
    let low = |value: usize| value.to_le_bytes()[0];
    if value < full {
        out.push(form | low(value));
        return;
    }
    out.push(form | low(full));
    let mut rest = value - full;
    while rest >= 0x80 {
        out.push(low(rest & 0x7f) | 0x80);
        rest >>= 7;
    }
    out.push(low(rest));
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
mod tests;
