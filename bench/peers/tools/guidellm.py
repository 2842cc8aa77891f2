"""GuideLLM: the tool of the vLLM project, in Python, several processes."""

import json

from scenarios import PROMPT_TOKENS
from tools.base import Failed, Tool, read_json

# Its names of what is compared, and how many ms their unit is. Its "inter token latency" is each request's mean, weighted
# by its tokens; it keeps no gaps. Its "time per output token" has the first token in it and is no such thing.
NAMES = {"ttft": ("time_to_first_token_ms", 1.0), "tpot": ("inter_token_latency_ms", 1.0), "e2e": ("request_latency", 1e3)}


class GuideLLM(Tool):
    name = "guidellm"
    slow = True
    notes = "processes as it chooses; of a stall its scheduled latency, which counts from when the request was due"

    def command(self, load, url, out, tokenizer):
        profile = {"kind": "constant", "rate": load.rate} if load.rate else {"kind": "concurrent", "streams": load.streams}
        options = {
            "--backend": {"kind": "openai_http", "target": url, "model": "reference", "stream": load.stream},
            "--profile": profile, "--constraint": {"kind": "max_requests", "count": self.requests(load)},
            "--tokenizer": {"kind": "hf_auto", "model": str(tokenizer.resolve())},
            "--data": {"kind": "synthetic_text", "prompt_tokens": PROMPT_TOKENS, "output_tokens": load.tokens},
            "--output": {"kind": "json", "path": str((out / "guidellm.json").resolve())},
        }
        return [str(self.binary()), "run", *(part for name, value in options.items() for part in (name, json.dumps(value))),
                "--disable-console-interactive"]

    def figures(self, load, out, output):
        return guidellm_figures(read_json(out / "guidellm.json"), from_intended=load.rate is not None)


def guidellm_figures(said: dict, from_intended: bool = False) -> dict:
    """From its JSON report of one benchmark."""
    metrics = said["benchmarks"][0]["metrics"]
    totals = metrics["request_totals"]
    if not totals["successful"]:
        raise Failed(f"no answer: {totals}")
    names = NAMES | ({"e2e": ("request_scheduled_latency", 1e3)} if from_intended else {})
    times = {}
    for name, (theirs, ms) in names.items():
        series = (metrics.get(theirs) or {}).get("successful") or {}
        if series.get("count"):
            times[name] = {q: series["percentiles"][q] * ms for q in ("p50", "p99", "p999")}
    return {"requests": totals["successful"], "errors": totals["errored"] + totals["incomplete"]} | times
