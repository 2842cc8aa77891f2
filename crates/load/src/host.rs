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
