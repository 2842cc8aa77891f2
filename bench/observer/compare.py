#!/usr/bin/env python3
"""Holds a bundle's time stamps against a packet capture of the same run.

  compare.py one --capture FILE.pcap --port PORT --bundle DIR --label TEXT --json FILE   compare, write the result
  compare.py summary FILE.json ...                     table of results; several with one label are repeats

Exit codes: 0 they agree; 1 a limit is missed; 2 the two cannot be compared (the text says why).
Needs python3 and the command line tool `zstd`.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

from answers import exchanges
from capture import CaptureError, connections

# Nanoseconds. "Less than": a difference that reaches its limit has missed it.
MEDIAN_LIMIT = 200_000
P99_LIMIT = 1_000_000
# A p99 of fewer is refused, here as in every report of Kneepoint: it would be the second-largest difference or so.
P99_SAMPLES = 662
# Once the clocks are aligned, the packet of a request must have left this close to the instant which its record names.
SAME_REQUEST = 20_000_000


def records(bundle):
    """The bundle's records in the order of sending, those that were never sent left out."""
    packed = pathlib.Path(bundle) / "requests.jsonl.zst"
    done = subprocess.run(["zstd", "-dcq", str(packed)], capture_output=True, check=False)
    if done.returncode:
        raise CaptureError(f"zstd: {done.stderr.decode().strip()}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted((record for record in found if "sent_ns" in record), key=lambda record: record["sent_ns"])


def captured(path, port):
    """The capture's generation requests in the order of sending; requests for model lists and the like left out."""
    with open(path, "rb") as file:
        found = [exchange for connection in connections(file, port) for exchange in exchanges(connection)]
    found = [exchange for exchange in found if exchange.method == "POST" and exchange.path.endswith("/completions")]
    return sorted(found, key=lambda exchange: exchange.sent)


def match(found, recorded):
    """Pairs of (record, exchange), each record with its own packets; refuses whatever is not certain.

    The client's look at the platform comes before the first record and asks for another number of tokens; those
    requests have no record. From there on the order of sending decides, counts must agree, and so must every pair: in
    bytes, in tokens asked for, in the history of its connection, and in the distance between the two clocks.
    """
    if not recorded:
        raise CaptureError("the bundle has no record of a request that was sent")
    surplus = len(found) - len(recorded)
    targets = {record["output_tokens"]["target"] for record in recorded}
    if surplus < 0 or any(tokens_asked(exchange) in targets for exchange in found[:surplus]):
        raise CaptureError(f"{len(recorded)} records do not fit {len(found)} requests in the capture")
    pairs = list(zip(recorded, found[surplus:], strict=True))
    origin = statistics.median_low(exchange.sent - record["sent_ns"] for record, exchange in pairs)
    for record, exchange in pairs:
        where = f"request {record['index']} of point {record['point']}"
        if record["bytes"]["sent"] != exchange.bytes_sent:
            raise CaptureError(f"{where}: {record['bytes']['sent']} bytes by its record, {exchange.bytes_sent} captured")
        if record["output_tokens"]["target"] != tokens_asked(exchange):
            raise CaptureError(f"{where}: record and capture disagree how many tokens it asked for")
        if record["connection"]["reused"] != exchange.reused:
            raise CaptureError(f"{where}: record and capture disagree whether its connection was used before")
        distance = exchange.sent - record["sent_ns"] - origin
        if abs(distance) > SAME_REQUEST:
            raise CaptureError(f"{where}: its packet left {distance / 1e6:.3f} ms from the instant of its record")
    return pairs


def tokens_asked(exchange):
    """The limit of output tokens in a request."""
    request = json.loads(exchange.request)
    return request.get("max_tokens", request.get("max_completion_tokens"))


def differences(pairs):
    """By figure, bundle − capture in ns, over complete answers of the measured window."""
    found = {"ttft": [], "e2e": [], "sent": []}
    for record, exchange in pairs:
        where = f"request {record['index']} of point {record['point']}"
        if record["phase"] != "measured" or record["outcome"] != "ok":
            continue
        answer, recorded = exchange.answer, record["events"]
        if answer is None or not answer.tokens:
            raise CaptureError(f"{where}: complete by its record, but not in the capture")
        gaps = recorded.get("gaps_ns", [])
        if len(answer.tokens) != 1 + len(gaps):
            raise CaptureError(f"{where}: {1 + len(gaps)} token events by its record, {len(answer.tokens)} captured")
        if answer.n_bytes != record["bytes"]["received"]:
            raise CaptureError(
                f"{where}: an answer of {record['bytes']['received']} bytes by its record, {answer.n_bytes} captured"
            )
        first = recorded["first_ns"] - record["sent_ns"]
        found["ttft"].append(first - (answer.tokens[0] - exchange.sent))
        found["e2e"].append(first + sum(gaps) - (answer.tokens[-1] - exchange.sent))
        found["sent"].append(exchange.sent - record["sent_ns"])
    if not found["e2e"]:
        raise CaptureError("no complete answer in the measured window")
    return found


def percentile(ascending, share):
    """Nearest rank."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def describe(values):
    """Distribution of differences, in ns."""
    absolute = sorted(map(abs, values))
    return {
        "n": len(values),
        "median_abs_ns": percentile(absolute, 0.5),
        "p90_abs_ns": percentile(absolute, 0.9),
        "p99_abs_ns": percentile(absolute, 0.99),
        "max_abs_ns": absolute[-1],
        "median_signed_ns": percentile(sorted(values), 0.5),
    }


def spacing(pairs):
    """How evenly the requests of the measured window left, from the packets: mean gap and coefficient of variation."""
    sent = [exchange.sent for record, exchange in pairs if record["phase"] == "measured"]
    gaps = [after - before for before, after in zip(sent, sent[1:])]
    if len(gaps) < 2:
        return None
    mean = statistics.fmean(gaps)
    return {
        "n": len(gaps),
        "mean_ns": mean,
        "cv": statistics.stdev(gaps) / mean,
        "max_off_ns": max(abs(gap - mean) for gap in gaps),
    }


def one(arguments):
    """Compares one run and writes the result as JSON."""
    bundle = pathlib.Path(arguments.bundle)
    recorded = records(bundle)
    pairs = match(captured(arguments.capture, arguments.port), recorded)
    by_figure = differences(pairs)
    # The two clocks have different origins; what is left after the constant part is the spread of the send stamps.
    origin = statistics.median_low(by_figure["sent"])
    by_figure["sent"] = [value - origin for value in by_figure["sent"]]
    measured = [record for record in recorded if record["phase"] == "measured"]
    # An answer that is no stream has one event: its end. It has no first token of its own.
    figures = ["ttft", "e2e"] if any(record["events"].get("gaps_ns") for record in measured) else ["e2e"]
    result = {
        "label": arguments.label,
        "measured": len(measured),
        "not_complete": sum(record["outcome"] != "ok" for record in measured),
        "figures": {name: describe(by_figure[name]) for name in figures},
        "sent": describe(by_figure["sent"]),
        "spacing": spacing(pairs),
        "cpu_pressure": arguments.cpu_pressure,
        "limits": {"median_abs_ns": MEDIAN_LIMIT, "p99_abs_ns": P99_LIMIT},
        "differences_ns": {name: by_figure[name] for name in figures},
    }
    pathlib.Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")
    return 0


def within(figure):
    """True if a distribution meets both limits; the one on p99 where there are enough samples for one."""
    tail = figure["p99_abs_ns"] < P99_LIMIT or figure["n"] < P99_SAMPLES
    return figure["median_abs_ns"] < MEDIAN_LIMIT and tail


def summary(arguments):
    """Prints results; of repeats under one label, the median of each statistic decides."""
    results = [json.loads(pathlib.Path(path).read_text()) for path in arguments.results]
    by_label = {}
    for result in results:
        by_label.setdefault(result["label"], []).append(result)
    print(f"{'':26} {'n':>6} {'median':>9} {'p90':>9} {'p99':>9} {'max':>9} {'signed':>9}   |bundle - capture|, ms")
    agree = True
    for label, repeats in by_label.items():
        for name in repeats[0]["figures"]:
            rows = [repeat["figures"][name] for repeat in repeats]
            if len(rows) > 1:
                for number, row in enumerate(rows, 1):
                    print_row(f"{label} {name} #{number}", row, "")
                rows = [{key: statistics.median_low(row[key] for row in rows) for key in rows[0]}]
            agree &= within(rows[0])
            print_row(f"{label} {name}", rows[0], "agrees" if within(rows[0]) else "DIFFERS")
    print()
    for result in results:
        even = result["spacing"]
        if even:
            print(
                f"{result['label']}: {result['measured']} requests, {result['not_complete']} not complete, one every "
                f"{even['mean_ns'] / 1e6:.3f} ms, coefficient of variation {even['cv']:.5f}, "
                f"furthest off {even['max_off_ns'] / 1e6:.3f} ms; "
                f"processors wanted in vain: {'?' if result['cpu_pressure'] is None else format(result['cpu_pressure'], '.1%')}"
            )
    judged = f"p99 < {P99_LIMIT / 1e6} ms where n >= {P99_SAMPLES}"
    print(f"\nlimits: median < {MEDIAN_LIMIT / 1e6} ms, {judged}: {'met' if agree else 'MISSED'}")
    return 0 if agree else 1


def print_row(name, row, verdict):
    keys = ["median_abs_ns", "p90_abs_ns", "p99_abs_ns", "max_abs_ns", "median_signed_ns"]
    cells = " ".join(f"{row[key] / 1e6:9.4f}" for key in keys)
    print(f"{name:26} {row['n']:6} {cells}   {verdict}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("one")
    for name in ("--capture", "--bundle", "--label", "--json"):
        verb.add_argument(name, required=True)
    verb.add_argument("--port", required=True, type=int)
    verb.add_argument("--cpu-pressure", type=float, help="share of the run in which something waited for a processor")
    verb.set_defaults(run=one)
    verb = verbs.add_parser("summary")
    verb.add_argument("results", nargs="+")
    verb.set_defaults(run=summary)
    arguments = parser.parse_args()
    try:
        return arguments.run(arguments)
    except (CaptureError, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
