"""What a tool said of its run, held against what the server knows of it."""

import scenarios
import truth

METRICS = ("ttft", "gap", "tpot", "e2e")
FINEST_MS = 0.1  # the smallest error that is judged; a server that is less late than this spoils nothing
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def compare(load, figures: dict, done, outcome) -> dict:
    """One row of the report. `done` is the tool's process, `outcome` the server's end."""
    said = outcome.said
    answers, _ = truth.read(outcome.truth)
    middle = truth.steady(answers, load.tokens if load.stream else 1)
    cpu_s = done.cpu_between(middle.begin, middle.end)
    row = {
        "requests": said["requests"], "measured": figures["requests"], "errors": figures["errors"],
        "events_per_s": middle.events_per_s, "requests_per_s": middle.events_per_s * len(answers) / max(1, said["events"]),
        "first_request_s": round((said["busy_ns"][0] - done.launched_ns) / 1e9, 3), "elapsed_s": round(done.elapsed_s, 3),
        "cpu_s": round(done.cpu_s, 3), "cpu_under_load_s": round(done.cpu_between(*said["busy_ns"]), 3),
        "cpu_us_per_event": cpu_s * 1e6 / max(1, middle.events), "peak_rss_mib": round(done.peak_rss_mib, 1),
        "said": {name: value for name, value in figures.items() if isinstance(value, dict)},
    }
    row["stolen_percent"] = done.stolen * 100
    if done.pressure is not None:
        row["pressure_percent"] = done.pressure * 100
    if load.streams >= 1_000:
        row |= {f"{name}_per_1000_streams": row[name] * 1_000 / load.streams for name in ("peak_rss_mib", "cpu_under_load_s")}
    if said["late_us"]["p99"] is not None:
        row["server_late_p99_ms"] = said["late_us"]["p99"] / 1e3
    if load.kind == "timing":
        row |= errors(figures, truth.figures(answers))
        wrong = [abs(value) for name, value in row.items() if "_error_" in name]
        if wrong:
            row["server_late"] = row.get("server_late_p99_ms", 0.0) > max(*wrong, FINEST_MS)
    if load.kind == "stall":
        row |= against_closed_form(figures.get("e2e", {}), load)
    return row


def errors(figures: dict, known: dict[str, list[float]]) -> dict:
    """How far each figure lies outside of what the server's own record allows, in ms with its sign."""
    return {
        f"{name}_error_{label}_ms": truth.outside(figures[name][label], *truth.bracket(known[name], QUANTILES[label]))
        for name in METRICS for label in ("p50", "p99") if known[name] and label in figures.get(name, {})
    }


def against_closed_form(e2e: dict, load) -> dict:
    """The end-to-end time's percentiles of a run with a stall, and what they must be."""
    result = {}
    for label in ("p99", "p999"):
        if label in e2e:
            expected = closed_form(load, QUANTILES[label])
            result |= {f"stall_{label}_ms": e2e[label], f"closed_form_{label}_ms": expected, f"stall_ratio_{label}": e2e[label] / expected}
    return result


def closed_form(load, q: float) -> float:
    """Those that are due while the server is frozen wait for its end: 0 to 2 s more, evenly. ms."""
    share = 1 - load.rate * scenarios.STALL_S / load.requests
    wait = max(0.0, (q - share) / (1 - share)) * scenarios.STALL_S * 1e3
    return scenarios.STALL_BASE_MS + wait
