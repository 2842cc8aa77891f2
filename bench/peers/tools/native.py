"""The tools that are no Python: Kneepoint itself, the floor client, oha and wrk."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from scenarios import PROMPT_TOKENS
from tools.base import CACHE, Failed, NotOffered, Tool, only, read_json, sh
from truth import quantile


def percentiles(values_ms: list[float]) -> dict:
    """The figures that are compared, of values in any order."""
    ordered = sorted(values_ms)
    return {name: quantile(ordered, q) for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))} if ordered else {}


class Built(Tool):
    """A program that was built before."""

    hint = ""  # what to do where it is not

    def __init__(self, path: Path):
        self._path = path

    def binary(self) -> Path:
        return self._path

    def install(self) -> None:
        if not self._path.is_file():
            raise Failed(f"there is no {self._path}: {self.hint}")


class Kneepoint(Built):
    name = "kneepoint"
    family = "kneepoint"
    hint = "build it, or name it with --kneepoint"
    good_codes = (0, 1, 3)  # 1 and 3: it measured, and judges its own run invalid or a target missed; figures need a bundle
    notes = "figures from every record of the bundle, from the sending on; of a stall from the intended time"

    def version(self) -> str:
        return sh([str(self._path), "--version"]).strip()

    def command(self, load, url, out, tokenizer):
        call = [str(self._path), "run", "--quiet", "--url", url, "--model", "reference", "--input", str(PROMPT_TOKENS),
                "--output", str(load.tokens), "--for", f"{load.seconds}s", "--warm-up", "0s", "--min-samples", "1", "--workers", "1",
                "--out", str(out / "bundle")]
        call += ["--rate", str(load.rate)] if load.rate else ["--concurrency", str(load.streams)]
        return call if load.stream else [*call, "--no-stream"]

    def figures(self, load, out, output):
        path = only((out / "bundle").glob("requests.jsonl.zst"), "records")
        text = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
        return kneepoint_figures([json.loads(line) for line in text.splitlines()], from_intended=load.rate is not None)


def kneepoint_figures(records: list[dict], from_intended: bool = False) -> dict:
    """Of all complete requests, whichever phase they belong to: the server's truth knows no phases."""
    ttft, gap, tpot, e2e, errors = [], [], [], [], 0
    for record in records:
        if record.get("outcome") != "ok":
            errors += 1
            continue
        begin = record["intended_ns" if from_intended else "sent_ns"]
        events = record.get("events")
        if not events:
            e2e.append((record["closed_ns"] - begin) / 1e6)
            continue
        gaps = [value / 1e6 for value in events.get("gaps_ns", ())]  # none in a whole answer
        first = (events["first_ns"] - begin) / 1e6
        ttft.append(first)
        gap += gaps
        e2e.append(first + sum(gaps))
        if gaps:
            tpot.append(sum(gaps) / len(gaps))
    return {"requests": len(e2e), "errors": errors, "ttft": percentiles(ttft), "gap": percentiles(gap),
            "tpot": percentiles(tpot), "e2e": percentiles(e2e)}


class Floor(Built):
    name = "floor"
    family = "floor"
    tells_events_apart = False
    hint = "build bench/reference, or name its folder with --reference"
    notes = "the least a client can do: reads and discards, measures no latency"

    def version(self) -> str:
        return "of this tree"

    def command(self, load, url, out, tokenizer):
        if load.rate:
            raise NotOffered("no rates")
        call = [str(self._path), "--connect", url, "--streams", str(load.streams), "--requests", str(load.requests),
                "--tokens", str(load.tokens)]
        return call if load.stream else [*call, "--no-stream"]

    def figures(self, load, out, output):
        said = json.loads(output.strip().splitlines()[-1])
        return {"requests": said["requests"], "errors": 0, "floor": said}


BODY = '{"model":"reference","messages":[{"role":"user","content":"Say something."}],"max_tokens":%d%s}'


def body(load) -> str:
    return BODY % (load.tokens, ',"stream":true,"stream_options":{"include_usage":true}' if load.stream else "")


class Oha(Tool):
    name = "oha"
    family = "native"
    tells_events_apart = False
    notes = "whole requests only; --latency-correction where a rate is given"

    def install(self) -> None:
        if not self.binary().exists():
            sh(["cargo", "install", "-q", "--locked", "--root", str(CACHE / "oha"), "oha@1.16.0"])

    def version(self) -> str:
        return sh([str(self.binary()), "--version"]).strip()

    def command(self, load, url, out, tokenizer):
        call = [str(self.binary()), "--no-tui", "--output-format", "json", "-o", str(out / "oha.json"), "-c", str(load.streams),
                "-n", str(load.requests), "-m", "POST", "-T", "application/json", "-d", body(load)]
        call += ["-q", str(load.rate), "--latency-correction"] if load.rate else []
        return [*call, f"{url}/v1/chat/completions"]

    def figures(self, load, out, output):
        return oha_figures(read_json(out / "oha.json"))


def oha_figures(said: dict) -> dict:
    """From its JSON; its times are in seconds."""
    latency, counts = said["latencyPercentiles"], said.get("statusCodeDistribution", {})
    done = counts.get("200", 0)
    if not done:
        raise Failed(f"no answer: {said.get('errorDistribution')}")
    return {"requests": done, "errors": sum(said.get("errorDistribution", {}).values()),
            "e2e": {name: latency[theirs] * 1e3 for name, theirs in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))}}


class Wrk(Tool):
    name = "wrk"
    family = "native"
    tells_events_apart = False
    notes = "whole requests only, for a time; no rates"

    def binary(self) -> Path:
        return Path(shutil.which("wrk") or "/usr/bin/wrk")

    def install(self) -> None:
        if not self.binary().exists():
            sh(["apt-get", "install", "-y", "-q", "wrk"])

    def version(self) -> str:
        return sh(["dpkg-query", "-W", "-f", "${Version}", "wrk"]).strip()

    def command(self, load, url, out, tokenizer):
        if load.rate:
            raise NotOffered("no rates")
        script = out / "post.lua"
        script.write_text(f'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\nwrk.body = [[{body(load)}]]\n')
        return [str(self.binary()), "-t", "1", "-c", str(load.streams), "-d", f"{load.seconds}s", "--timeout", "60s",
                "--latency", "-s", str(script), url + "/v1/chat/completions"]

    def figures(self, load, out, output):
        return wrk_figures(output)


def wrk_figures(output: str) -> dict:
    """From its text."""
    unit = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
    found = {name: float(value) * unit[of] for name, value, of in re.findall(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s|m)\s*$", output, re.M)}
    done = re.search(r"(\d+) requests in", output)
    if not done or set(found) != {"50", "99"}:
        raise Failed(f"printed no latencies: {output[-300:]}")
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    return {"requests": int(done[1]), "errors": sum(map(int, errors.groups())) if errors else 0,
            "e2e": {"p50": found["50"], "p99": found["99"]}}
