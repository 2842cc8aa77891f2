"""What every tool is asked to do, and how the server behaves meanwhile."""

from dataclasses import dataclass, field

PROMPT_TOKENS = 32


@dataclass(frozen=True)
class Load:
    """One task, the same for every tool."""

    name: str
    kind: str  # timing, tokens, requests, stall
    streams: int  # requests in flight; with a rate: what a tool without rates is given
    tokens: int
    requests: int  # in all
    server: tuple[str, ...]
    seconds: int  # for tools that are given a time and no number
    few: int | None = None  # in all, for tools that would not end in time: enough for their rate
    rate: float | None = None
    stream: bool = True
    one_core: bool = False  # the tool gets the last core and no other
    timeout_s: int = 150
    quick: dict = field(default_factory=dict)  # what --quick changes


def paced(itl: str, spread: str) -> tuple[str, ...]:
    return ("--ttft", "50ms", "--itl", itl, "--spread", spread)


STALL_S = 2.0
STALL_BASE_MS = 20 + 7 * 5  # TTFT, and seven gaps of 5 ms

ALL = [
    Load("timing-20", "timing", 20, 32, 700, paced("10ms", "100ms"), 16, quick={"requests": 200, "seconds": 5}),
    Load("timing-100", "timing", 100, 64, 1_000, paced("10ms", "100ms"), 8, quick={"requests": 300, "seconds": 3}),
    Load("timing-1000", "timing", 1_000, 128, 4_000, paced("10ms", "200ms"), 6, timeout_s=400,
         quick={"requests": 2_000, "seconds": 3}),
    Load("timing-5000", "timing", 5_000, 64, 10_000, paced("100ms", "500ms"), 12, timeout_s=400,
         quick={"requests": 5_000, "seconds": 5}),
    Load("paced-100", "tokens", 100, 128, 600, paced("10ms", "100ms"), 8, one_core=True, quick={"requests": 300, "seconds": 4}),
    Load("paced-1000", "tokens", 1_000, 128, 6_000, paced("10ms", "200ms"), 8, few=2_000, one_core=True, timeout_s=400,
         quick={"requests": 3_000, "few": 1_000, "seconds": 4}),
    Load("unpaced", "tokens", 64, 128, 60_000, ("--unpaced",), 5, few=4_000, one_core=True, timeout_s=300,
         quick={"requests": 20_000, "few": 1_000, "seconds": 2}),
    Load("requests", "requests", 64, 1, 200_000, ("--unpaced",), 5, few=20_000, stream=False, timeout_s=300,
         quick={"requests": 100_000, "few": 5_000, "seconds": 2}),
    Load("stall", "stall", 6, 8, 2_000, ("--ttft", "20ms", "--itl", "5ms", "--stall-at", "8s", "--stall-for", "2s"), 20, rate=100.0),
]
