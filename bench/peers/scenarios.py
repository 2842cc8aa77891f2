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
    few: int | None = None  # in all, for tools that would not end in time: enough for their rate
    rate: float | None = None
    stream: bool = True
    one_core: bool = False  # the tool gets the last core and no other
    seconds: int = 5  # for tools that are given a time and no number
    timeout_s: int = 150
    quick: dict = field(default_factory=dict)  # what --quick changes


def timing(streams: int, itl: str, tokens: int, requests: int, spread: str, quick: int, name: str = "timing") -> Load:
    server = ("--ttft", "50ms", "--itl", itl, "--spread", spread)
    return Load(f"{name}-{streams}", "timing", streams, tokens, requests, server, quick={"requests": quick})


STALL_S = 2.0
STALL_BASE_MS = 20 + 7 * 5  # TTFT, and seven gaps of 5 ms

ALL = [
    timing(20, "10ms", 32, 700, "100ms", 200),
    timing(100, "10ms", 64, 1_000, "100ms", 300),
    timing(1_000, "10ms", 128, 4_000, "200ms", 2_000),
    timing(5_000, "100ms", 64, 10_000, "500ms", 5_000),
    Load("tokens-unpaced", "tokens", 64, 128, 60_000, ("--unpaced",), few=4_000, one_core=True,
         quick={"requests": 20_000, "few": 1_000, "seconds": 2}),
    Load("tokens-paced-100", "tokens", 100, 128, 600, ("--ttft", "50ms", "--itl", "10ms", "--spread", "100ms"),
         one_core=True, quick={"requests": 300}),
    Load("tokens-paced-1000", "tokens", 1_000, 128, 6_000, ("--ttft", "50ms", "--itl", "10ms", "--spread", "200ms"),
         one_core=True, quick={"requests": 3_000}),
    Load("requests", "requests", 64, 1, 200_000, ("--unpaced",), few=20_000, stream=False,
         quick={"requests": 100_000, "few": 5_000, "seconds": 2}),
    Load("stall", "stall", 6, 8, 2_000, ("--ttft", "20ms", "--itl", "5ms", "--stall-at", "8s", "--stall-for", "2s"),
         rate=100.0, seconds=20, quick={}),
]
