//! What the client's machine is, and how much of it this process uses.

use kneepoint_model::Nanos;
use kneepoint_model::bundle::Host;
use rustix::time::{ClockId, clock_gettime};

/// The machine, as the system describes it.
pub fn describe() -> Host {
    let system = rustix::system::uname();
    Host {
        os: format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: cpu_name(),
        cores: cores(),
        memory_bytes: memory_bytes(),
    }
}

/// Logical cores available to this process.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// CPU time used by this process so far.
pub fn process_cpu() -> Nanos {
    cpu(ClockId::ProcessCPUTime)
}

/// CPU time used by the calling thread so far.
pub fn thread_cpu() -> Nanos {
    cpu(ClockId::ThreadCPUTime)
}

fn cpu(clock: ClockId) -> Nanos {
    let at = clock_gettime(clock);
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(at.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// How long the calling thread has so far waited for a processor while it could have run; `None` where the system does
/// not tell (Linux does, in `schedstat`).
pub fn thread_waited() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Asks that the calling thread be woken before others; `true` if the system grants it (it does to root).
///
/// A measuring thread sleeps nearly always. Where the server under test or anything else keeps the cores busy, it would
/// otherwise wait its turn for milliseconds between a packet's arrival and its reading.
pub fn raise_thread_priority() -> bool {
    // On Linux this is the calling thread, not the process.
    cfg!(target_os = "linux") && rustix::process::setpriority_process(None, WORKER_NICENESS).is_ok()
}

/// Well ahead of ordinary processes, behind the system's own real-time ones.
const WORKER_NICENESS: i32 = -15;

/// Raises the limit on open files to what the system allows this process; returns the limit in force.
///
/// Every open request holds a socket, so the usual soft limit of 1,024 would cap an open loop unseen.
pub fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // Refused: the limit stays as it was, and requests that hit it are counted as the client's failures.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    getrlimit(Resource::Nofile).current
}

fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_advances_with_work() {
        let before = thread_cpu();
        let mut x = 1_u64;
        while thread_cpu() == before {
            x = std::hint::black_box(x.wrapping_mul(31));
        }
        assert!(thread_cpu() > before && process_cpu() >= thread_cpu().saturating_sub(before));
    }
}
