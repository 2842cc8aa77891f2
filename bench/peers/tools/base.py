"""What the comparison needs to know of a tool."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("KNEEPOINT_BENCH_CACHE", Path.home() / ".cache" / "kneepoint-bench"))


class NotOffered(Exception):
    """The tool cannot do this, by its own documentation."""


class Failed(Exception):
    """The tool was to do it and did not; the message says how."""


class Tool:
    """A rival. Subclasses say how it is installed, called and read."""

    name = ""
    family = "python"  # or native, or one of the two that are no rivals: kneepoint and floor
    tells_events_apart = True  # else it reads whole answers, streamed or not
    notes = ""  # how it is called, where that is not obvious from the command
    good_codes: tuple[int, ...] = (0,)  # the exit codes after which there are figures
    package = ""  # on PyPI; default: its name
    pythons = ((3, 10), (4, 0))  # the oldest that it runs on, and the first that it does not
    slow = False  # gets the load's smaller number of requests, where it has one

    def binary(self) -> Path:
        return CACHE / self.name / "bin" / self.name

    def install(self) -> None:
        """Into a folder of its own under CACHE, if it is not there. Raises Failed with the installer's last words."""
        if self.binary().exists():
            return
        folder = CACHE / self.name
        shutil.rmtree(folder, ignore_errors=True)
        sh([find_python(*self.pythons), "-m", "venv", str(folder)])
        sh([str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", self.package or self.name])

    def version(self) -> str:
        """As its package says."""
        package = self.package or self.name
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        return sh([str(CACHE / self.name / "bin" / "python"), "-c", code]).strip()

    def probe(self) -> list[str]:
        """The quickest useful call, to see how long the tool takes to start."""
        return [str(self.binary()), "--help"]

    def environment(self) -> dict[str, str]:
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160"}
        return {**os.environ, **offline, "DO_NOT_TRACK": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

    def command(self, load, url: str, out: Path, tokenizer: Path) -> list[str]:
        """The call that does this task; results go below `out`. Raises NotOffered."""
        raise NotImplementedError

    def requests(self, load) -> int:
        """How many requests this tool is to send in all."""
        return load.few if self.slow and load.few else load.requests

    def figures(self, load, out: Path, output: str) -> dict:
        """What the tool reports of the run: `requests` (measured, complete), `errors`, and in ms {"p50", "p99", perhaps "p999"} of `ttft`,
        `gap` (between chunks), `tpot` (mean gap of each request) and `e2e`, as far as it reports them. Raises Failed."""
        raise NotImplementedError


def sh(command: list[str], timeout_s: float = 3_000, **more) -> str:
    """Runs an installer or a version call, and raises Failed with its last words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{command[0]}: {error}") from error
    if done.returncode:
        raise Failed(f"`{' '.join(command[:4])} …` ended with {done.returncode}: {tail(done.stdout + done.stderr)}")
    return done.stdout


def tail(text: str, lines: int = 3) -> str:
    """The last lines that say something."""
    kept = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(kept[-lines:])[-500:]


def find_python(oldest: tuple[int, int], below: tuple[int, int]) -> str:
    """An interpreter of these versions: this one, one on the path, or one of pyenv's."""
    if oldest <= sys.version_info[:2] < below:
        return sys.executable
    names = [shutil.which(f"python3.{minor}") for minor in range(oldest[1], oldest[1] + 6)]
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))
    for candidate in [name for name in names if name] + [str(path) for path in pyenv]:
        code = f"import sys; sys.exit(not {oldest} <= sys.version_info[:2] < {below})"
        if subprocess.run([candidate, "-c", code], capture_output=True).returncode == 0:
            return candidate
    raise Failed(f"needs a Python from {oldest[0]}.{oldest[1]} on, below {below[0]}.{below[1]}, and there is none")


def read_json(path: Path) -> dict:
    """A result file; its absence is the tool's failure."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Failed(f"left no readable {path.name}: {error}") from error


def only(paths, what: str) -> Path:
    """The one file that was to be there."""
    found = sorted(paths)
    if not found:
        raise Failed(f"left no {what}")
    return found[-1]
