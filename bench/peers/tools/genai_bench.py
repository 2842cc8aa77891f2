"""genai-bench: the tool of the SGLang project, in Python on locust's loop, one process."""

from scenarios import PROMPT_TOKENS
from tools.base import Failed, NotOffered, Tool, only, read_json


class GenAIBench(Tool):
    name = "genai-bench"
    pythons = ((3, 10), (3, 13))
    slow = True
    notes = "streams only; looks once a second whether the number of requests is reached; keeps no gaps; draws pictures after the run"

    def command(self, load, url, out, tokenizer):
        if load.rate:
            raise NotOffered("keeps a number of users, no rate of arrivals")
        if not load.stream:
            raise NotOffered("asks for a stream of text whatever it is told")
        minutes = -(-load.timeout_s // 60)
        return [str(self.binary()), "benchmark", "--api-backend", "openai", "--api-base", url, "--api-key", "none",
                "--api-model-name", "reference", "--model", "reference", "--task", "text-to-text",
                "--model-tokenizer", str(tokenizer.resolve()), "--num-concurrency", str(load.streams),
                "--traffic-scenario", f"D({PROMPT_TOKENS},{load.tokens})", "--max-time-per-run", str(minutes),
                "--max-requests-per-run", str(self.requests(load)), "--experiment-base-dir", str(out.resolve()),
                "--experiment-folder-name", "result", "--log-dir", str((out / "logs").resolve()), "--metrics-time-unit", "ms"]

    def figures(self, load, out, output):
        return genai_bench_figures(read_json(only((out / "result").glob("D*_time_*s.json"), "result of the run")))


def genai_bench_figures(said: dict) -> dict:
    """From its JSON; its times are in the unit that it names."""
    ms = {"ms": 1.0, "s": 1e3}[said["_time_unit"]]
    metrics = said["aggregated_metrics"]
    if not metrics["num_completed_requests"]:
        raise Failed(f"no answer: {metrics['error_codes_frequency']}")
    names = {"ttft": "ttft", "tpot": "tpot", "e2e": "e2e_latency"}
    times = {name: {q: metrics["stats"][theirs][q] * ms for q in ("p50", "p99")} for name, theirs in names.items()}
    return {"requests": metrics["num_completed_requests"], "errors": metrics["num_error_requests"]} | times
