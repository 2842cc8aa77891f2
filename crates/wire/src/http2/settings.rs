//! SETTINGS (RFC 9113, section 6.5): what the two ends allow each other.

use super::error::{ErrorCode, Http2Error};
use super::frame::{self, kind};

const ENABLE_PUSH: u16 = 2;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Largest flow-control window.
pub(super) const MAX_WINDOW: i64 = 0x7fff_ffff;

/// Appends this client's own settings: no pushes, a stream's window, and the longest header list.
pub(super) fn push_own(window: u32, header_list: usize, out: &mut Vec<u8>) {
    let header_list = u32::try_from(header_list).unwrap_or(u32::MAX);
    let mut payload = Vec::with_capacity(18);
    for (id, value) in [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, window), (MAX_HEADER_LIST_SIZE, header_list)] {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame::push(kind::SETTINGS, 0, 0, &payload, out);
}

/// What the server allows. Its header table is of no use to a client that sends literals; its limit on streams is left
/// to the server to hold, since there is one stream at a time: a server that allows none refuses it, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// Bytes a new stream may bring before the first `WINDOW_UPDATE`.
    pub(super) initial_window: u32,
    /// Longest payload of a frame.
    pub(super) max_frame: usize,
}

impl Default for Peer {
    /// What the protocol says before the server does.
    fn default() -> Self {
        Self { initial_window: 65_535, max_frame: 16_384 }
    }
}

impl Peer {
    /// Takes the payload of a SETTINGS frame.
    pub(super) fn apply(&mut self, payload: &[u8]) -> Result<(), Http2Error> {
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(Http2Error::frame_size("SETTINGS of a broken length"));
        }
        for &[a, b, c, d, e, f] in settings {
            let value = u32::from_be_bytes([c, d, e, f]);
            match u16::from_be_bytes([a, b]) {
                ENABLE_PUSH if value != 0 => return Err(Http2Error::protocol("a server that asks for pushes")),
                INITIAL_WINDOW_SIZE if i64::from(value) > MAX_WINDOW => {
                    let reason = "an initial window beyond 2^31 - 1";
                    return Err(Http2Error::Protocol { code: ErrorCode::FLOW_CONTROL_ERROR, reason });
                }
                INITIAL_WINDOW_SIZE => self.initial_window = value,
                MAX_FRAME_SIZE => {
                    let size = usize::try_from(value).ok().filter(|size| (16_384..1 << 24).contains(size));
                    self.max_frame = size.ok_or(Http2Error::protocol("a frame size that may not be allowed"))?;
                }
                // Unknown settings are to be ignored (RFC 9113, section 6.5.2).
                _ => {}
            }
        }
        Ok(())
    }
}
