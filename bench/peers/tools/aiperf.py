"""AIPerf: NVIDIA's tool in Python, several processes."""

from scenarios import PROMPT_TOKENS
from tools.base import Failed, Tool, read_json

# Its names of what is compared. Its "inter token latency" is each request's mean, its "inter chunk latency" the gaps.
NAMES = {"ttft": "time_to_first_token", "gap": "inter_chunk_latency", "tpot": "inter_token_latency", "e2e": "request_latency"}


class AIPerf(Tool):
    name = "aiperf"
    pythons = ((3, 11), (3, 14))
    slow = True
    notes = "workers as it chooses; of a stall its effective latency, which counts from when the request was due"

    def environment(self):
        # Told to stay offline, it looks for a tokenizer in the hub's cache alone and refuses a folder.
        return {name: value for name, value in super().environment().items() if not name.endswith("_OFFLINE")}

    def command(self, load, url, out, tokenizer):
        call = [str(self.binary()), "profile", "--model", "reference", "--url", url, "--endpoint-type", "chat", "--tokenizer",
                str(tokenizer.resolve()), "--isl", str(PROMPT_TOKENS), "--isl-stddev", "0", "--osl", str(load.tokens), "--osl-stddev", "0",
                "--request-count", str(self.requests(load)), "--random-seed", "1", "--artifact-dir", str(out / "aiperf"), "--ui", "none",
                "--no-gpu-telemetry", "--no-server-metrics"]
        call += ["--request-rate", str(load.rate), "--arrival-pattern", "constant"] if load.rate else ["--concurrency", str(load.streams)]
        return [*call, "--streaming"] if load.stream else call

    def figures(self, load, out, output):
        return aiperf_figures(read_json(out / "aiperf" / "profile_export_aiperf.json"), from_intended=load.rate is not None)


def aiperf_figures(said: dict, from_intended: bool = False) -> dict:
    """From its JSON summary; its times are in ms."""
    done = int(said.get("request_count", {}).get("avg", 0))
    if not done:
        raise Failed(f"no answer: {said.get('error_summary')}")
    names = NAMES | ({"e2e": "effective_latency"} if from_intended else {})
    times = {name: {"p50": said[theirs]["p50"], "p99": said[theirs]["p99"]} for name, theirs in names.items() if theirs in said}
    return {"requests": done, "errors": int(said.get("error_request_count", {}).get("avg", 0))} | times
