"""What the soak runs share: a simulated platform, Kneepoint beside it, and the client's memory while it measures."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Descriptors that a process needs beside its connections.
SPARE_FILES = 150


def die(message):
    print(f"bench/soak: {message}", file=sys.stderr)
    sys.exit(3)


def say(message):
    print(message, file=sys.stderr, flush=True)


def binary():
    """The release binary: $KNEEPOINT, or built from this tree."""
    named = os.environ.get("KNEEPOINT")
    if named:
        return named
    built = subprocess.run(["cargo", "build", "--release", "-p", "kneepoint-cli"], cwd=ROOT)
    if built.returncode != 0:
        die("the release binary could not be built")
    return str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "kneepoint")


def raise_file_limit(streams):
    """Every stream is a descriptor, in the client and in the simulator."""
    needed = streams + SPARE_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        die(
            f"{streams} streams need {needed} open files a process, and no more than {hard} may be opened here; "
            f"as root: `ulimit -n {needed}` before this, or `nofile` in /etc/security/limits.conf"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    if high - low < streams:
        die(
            f"{streams} streams need as many ports, and the system gives {high - low}; "
            "as root: `sysctl net.ipv4.ip_local_port_range='1024 65535'`"
        )


class Simulator:
    """`kneepoint sim` with a profile of its own; its address is `url`."""

    def __init__(self, kneepoint, folder, profile):
        path = Path(folder) / "profile.yaml"
        path.write_text(profile)
        command = [kneepoint, "sim", "--profile", str(path), "--port", "0", "--quiet"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            die("the simulator did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def resident_kb(pid):
    """Resident memory of a process, kB; None once it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


def measuring(bundle):
    """True while the run is on: what follows it (the summary) reads all records again and is another matter."""
    try:
        return json.loads((bundle / "manifest.json").read_text())["ended"] is None
    except (OSError, ValueError):
        return False


class Run:
    """One run of a plan to its end: `samples` is the resident memory in kB by seconds since the first point began."""

    def __init__(self, kneepoint, folder, plan, every_s=1.0):
        self.bundle = Path(folder) / "bundle"
        path = Path(folder) / "plan.yaml"
        path.write_text(plan)
        command = [kneepoint, "run", str(path), "--out", str(self.bundle), "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.samples, began = [], None
        while process.poll() is None:
            if measuring(self.bundle):
                began = began if began is not None else time.monotonic()
                kb = resident_kb(process.pid)
                if kb is not None:
                    self.samples.append((time.monotonic() - began, kb))
            time.sleep(every_s)
        self.code = process.returncode
        if self.code not in (0, 3):
            die(f"`kneepoint run` ended with {self.code}")
        self.point = json.loads((self.bundle / "summary.json").read_text())["points"][0]

    def peak_kb(self):
        return max(kb for _, kb in self.samples)

    def failures(self):
        """Failures of the client's side, and of the others', by kind."""
        requests = self.point["requests"]
        by_kind = requests.get("failed_by_kind_and_side", {})
        client = {kind: sides["client"] for kind, sides in by_kind.items() if "client" in sides}
        others = {kind: n for kind, sides in by_kind.items() for side, n in sides.items() if side != "client"}
        return client, others


def workspace(keep):
    """A folder for one soak run; kept where the user names one."""
    if keep:
        Path(keep).mkdir(parents=True)
        return keep, lambda: None
    folder = tempfile.mkdtemp(prefix="kneepoint-soak-")
    return folder, lambda: shutil.rmtree(folder, ignore_errors=True)
