"""The server's own record of a run (format: bench/reference/src/truth.rs) and percentiles of it."""

import array
import math
import struct
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct("<8sQQQqq")
REQUEST = struct.Struct("<QQQQIIHBBI")


@dataclass
class Answered:
    """One request as the server saw it; instants in ns of CLOCK_MONOTONIC."""

    received: int
    written: int  # 0: cut off
    connection: int
    stream: bool
    events: array.array

    @property
    def ttft(self) -> int:
        return self.events[0] - self.received

    @property
    def e2e(self) -> int:
        return self.events[-1] - self.received

    @property
    def gaps(self) -> list[int]:
        return [later - earlier for earlier, later in zip(self.events, self.events[1:])]

    @property
    def tpot(self) -> float | None:
        return (self.events[-1] - self.events[0]) / (len(self.events) - 1) if len(self.events) > 1 else None


def read(path: Path) -> tuple[list[Answered], int]:
    """All complete answers by the order of receipt, and CLOCK_REALTIME − CLOCK_MONOTONIC."""
    data = path.read_bytes()
    magic, count, _, _, offset, _ = HEADER.unpack_from(data)
    if magic != b"KPTRUTH1":
        raise ValueError(f"{path} is no truth file")
    at, answers = HEADER.size, []
    for _ in range(count):
        received, _, written, _, connection, _, _, stream, key, n = REQUEST.unpack_from(data, at)
        at += REQUEST.size + key
        events = array.array("Q", data[at:at + 8 * n])
        at += 8 * n
        if written and events:
            answers.append(Answered(received, written, connection, bool(stream), events))
    answers.sort(key=lambda answer: answer.received)
    return answers, offset


def bracket(values: list[float], q: float) -> tuple[float, float]:
    """The neighbours between which every usual definition of the quantile lies. `values` are sorted."""
    n = len(values)
    return values[max(0, math.floor(q * (n - 1)))], values[min(n - 1, math.ceil(q * n))]


def quantile(values: list[float], q: float) -> float:
    """By nearest rank. `values` are sorted."""
    return values[max(0, math.ceil(q * len(values)) - 1)]


def outside(figure: float, low: float, high: float) -> float:
    """How far the figure lies outside of the bracket, with its sign; 0 within."""
    return figure - high if figure > high else figure - low if figure < low else 0.0


def figures(answers: list[Answered]) -> dict[str, list[float]]:
    """Sorted milliseconds of each metric, by the names that the tools' figures use."""
    series = {
        "ttft": [answer.ttft for answer in answers],
        "gap": [gap for answer in answers for gap in answer.gaps],
        "tpot": [answer.tpot for answer in answers if answer.tpot is not None],
        "e2e": [answer.e2e for answer in answers],
    }
    return {name: sorted(value / 1e6 for value in values) for name, values in series.items()}
