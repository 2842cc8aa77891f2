"""What the comparison ran on, and programs measured from outside: processor time and memory of a tool and its children."""

import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
SAMPLE_EVERY_S = 0.1


def waited_s() -> float | None:
    """For how long, since the machine started, some task waited for a processor."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return int(some.rsplit("total=", 1)[1]) / 1e6


def stolen_s() -> float:
    """Processor time, since the machine started, that was not given to this (virtual) machine."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / TICK


def describe() -> dict:
    """The machine, as the report names it."""
    cpu = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": cpu[0] if cpu else platform.machine(), "cores": os.cpu_count(), "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(), "load_before": os.getloadavg()[0],
    }


@dataclass
class Finished:
    """A program that ran: how it ended, what it printed, what it used."""

    command: list[str]
    code: int | None  # None: stopped, because its time was over
    launched_ns: int  # CLOCK_MONOTONIC, as the server's truth
    elapsed_s: float
    cpu_s: float  # all its processes, from launch to exit
    peak_rss_mib: float  # the largest sum over its processes
    output: str
    pressure: float | None = None  # share of the time in which some task waited for a processor; None: the kernel does not say
    stolen: float = 0.0  # share of all cores' time that the machine below this one took
    samples: list[tuple[int, float]] = field(default_factory=list)  # (CLOCK_MONOTONIC ns, cpu_s so far)

    def cpu_between(self, begin_ns: int, end_ns: int) -> float:
        """Processor seconds within these instants, between samples by interpolation."""
        return self._cpu_at(end_ns) - self._cpu_at(begin_ns)

    def _cpu_at(self, instant: int) -> float:
        before = (self.launched_ns, 0.0)
        for sample in self.samples:
            if sample[0] >= instant:
                share = (instant - before[0]) / max(1, sample[0] - before[0])
                return before[1] + share * (sample[1] - before[1])
            before = sample
        return before[1]


class Watcher(threading.Thread):
    """Sums processor time and resident memory over a process and its descendants, ten times a second."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid = pid
        self.stop = threading.Event()
        self.samples: list[tuple[int, float]] = []
        self.peak_kib = 0
        self._cpu: dict[int, float] = {}  # also of those that have ended

    def run(self) -> None:
        while not self.stop.wait(SAMPLE_EVERY_S):
            rss = 0
            for pid in descendants(self.pid):
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                except (OSError, IndexError):
                    continue
                self._cpu[pid] = (int(fields[11]) + int(fields[12])) / TICK
                rss += int(fields[21]) * PAGE_KIB
            self.peak_kib = max(self.peak_kib, rss)
            self.samples.append((time.monotonic_ns(), sum(self._cpu.values())))


def descendants(pid: int) -> list[int]:
    """The process and all below it."""
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def run(command: list[str], timeout_s: float, cwd: Path, env: dict[str, str], cores: set[int] | None = None) -> Finished:
    """Runs to the end, or for so long; on these cores if they are named."""
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    with open(cwd / "output.txt", "w+b") as output:
        waited, stolen = waited_s(), stolen_s()
        launched, before = time.monotonic_ns(), time.monotonic()
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=pin)
        watcher = Watcher(process.pid)
        watcher.start()
        timer = threading.Timer(timeout_s, _end, [process])
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:  # also where this program itself is told to end
            elapsed = time.monotonic() - before
            in_time = timer.is_alive()
            timer.cancel()
            watcher.stop.set()
            watcher.join()
            _end(process)  # what it may have left behind
        output.seek(0)
        text = output.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = max(usage.ru_utime + usage.ru_stime, watcher.samples[-1][1] if watcher.samples else 0.0)
    # ru_maxrss is no use: a child's begins with what this process held when it forked.
    peak = watcher.peak_kib / 1024
    samples = watcher.samples + [(time.monotonic_ns(), cpu)]
    pressure = None if waited is None else (waited_s() - waited) / elapsed
    taken = (stolen_s() - stolen) / elapsed / (os.cpu_count() or 1)
    return Finished(command, process.returncode if in_time else None, launched, elapsed, cpu, peak, text, pressure, taken, samples)


def _end(process: subprocess.Popen) -> None:
    """Ends the session that the process leads: only what we started."""
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        pass


def end_when_told() -> None:
    """SIGTERM ends this program as Ctrl-C does, so that what it started does not outlive it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def raise_open_files() -> None:
    """As high as it may be; tools inherit it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for limit in (1_000_000, hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, max(limit, hard)))
            return
        except (ValueError, OSError):
            continue
