"""The reference server, once for every run of a tool."""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Outcome:
    """What the server says when it ends."""

    said: dict
    truth: Path | None


class Server:
    """Runs while the `with` block does, on core 0, at the priority that it gets."""

    def __init__(self, binary: Path, arguments: list[str], truth: Path | None):
        self._command = [str(binary), *arguments]
        self._truth = truth
        if truth is not None:
            self._command += ["--truth", str(truth)]

    def __enter__(self) -> "Server":
        pin = (lambda: os.sched_setaffinity(0, {0})) if (os.cpu_count() or 1) > 1 else None
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, preexec_fn=pin)
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"the reference server did not start: {self._command}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def end(self) -> Outcome:
        """Ends it and takes what it says."""
        self._process.send_signal(signal.SIGTERM)
        output, _ = self._process.communicate(timeout=60)
        return Outcome(json.loads(output.strip().splitlines()[-1]), self._truth)
