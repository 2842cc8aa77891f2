"""inference-perf: the tool of the Kubernetes projects, in Python, a process a core."""

import json

from scenarios import PROMPT_TOKENS
from tools.base import Failed, Tool, only, read_json

# Its names of what is compared; its times are in seconds.
NAMES = {"ttft": "time_to_first_token", "gap": "inter_token_latency", "tpot": "time_per_output_token", "e2e": "request_latency"}


class InferencePerf(Tool):
    name = "inference-perf"
    pythons = ((3, 12), (4, 0))
    slow = True
    notes = "completions, as its prompts of a given length offer no chat; its constant rate has exponential gaps; latencies from the sending"

    def command(self, load, url, out, tokenizer):
        length = {"type": "fixed", "std_dev": 0, "total_count": self.requests(load)}
        stage = {"rate": load.rate, "duration": load.seconds} if load.rate else {
            "num_requests": self.requests(load), "concurrency_level": load.streams}
        config = {
            "api": {"type": "completion", "streaming": load.stream},
            "data": {"type": "random",
                     "input_distribution": length | dict.fromkeys(("min", "max", "mean"), PROMPT_TOKENS),
                     "output_distribution": length | dict.fromkeys(("min", "max", "mean"), load.tokens)},
            "load": {"type": "constant" if load.rate else "concurrent", "stages": [stage], "base_seed": 1},
            "server": {"type": "vllm", "model_name": "reference", "base_url": url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": str(tokenizer.resolve())},
            "storage": {"local_storage": {"path": str((out / "reports").resolve())}},
        }
        path = out / "config.yml"
        path.write_text(json.dumps(config))  # JSON is YAML
        return [str(self.binary()), "-c", str(path.resolve())]

    def figures(self, load, out, output):
        return inference_perf_figures(read_json(only((out / "reports").glob("summary_lifecycle_metrics.json"), "summary")))


def inference_perf_figures(said: dict) -> dict:
    """From its JSON summary."""
    done, failed = said["successes"], said["failures"]["count"]
    if not done["count"]:
        raise Failed(f"no answer: {said['failures']}")
    times = {}
    for name, theirs in NAMES.items():
        series = done["latency"].get(theirs)
        if series and series["median"] is not None:
            times[name] = {"p50": series["median"] * 1e3, "p99": series["p99"] * 1e3, "p999": series["p99.9"] * 1e3}
    return {"requests": done["count"], "errors": failed} | times
