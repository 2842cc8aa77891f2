"""How evenly requests left, from the records of a bundle."""

import json
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path

CV_LIMIT = 0.01  # coefficient of variation of the inter-arrival times
LAG_P99_LIMIT_MS = 0.3


@dataclass
class Spacing:
    """What is judged of a schedule at a constant rate."""

    requests: int
    cv: float  # standard deviation ÷ mean of the gaps between dispatches
    lag_p50_ms: float  # dispatched − intended
    lag_p99_ms: float
    lag_max_ms: float

    def missed(self) -> list[str]:
        """The limits that are missed, in words."""
        words = []
        if not self.cv < CV_LIMIT:
            words.append(f"coefficient of variation {self.cv:.2%}, limit < {CV_LIMIT:.0%}")
        if not self.lag_p99_ms < LAG_P99_LIMIT_MS:
            words.append(f"p99 lag {self.lag_p99_ms:.3f} ms, limit < {LAG_P99_LIMIT_MS} ms")
        return words


def read(bundle: Path) -> list[dict]:
    """The records of the measured window."""
    text = subprocess.run(["zstd", "-dcq", str(bundle / "requests.jsonl.zst")], capture_output=True, check=True).stdout
    return [record for record in map(json.loads, text.splitlines()) if record["phase"] == "measured"]


def judge(records: list[dict]) -> Spacing:
    """Of the requests by the order of their intended times. Raises ValueError where there is nothing to judge."""
    due = sorted(record["intended_ns"] for record in records)
    sent = sorted((record["intended_ns"], record["dispatched_ns"]) for record in records if "dispatched_ns" in record)
    if len(sent) < 3:
        raise ValueError(f"{len(sent)} requests were dispatched: too few to judge")
    if len(sent) < len(due):
        raise ValueError(f"{len(due) - len(sent)} of {len(due)} requests were never dispatched: no schedule was kept")
    lags = sorted((dispatched - intended) / 1e6 for intended, dispatched in sent)
    return Spacing(len(sent), variation([dispatched for _, dispatched in sent]), *(quantile(lags, q) for q in (0.5, 0.99, 1.0)))


def variation(instants: list[int]) -> float:
    """The coefficient of variation of the gaps between neighbours, in the order given."""
    gaps = [later - earlier for earlier, later in zip(instants, instants[1:])]
    mean = sum(gaps) / len(gaps)
    return math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)) / mean


def quantile(ordered: list[float], q: float) -> float:
    """By nearest rank."""
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]
