//! Reading a socket together with the kernel's receive time stamp (`SO_TIMESTAMPING`).
//!
//! The kernel stamps a packet when it arrives, before the client's thread is even woken: on a busy machine the two are
//! milliseconds apart, and that difference is the client's, not the platform's. Where the system has no such stamps, or
//! a packet came without one, the caller stamps right after the read. Safe wrappers only: `nix` holds the system calls.

use std::io;

use mio::net::TcpStream;

use kneepoint_model::Nanos;

/// Buffers for reading, shared by all connections of a thread.
#[derive(Debug)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    control: Vec<u8>,
}

impl ReadBuffer {
    /// Buffers for reads of up to `size` bytes; at least 1.
    pub fn new(size: usize) -> Self {
        Self { bytes: vec![0; size.max(1)], control: linux::control_buffer() }
    }
}

/// What one read brought.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) bytes: &'a [u8],
    /// `true` if more may be waiting: the buffer was filled.
    pub(crate) filled: bool,
    /// When the last packet of these bytes arrived, on the system's real-time clock.
    pub(crate) kernel: Option<Nanos>,
}

/// Asks the kernel to stamp what this socket receives; `false` where it will not.
pub(crate) fn ask_for_stamps(socket: &TcpStream) -> bool {
    linux::ask_for_stamps(socket)
}

/// One read. No bytes means that the peer has closed its side.
pub(crate) fn read<'a>(socket: &mut TcpStream, stamped: bool, buffer: &'a mut ReadBuffer) -> io::Result<Read<'a>> {
    let size = buffer.bytes.len();
    let (n, kernel) =
        if stamped { linux::read(socket, buffer)? } else { (io::Read::read(socket, &mut buffer.bytes)?, None) };
    Ok(Read { bytes: &buffer.bytes[..n], filled: n == size, kernel })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IoSliceMut};
    use std::os::fd::AsRawFd;

    use kneepoint_model::Nanos;
    use mio::net::TcpStream;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt, sockopt};
    use nix::sys::time::TimeSpec;

    use super::ReadBuffer;

    pub(super) fn control_buffer() -> Vec<u8> {
        nix::cmsg_space!(Timestamps)
    }

    pub(super) fn ask_for_stamps(socket: &TcpStream) -> bool {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        setsockopt(socket, sockopt::Timestamping, &flags).is_ok()
    }

    pub(super) fn read(socket: &TcpStream, buffer: &mut ReadBuffer) -> io::Result<(usize, Option<Nanos>)> {
        let mut pieces = [IoSliceMut::new(&mut buffer.bytes)];
        let control = Some(buffer.control.as_mut_slice());
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut pieces, control, MsgFlags::empty())?;
        let stamp = message.cmsgs().ok().and_then(|mut messages| {
            messages.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampsns(stamps) => nanos(stamps.system),
                _ => None,
            })
        });
        Ok((message.bytes, stamp))
    }

    /// Nanoseconds since the Unix epoch; an empty stamp is none.
    fn nanos(stamp: TimeSpec) -> Option<Nanos> {
        let seconds = u64::try_from(stamp.tv_sec()).ok().filter(|seconds| *seconds > 0)?;
        let rest = u64::try_from(stamp.tv_nsec()).ok()?;
        Some(Nanos(seconds.checked_mul(1_000_000_000)?.checked_add(rest)?))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use std::io;

    use kneepoint_model::Nanos;
    use mio::net::TcpStream;

    use super::ReadBuffer;

    pub(super) fn control_buffer() -> Vec<u8> {
        Vec::new()
    }

    pub(super) fn ask_for_stamps(_socket: &TcpStream) -> bool {
        false
    }

    pub(super) fn read(socket: &mut TcpStream, buffer: &mut ReadBuffer) -> io::Result<(usize, Option<Nanos>)> {
        Ok((io::Read::read(socket, &mut buffer.bytes)?, None))
    }
}
