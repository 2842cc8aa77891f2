//! The system calls that std does not offer; the only module with `unsafe`.
//!
//! Every function here is safe to call: it owns or borrows the descriptors and buffers that it hands to the kernel for
//! as long as the call lasts.
#![expect(unsafe_code, reason = "epoll, recvmsg with control data, scheduling: no safe interface in std")]

use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{null, null_mut};

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_REALTIME`, since 1970.
pub fn realtime() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills the timespec; both clocks exist on every Linux, so the call cannot fail.
    let time = unsafe {
        libc::clock_gettime(id, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What became ready: the token given to [`Epoll::add`], and whether it can be read (or has ended) and written.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// As given to [`Epoll::add`].
    pub token: u64,
    /// There is something to read, or the peer has gone.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
}

/// A level-triggered epoll.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

/// Room for what one [`Epoll::wait`] brings.
pub struct Events(Vec<libc::epoll_event>);

impl Events {
    /// Room for `n` at a time.
    pub fn with_room_for(n: usize) -> Self {
        Self(Vec::with_capacity(n))
    }

    /// How many the last wait brought.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the last wait brought none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The `i`-th of them.
    pub fn get(&self, i: usize) -> Ready {
        let event = self.0[i];
        let bits = event.events.cast_signed();
        Ready {
            token: event.u64,
            readable: bits & (libc::EPOLLIN | libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP) != 0,
            writable: bits & libc::EPOLLOUT != 0,
        }
    }
}

impl Epoll {
    /// A new one, empty.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; a result that is not negative is a new descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { fd })
    }

    /// Watches for reading. A closed descriptor leaves by itself.
    pub fn add(&self, fd: &impl AsRawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token, libc::EPOLLIN)
    }

    /// Watches for reading and, if asked, for room to write.
    pub fn watch_writing(&self, fd: &impl AsRawFd, token: u64, writing: bool) -> io::Result<()> {
        let interest = if writing { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN };
        self.control(libc::EPOLL_CTL_MOD, fd.as_raw_fd(), token, interest)
    }

    fn control(&self, operation: i32, fd: RawFd, token: u64, interest: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.cast_unsigned(), u64: token };
        // SAFETY: the event lives until the call returns, and the kernel copies it.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &raw mut event) }).map(drop)
    }

    /// Waits until something is ready or the time (nanoseconds; `None`: for ever) is over.
    pub fn wait(&self, events: &mut Events, timeout: Option<u64>) -> io::Result<()> {
        let timeout = timeout.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        });
        let timeout = timeout.as_ref().map_or(null(), std::ptr::from_ref);
        let room = i32::try_from(events.0.capacity()).unwrap_or(i32::MAX);
        // SAFETY: the kernel writes at most `room` events into the vector's capacity and tells how many; the timespec
        // outlives the call; a null signal mask changes none. (Called by number: older C libraries have no wrapper.)
        unsafe {
            events.0.set_len(0);
            let mask: *const libc::sigset_t = null();
            let epoll = self.fd.as_raw_fd();
            let n = libc::syscall(libc::SYS_epoll_pwait2, epoll, events.0.as_mut_ptr(), room, timeout, mask, 8usize);
            match usize::try_from(n) {
                Ok(n) => events.0.set_len(n),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }
}

/// Asks the kernel to stamp what this socket receives; [`receive`] then tells when it came.
pub fn stamp_receipts(socket: &impl AsRawFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    // SAFETY: the option's value is a u32 that lives until the call returns.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            u32::try_from(size_of_val(&flags)).unwrap_or(4),
        )
    })
    .map(drop)
}

/// Reads once. The second value is the kernel's stamp of the last byte (`CLOCK_REALTIME`), where it gave one.
pub fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = [0_u64; 16]; // 128 bytes, aligned as control messages want it
    // SAFETY: msghdr is plain data, for which zero is valid. The kernel writes at most the stated lengths into `buffer`
    // and `control`, which both outlive the call. The CMSG functions walk only what the kernel said it has filled, and
    // the payload is read unaligned and only if it has the length of three timespecs.
    unsafe {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let n = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT);
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        let mut stamp = None;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let is_stamp = (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPING;
            let whole = libc::CMSG_LEN(u32::try_from(size_of::<[libc::timespec; 3]>()).unwrap_or(48));
            if is_stamp && (*header).cmsg_len as u64 >= u64::from(whole) {
                let [software, ..] = libc::CMSG_DATA(header).cast::<[libc::timespec; 3]>().read_unaligned();
                let ns = software.tv_sec.cast_unsigned() * 1_000_000_000 + software.tv_nsec.cast_unsigned();
                stamp = (ns > 0).then_some(ns);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok((n, stamp))
    }
}

/// Lets a listening socket queue as many connections as the system allows.
pub fn deepen_backlog(listener: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers; listen() on a socket that listens only changes its queue.
    check(unsafe { libc::listen(listener.as_raw_fd(), 65_535) }).map(drop)
}

/// Raises the soft limit of open files to the hard one, which root also lifts to a million where it may.
pub fn raise_open_files() {
    // SAFETY: the struct lives until each call returns. A refusal leaves the limit as it was, which is harmless here.
    unsafe {
        let million = libc::rlimit { rlim_cur: 1_000_000, rlim_max: 1_000_000 };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const million) == 0 {
            return;
        }
        let mut limit: libc::rlimit = zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Asks for the best scheduling that is permitted, and for timers without slack; returns what was got.
pub fn raise_priority() -> &'static str {
    // SAFETY: no pointers but to a parameter block that lives until the call returns.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize);
        let parameters = libc::sched_param { sched_priority: 1 };
        if libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 {
            return "fifo";
        }
        if libc::setpriority(libc::PRIO_PROCESS, 0, -20) == 0 { "nice -20" } else { "normal" }
    }
}

/// Turns SIGTERM and SIGINT into a descriptor that becomes readable.
pub fn termination() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used, and lives until the calls return; a result of
    // signalfd that is not negative is a new descriptor that nobody else owns.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), null_mut()))?;
        Ok(OwnedFd::from_raw_fd(check(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC))?))
    }
}

/// What this process has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time in its own code, seconds.
    pub user_s: f64,
    /// Processor time in the kernel on its behalf, seconds.
    pub system_s: f64,
    /// Largest resident memory, KiB.
    pub peak_rss_kib: i64,
}

impl Usage {
    /// Of this process.
    pub fn now() -> Self {
        // SAFETY: rusage is plain data, for which zero is valid; the kernel fills it.
        let usage = unsafe {
            let mut usage: libc::rusage = zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime), peak_rss_kib: usage.ru_maxrss }
    }

    /// User and system together.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
