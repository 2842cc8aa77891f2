"""The server's own record of a run (format: bench/reference/src/truth.rs) and percentiles of it."""

import array
import math
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct("<8sQQQqq")
REQUEST = struct.Struct("<QQQQIIHBBI")
MS = 1_000_000


@dataclass
class Answered:
    """One request as the server saw it; instants in ns of CLOCK_MONOTONIC."""

    received: int
    written: int  # 0: cut off
    connection: int
    stream: bool
    events: array.array  # none where the answer is not paced

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
        if written:
            answers.append(Answered(received, written, connection, bool(stream), events))
    answers.sort(key=lambda answer: answer.received)
    return answers, offset


@dataclass
class Steady:
    """The middle of a run: without what a tool asks beforehand, without its beginning and its end."""

    begin: int  # ns of CLOCK_MONOTONIC
    end: int
    events: int

    @property
    def events_per_s(self) -> float:
        return self.events * 1e9 / max(1, self.end - self.begin)


def steady(answers: list[Answered], events_at_once: int = 1, trim: float = 0.1) -> Steady:
    """From the instant when this share of all events was written until the same share is left, to the millisecond.
    An answer that is not paced has `events_at_once`."""
    bins: Counter[int] = Counter()
    for answer in answers:
        if answer.events:
            bins.update(instant // MS for instant in answer.events)
        else:
            bins[answer.written // MS] += events_at_once
    total, seen, inside = sum(bins.values()), 0, []
    for instant in sorted(bins):
        if trim * total <= seen < (1 - trim) * total:
            inside.append(instant)
        seen += bins[instant]
    if not inside:
        return Steady(0, 0, 0)
    return Steady(inside[0] * MS, (inside[-1] + 1) * MS, sum(bins[instant] for instant in inside))


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
    answers = [answer for answer in answers if answer.events]
    series = {
        "ttft": [answer.ttft for answer in answers],
        "gap": [gap for answer in answers for gap in answer.gaps],
        "tpot": [answer.tpot for answer in answers if answer.tpot is not None],
        "e2e": [answer.e2e for answer in answers],
    }
    return {name: sorted(value / 1e6 for value in values) for name, values in series.items()}
