//! What a connection has still to send, and where in it the current request begins and ends.

/// Bytes for the socket. Positions count from the connection's first byte on.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    taken: usize,
    /// Position of `bytes[0]`.
    base: u64,
    /// Where the current request begins; `None` while nothing of it is queued.
    begins: Option<u64>,
    /// Where it ends; `None` while not all of it is queued.
    ends: Option<u64>,
}

impl Outbox {
    /// Makes these bytes the whole request, in place of whatever there was.
    pub(crate) fn replace(&mut self, request: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(request);
        self.taken = 0;
        self.base = 0;
        self.begins = Some(0);
        self.ends = Some(request.len() as u64);
    }

    /// Gives everything back, sent or not.
    pub(crate) fn take_all(&mut self) -> Vec<u8> {
        self.taken = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Where more can be appended.
    pub(crate) fn queue(&mut self) -> &mut Vec<u8> {
        if self.taken == self.bytes.len() {
            self.base += self.taken as u64;
            self.taken = 0;
            self.bytes.clear();
        }
        &mut self.bytes
    }

    /// The current request begins with what is appended next.
    pub(crate) fn begin_request(&mut self) {
        self.begins = Some(self.end());
        self.ends = None;
    }

    /// The current request ends with what was appended last.
    pub(crate) fn end_request(&mut self) {
        self.ends = Some(self.end());
    }

    /// What the socket has not taken yet.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// The socket has taken `n` bytes of it.
    pub fn took(&mut self, n: usize) {
        self.taken += n;
    }

    /// The socket will take no more: nothing is pending any longer.
    pub(crate) fn give_up(&mut self) {
        self.taken = self.bytes.len();
    }

    /// `true` if at least one byte of the current request is queued or taken.
    pub(crate) fn has_request(&self) -> bool {
        self.begins.is_some_and(|begins| begins < self.end())
    }

    /// `true` once the last byte of the current request was taken, and before any request.
    pub fn request_taken(&self) -> bool {
        match (self.begins, self.ends) {
            (None, _) => true,
            (Some(_), ends) => ends.is_some_and(|ends| self.base + self.taken as u64 >= ends),
        }
    }

    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}
