//! Server-sent events: bytes in, events out, however the bytes are cut.
//!
//! Follows the WHATWG rules for the event stream format, with the three departures that real servers force on a
//! client: the non-standard field `error` and the status comment `:HTTP_STATUS/n` are kept, an end marker ends the
//! stream at the end of its line, and an event left open at the end of the body is still given out. Knows nothing of
//! JSON, HTTP or time.

use memchr::memchr2;

/// Longest event by default, all its lines together, in bytes.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// One event. Slices live until the sink returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` field; empty if there was none.
    pub name: &'a [u8],
    /// The `data` lines joined by LF.
    pub data: &'a [u8],
    /// The non-standard `error` field, which old llama.cpp servers send instead of `data`.
    pub error: Option<&'a [u8]>,
    /// An HTTP status given inside the event as `:HTTP_STATUS/429` (Alibaba `DashScope`).
    pub status: Option<u16>,
}

/// A line or an event is longer than the limit: nothing more will be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct TooLong {
    /// The limit that was passed, in bytes.
    pub limit: usize,
}

/// The decoder. One for a stream; [`SseDecoder::reset`] readies it for another and keeps its buffers.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    end_marker: &'static [u8],
    /// A line whose end has not come yet.
    line: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// No line has ended yet: a byte order mark may stand before it.
    at_start: bool,
    event: OpenEvent,
}

/// What has come of the event that is still open.
#[derive(Debug, Default)]
struct OpenEvent {
    name: Vec<u8>,
    data: Vec<u8>,
    error: Vec<u8>,
    has_data: bool,
    has_error: bool,
    status: Option<u16>,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT, b"")
    }
}

impl SseDecoder {
    /// A decoder for one stream.
    ///
    /// `limit` bounds one event in bytes. A line `data: <end_marker>` which begins an event's data is given out as an
    /// event at the end of that line, since some servers send no blank line after it and leave the connection open;
    /// an empty marker switches this off.
    pub fn new(limit: usize, end_marker: &'static [u8]) -> Self {
        Self { limit, end_marker, line: Vec::new(), after_cr: false, at_start: true, event: OpenEvent::default() }
    }

    /// Forgets the stream and keeps the buffers.
    pub fn reset(&mut self) {
        self.line.clear();
        self.after_cr = false;
        self.at_start = true;
        self.event.clear();
    }

    /// Takes the next bytes of the stream and hands every event they complete to `sink`, in order.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) -> Result<(), TooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            if bytes[0] == b'\n' {
                bytes = &bytes[1..];
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (head, terminator, mut rest) = (&bytes[..end], bytes[end], &bytes[end + 1..]);
            self.check(head.len())?;
            if self.line.is_empty()
                && self.event.is_untouched()
                && let Some(data) = data_of(head)
                && let Some(after) = after_blank_line(terminator, rest)
            {
                // The common event lies whole in one read: it is lent from there. An end marker needs no case of its
                // own, since the blank line after one closes nothing.
                self.at_start = false;
                sink(SseEvent { name: b"", data, error: None, status: None });
                bytes = after;
                continue;
            }
            if self.line.is_empty() {
                self.end_of_line(head, sink);
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                self.end_of_line(&line, sink);
                self.line = line;
                self.line.clear();
            }
            if terminator == b'\r' {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            bytes = rest;
        }
        self.check(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The stream has ended: gives out an event that no blank line closed. The decoder is then ready for another.
    pub fn finish(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.end_of_line(&line, sink);
            self.line = line;
        }
        self.event.dispatch(sink);
        self.reset();
    }

    fn check(&self, more: usize) -> Result<(), TooLong> {
        let held = self.line.len() + self.event.data.len() + self.event.error.len() + self.event.name.len();
        if held + more > self.limit { Err(TooLong { limit: self.limit }) } else { Ok(()) }
    }

    fn end_of_line(&mut self, mut line: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) {
        if self.at_start {
            self.at_start = false;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.event.dispatch(sink);
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if !self.end_marker.is_empty() && !self.event.has_data && value == self.end_marker {
                    self.event.has_data = true;
                    self.event.data.extend_from_slice(value);
                    self.event.dispatch(sink);
                    return;
                }
                self.event.push_data(value);
            }
            b"event" => {
                self.event.name.clear();
                self.event.name.extend_from_slice(value);
            }
            b"error" => {
                self.event.error.clear();
                self.event.error.extend_from_slice(value);
                self.event.has_error = true;
            }
            b"" => self.event.status = status_comment(value).or(self.event.status),
            // `id` and `retry` serve reconnection, which a measuring client never does; other fields are ignored
            // as the standard says.
            _ => {}
        }
    }
}

impl OpenEvent {
    /// Nothing of it has come that would be in it when it is given out.
    fn is_untouched(&self) -> bool {
        !self.has_data && !self.has_error && self.name.is_empty() && self.status.is_none()
    }

    fn push_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    /// Gives the event out if it carries anything, and starts the next.
    fn dispatch(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        if self.has_data || self.has_error {
            sink(SseEvent {
                name: &self.name,
                data: &self.data,
                error: self.has_error.then_some(&self.error[..]),
                status: self.status,
            });
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.name.clear();
        self.data.clear();
        self.error.clear();
        self.has_data = false;
        self.has_error = false;
        self.status = None;
    }
}

/// What a `data` line holds.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data:")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// What follows a blank line that is here whole, straight after a line that ended with `terminator`. Only with all line
/// ends LF or all CRLF, so that no half of one is left for the next read.
fn after_blank_line(terminator: u8, rest: &[u8]) -> Option<&[u8]> {
    rest.strip_prefix(if terminator == b'\n' { b"\n".as_slice() } else { b"\n\r\n".as_slice() })
}

/// The status in a comment `:HTTP_STATUS/429`.
fn status_comment(comment: &[u8]) -> Option<u16> {
    let digits = comment.strip_prefix(b"HTTP_STATUS/")?;
    std::str::from_utf8(digits).ok()?.trim_ascii_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every event as `name|data`, `!error` and `#status` appended where there is one.
    #[track_caller]
    fn check(parts: &[&str], expect: &[&str]) {
        let mut decoder = SseDecoder::new(DEFAULT_LIMIT, b"[DONE]");
        let mut events = Vec::new();
        let mut sink = |event: SseEvent<'_>| {
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            let mut line = format!("{}|{}", text(event.name), text(event.data));
            if let Some(error) = event.error {
                line.push('!');
                line.push_str(&text(error));
            }
            if let Some(status) = event.status {
                line.push('#');
                line.push_str(&status.to_string());
            }
            events.push(line);
        };
        for part in parts {
            decoder.feed(part.as_bytes(), &mut sink).expect("short enough");
        }
        decoder.finish(&mut sink);
        assert_eq!(events, expect);
    }

    #[test]
    fn an_event_whole_in_one_read_is_not_copied() {
        for wire in [&b"data: abc\n\n"[..], b"data: abc\r\n\r\n", b"\ndata: abc\n\n"] {
            let mut decoder = SseDecoder::default();
            let mut lent = false;
            decoder.feed(wire, &mut |e| lent = wire.as_ptr_range().contains(&e.data.as_ptr())).expect("short");
            assert!(lent, "{wire:?}");
        }
    }

    #[test]
    fn what_came_before_an_event_in_the_read_before_stays_in_it() {
        check(&["event: x\n", "data: a\n\n"], &["x|a"]);
        check(&["data: a\n", "data: b\n\n"], &["|a\nb"]);
        check(&["error: e\n", "data: b\n\n"], &["|b!e"]);
        check(&[":HTTP_STATUS/500\n", "data: b\n\n"], &["|b#500"]);
        check(&["da", "ta: b\n\n", "data: [DONE]\n\n"], &["|b", "|[DONE]"]);
    }

    #[test]
    fn one_space_at_most_is_stripped() {
        check(&["data:{}\n\ndata: {}\n\ndata:  {}\n\n"], &["|{}", "|{}", "| {}"]);
    }

    #[test]
    fn lines_end_with_lf_cr_or_crlf() {
        check(&["data: a\n\ndata: b\r\rdata: c\r\n\r\n"], &["|a", "|b", "|c"]);
        check(&["data: a\r", "\n\r", "\ndata: b\r", "\rdata: c\n\n"], &["|a", "|b", "|c"]);
    }

    #[test]
    fn a_mark_at_the_very_start_is_skipped_even_when_cut() {
        check(&["\u{feff}data: a\n\n"], &["|a"]);
        check(&["data: a\n\n\u{feff}data: b\n\n"], &["|a"]);
        let mut decoder = SseDecoder::default();
        let mut n = 0;
        for byte in b"\xef\xbb\xbfdata: a\n\n" {
            decoder.feed(&[*byte], &mut |event| n += usize::from(event.data == b"a")).expect("short enough");
        }
        assert_eq!(n, 1);
    }

    #[test]
    fn data_lines_join_and_comments_vanish() {
        check(&[": ping\n\n:\n\ndata: a\n: inside\ndata: b\nid: 7\nretry: 1\nfoo\n\n"], &["|a\nb"]);
    }

    #[test]
    fn unicode_line_separators_are_text() {
        check(&["data: a\u{2028}b\u{85}c\n\n"], &["|a\u{2028}b\u{85}c"]);
    }

    #[test]
    fn names_errors_and_status_comments_are_kept() {
        check(&["event: error\n:HTTP_STATUS/429\ndata: {}\n\ndata: x\n\n"], &["error|{}#429", "|x"]);
        check(&["error: {\"code\":500}\n\ndata: [DONE]\n\n"], &["|!{\"code\":500}", "|[DONE]"]);
    }

    #[test]
    fn the_end_marker_needs_no_blank_line() {
        let mut decoder = SseDecoder::new(DEFAULT_LIMIT, b"[DONE]");
        let mut ended = 0;
        decoder.feed(b"data: x\n\ndata: [DO", &mut |e| ended += usize::from(e.data == b"[DONE]")).expect("short");
        assert_eq!(ended, 0);
        decoder.feed(b"NE]\n", &mut |e| ended += usize::from(e.data == b"[DONE]")).expect("short");
        assert_eq!(ended, 1);
    }

    #[test]
    fn an_open_event_is_given_out_at_the_end() {
        check(&["data: a\n\ndata: b"], &["|a", "|b"]);
        check(&["data: a\ndata"], &["|a\n"]);
        check(&["event: lonely\n"], &[]);
    }

    #[test]
    fn a_line_over_the_limit_is_an_error_before_it_is_held() {
        let mut decoder = SseDecoder::new(10, b"");
        assert_eq!(decoder.feed(b"data: 12345678", &mut |_| ()), Err(TooLong { limit: 10 }));
        let mut decoder = SseDecoder::new(10, b"");
        let mut fed = Ok(());
        for _ in 0..6 {
            fed = fed.and_then(|()| decoder.feed(b"data: 12\n", &mut |_| ()));
        }
        assert_eq!(fed, Err(TooLong { limit: 10 }));
    }
}
