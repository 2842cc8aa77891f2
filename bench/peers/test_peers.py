"""Reading the tools' output and the server's truth. Run: python3 -m unittest discover -s bench/peers"""

import array
import json
import os
import struct
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import machine
import report
import scenarios
import truth
from compare import closed_form, compare, errors
from server import Outcome
from tools.aiperf import aiperf_figures
from tools.base import Failed, find_python
from tools.genai_bench import genai_bench_figures
from tools.guidellm import guidellm_figures
from tools.inference_perf import inference_perf_figures
from tools.locust import locust_figures
from tools.native import kneepoint_figures, oha_figures, wrk_figures

WRK = """  Latency Distribution
     50%    1.46s\x20
     75%    1.51s\x20
     90%    1.52s\x20
     99%  590.35ms
  3000 requests in 5.08s, 98.14MB read
  Socket errors: connect 0, read 1, write 0, timeout 2
"""


class Parsing(unittest.TestCase):
    def test_wrk(self):
        self.assertEqual(wrk_figures(WRK), {"requests": 3000, "errors": 3, "e2e": {"p50": 1460.0, "p99": 590.35}})
        with self.assertRaises(Failed):
            wrk_figures("unable to connect")

    def test_oha(self):
        said = {"latencyPercentiles": {"p50": 0.25, "p99": 0.5, "p99.9": 0.75}, "statusCodeDistribution": {"200": 7},
                "errorDistribution": {"aborted": 2}}
        self.assertEqual(oha_figures(said), {"requests": 7, "errors": 2, "e2e": {"p50": 250.0, "p99": 500.0, "p999": 750.0}})
        with self.assertRaises(Failed):
            oha_figures(said | {"statusCodeDistribution": {}})

    def test_locust(self):
        row = {"Name": "Aggregated", "Request Count": "178", "Failure Count": "0", "50%": "420", "99%": "530"}
        self.assertEqual(locust_figures([row]), {"requests": 178, "errors": 0, "e2e": {"p50": 420.0, "p99": 530.0}})
        with self.assertRaises(Failed):
            locust_figures([row | {"Request Count": "0"}])

    def test_kneepoint_counts_from_sent_or_intended(self):
        record = {"outcome": "ok", "intended_ns": 0, "sent_ns": 1_000_000,
                  "events": {"first_ns": 3_000_000, "gaps_ns": [1_000_000, 3_000_000]}}
        figures = kneepoint_figures([record, {"outcome": "failed"}])
        self.assertEqual((figures["requests"], figures["errors"]), (1, 1))
        self.assertEqual((figures["ttft"]["p50"], figures["tpot"]["p50"], figures["e2e"]["p99"]), (2.0, 2.0, 6.0))
        self.assertEqual(kneepoint_figures([record], from_intended=True)["ttft"]["p50"], 3.0)

    def test_kneepoint_whole_answer_has_no_gaps(self):
        figures = kneepoint_figures([{"outcome": "ok", "sent_ns": 1_000_000, "events": {"first_ns": 3_000_000, "tokens": [1]}}])
        self.assertEqual((figures["e2e"]["p50"], figures["gap"], figures["tpot"]), (2.0, {}, {}))


def fixture(name: str):
    """What a tool left of a real run against the reference server, cut to what is read."""
    return json.loads((Path(__file__).parent / "fixtures" / name).read_text())


def rounded(figures: dict) -> dict:
    return {name: {q: round(ms, 3) for q, ms in value.items()} if isinstance(value, dict) else value for name, value in figures.items()}


class Running(unittest.TestCase):
    def test_processor_time_and_memory_of_children_count(self):
        child = "s = bytearray(40 << 20)\nimport time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\ntime.sleep(0.3)"
        parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
        with tempfile.TemporaryDirectory() as folder:
            done = machine.run([sys.executable, "-c", parent, child], 30, Path(folder), dict(os.environ))
        self.assertEqual(done.code, 0)
        self.assertGreater(done.cpu_s, 0.4)
        self.assertGreater(done.peak_rss_mib, 40)
        self.assertTrue(0 <= done.stolen <= 1.1 and 0 <= (done.pressure or 0) <= 1.1, done)

    def test_what_takes_too_long_is_ended_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            done = machine.run(["sh", "-c", "sleep 60 & echo $!; wait"], 0.3, Path(folder), dict(os.environ))
            self.assertIsNone(done.code)
            deadline = time.monotonic() + 10
            while Path(f"/proc/{int(done.output)}/cmdline").exists() and Path(f"/proc/{int(done.output)}/cmdline").read_bytes():
                self.assertLess(time.monotonic(), deadline, "the child lives on")
                time.sleep(0.01)


class Installing(unittest.TestCase):
    def test_a_python_of_the_right_age(self):
        this = sys.version_info[:2]
        self.assertEqual(find_python(this, (4, 0)), sys.executable)
        with self.assertRaisesRegex(Failed, "below 3.1"):
            find_python((3, 0), (3, 1))


class Captured(unittest.TestCase):
    """TTFT of 50 to 150 ms, gaps of 10 ms, 32 tokens."""

    def test_aiperf(self):
        said = fixture("aiperf.json")
        self.assertEqual(rounded(aiperf_figures(said)), {
            "requests": 60, "errors": 0, "ttft": {"p50": 105.153, "p99": 161.25}, "gap": {"p50": 9.998, "p99": 111.943},
            "tpot": {"p50": 10.0, "p99": 11.007}, "e2e": {"p50": 420.306, "p99": 470.933}})
        self.assertEqual(rounded(aiperf_figures(said, from_intended=True))["e2e"], {"p50": 426.871, "p99": 482.28})
        with self.assertRaises(Failed):
            aiperf_figures({"error_summary": ["refused"]})


    def test_guidellm_keeps_no_gaps(self):
        said = fixture("guidellm.json")
        self.assertEqual(rounded(guidellm_figures(said)), {
            "requests": 60, "errors": 0, "ttft": {"p50": 101.651, "p99": 149.923, "p999": 149.923},
            "tpot": {"p50": 9.989, "p99": 10.131, "p999": 10.131}, "e2e": {"p50": 411.526, "p99": 460.041, "p999": 460.041}})
        self.assertNotIn("e2e", guidellm_figures(said, from_intended=True))  # of a run without a schedule
        said["benchmarks"][0]["metrics"]["request_totals"]["successful"] = 0
        with self.assertRaises(Failed):
            guidellm_figures(said)

    def test_inference_perf(self):
        said = fixture("inference-perf.json")
        self.assertEqual(rounded(inference_perf_figures(said)), {
            "requests": 60, "errors": 0, "ttft": {"p50": 100.019, "p99": 148.8, "p999": 149.449},
            "gap": {"p50": 10.0, "p99": 10.693, "p999": 12.014}, "tpot": {"p50": 10.0, "p99": 10.01, "p999": 10.016},
            "e2e": {"p50": 410.451, "p99": 459.076, "p999": 459.948}})
        said["successes"]["count"] = 0
        with self.assertRaises(Failed):
            inference_perf_figures(said)

    def test_genai_bench_says_its_unit(self):
        said = fixture("genai-bench.json")
        expected = {"requests": 98, "errors": 0, "ttft": {"p50": 101.609, "p99": 159.455}, "tpot": {"p50": 9.996, "p99": 14.751},
                    "e2e": {"p50": 424.436, "p99": 565.372}}
        self.assertEqual(rounded(genai_bench_figures(said)), expected)
        self.assertEqual(rounded(genai_bench_figures(said | {"_time_unit": "s"}))["ttft"]["p50"], 101_608.735)


class Comparison(unittest.TestCase):
    def test_a_stall_of_2_s_in_20_at_100_a_second(self):
        load = next(load for load in scenarios.ALL if load.name == "stall")
        # 200 of 2,000 wait 0 to 2 s evenly: the p99 is nine tenths up in the last tenth.
        self.assertAlmostEqual(closed_form(load, 0.99), 55 + 1_800)
        self.assertAlmostEqual(closed_form(load, 0.999), 55 + 1_980)
        self.assertEqual(closed_form(load, 0.5), 55)

    def test_errors_keep_their_sign_and_skip_what_was_not_said(self):
        known = {"ttft": [10.0, 20.0, 30.0, 40.0], "gap": [], "tpot": [1.0], "e2e": [50.0]}
        said = {"ttft": {"p50": 35.0, "p99": 29.0}, "gap": {"p50": 1.0, "p99": 1.0}, "e2e": {"p50": 50.0}}
        self.assertEqual(errors(said, known), {"ttft_error_p50_ms": 5.0, "ttft_error_p99_ms": -1.0, "e2e_error_p50_ms": 0.0})


class Row(unittest.TestCase):
    """100 streams in the server's record, a token every 10 ms; the tool used half a core throughout."""

    def row(self, ttft_ms, late_us):
        load = next(load for load in scenarios.ALL if load.name == "timing-1000")
        base, ms = 5_000 * truth.MS, truth.MS
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "truth"
            requests = b"".join(
                struct.pack("<QQQQIIHBBI", base + k * ms, 0, base + (k + 200) * ms, 0, k, 0, 0, 1, 0, 11)
                + struct.pack("<11Q", *(base + (k + 50 + 10 * n) * ms for n in range(11))) for k in range(100))
            path.write_bytes(struct.pack("<8sQQQqq", b"KPTRUTH1", 100, 0, 0, 0, 0) + requests)
            said = {"requests": 100, "events": 1_100, "busy_ns": [base, base + 300 * ms], "late_us": {"p99": late_us}}
            done = machine.Finished([], 0, base - 2_000 * ms, 3.0, 0.5, 64.0, "", None, 0.0, [(base, 0.0), (base + 1_000 * ms, 0.5)])
            figures = {"requests": 100, "errors": 0, "ttft": {"p50": ttft_ms, "p99": 50.0}}
            return compare(load, figures, done, Outcome(said, path))

    def test_what_a_row_holds(self):
        row = self.row(ttft_ms=51.5, late_us=40)
        self.assertEqual((row["ttft_error_p50_ms"], row["ttft_error_p99_ms"], row["server_late"]), (1.5, 0.0, False))
        self.assertEqual((row["first_request_s"], row["cpu_under_load_s"], row["peak_rss_mib_per_1000_streams"]), (2.0, 0.15, 64.0))
        # 11 events a millisecond at most; a tool that has half a core spends 500 µs in a millisecond.
        self.assertTrue(5_000 < row["events_per_s"] <= 11_000, row["events_per_s"])
        self.assertAlmostEqual(row["cpu_us_per_event"] * row["events_per_s"], 500_000, delta=1)

    def test_a_late_server_spoils_what_is_smaller_than_its_lateness(self):
        self.assertFalse(self.row(ttft_ms=51.5, late_us=1_400)["server_late"])
        self.assertTrue(self.row(ttft_ms=51.5, late_us=1_600)["server_late"])
        self.assertFalse(self.row(ttft_ms=50.0, late_us=90)["server_late"])  # finer than anything that is judged


class Report(unittest.TestCase):
    TOOLS = {name: {"family": family, "tells_events_apart": events} for name, family, events in [
        ("kneepoint", "kneepoint", True), ("floor", "floor", False), ("wrk", "native", False), ("aiperf", "python", True)]}

    def line(self, runs, start, load):
        found = report.derived(report.medians(runs), self.TOOLS)
        return next(({"value": line["value"], "met": line["met"], "of": line["of"]} for line in found
                     if line["what"].startswith(start) and line["load"] == load), None)

    def test_medians_are_of_the_runs_with_figures_and_of_errors_size(self):
        runs = [{"load": "timing-20", "tool": "x", "repeat": k, "measured": 7, "ttft_error_p50_ms": error, "server_late": error < 0}
                for k, error in enumerate((-3.0, 1.0, 2.0))]
        runs.append({"load": "timing-20", "tool": "x", "repeat": 3, "failed": "no answer"})
        self.assertEqual(report.medians(runs), {
            ("timing-20", "x"): {"runs": 3, "measured": 7, "ttft_error_p50_ms": 2.0, "server_late": False}})

    def test_a_failure_is_no_win(self):
        own = {"load": "timing-20", "tool": "kneepoint", "repeat": 0, "measured": 7, "ttft_error_p50_ms": 0.1}
        failed = {"load": "timing-20", "tool": "aiperf", "repeat": 0, "failed": "no answer"}
        self.assertIsNone(self.line([own, failed], "errors", "timing-20"))
        closer = own | {"tool": "aiperf", "ttft_error_p50_ms": -0.05}
        self.assertEqual(self.line([own, closer], "errors", "timing-20"), {"value": 1, "met": False, "of": "ttft p50: aiperf"})

    def test_nothing_is_judged_by_a_row_whose_server_was_late(self):
        own = {"load": "timing-1000", "tool": "kneepoint", "repeat": 0, "measured": 7, "ttft_error_p50_ms": 0.2}
        closer = own | {"tool": "aiperf", "ttft_error_p50_ms": 0.1}
        self.assertIs(self.line([own, closer], "TTFT p50", "timing-1000")["met"], False)
        self.assertIsNone(self.line([own, closer | {"server_late": True}], "errors", "timing-1000"))
        spoilt = own | {"server_late": True}
        self.assertEqual(self.line([spoilt, closer], "TTFT p50", "timing-1000"), {"value": 0.2, "met": None, "of": report.LATE})
        self.assertEqual(self.line([spoilt, closer], "errors", "timing-1000"), {"value": None, "met": None, "of": report.LATE})

    def test_rates_are_judged_against_clients_that_tell_events_apart(self):
        def row(tool, rate):
            return {"load": "unpaced", "tool": tool, "repeat": 0, "measured": 7, "events_per_s": rate, "cpu_us_per_event": 1e6 / rate}

        runs = [row("kneepoint", 40.0), row("floor", 100.0), row("wrk", 80.0), row("aiperf", 1.0)]
        self.assertEqual(self.line(runs, "token events/s: Kneepoint", "unpaced"), {"value": 0.4, "met": True, "of": ""})
        self.assertEqual(self.line(runs, "token events/s: best python rival that tells", "unpaced"), {"value": 0.025, "met": True, "of": "aiperf"})
        self.assertEqual(self.line(runs, "token events/s: best native rival that reads", "unpaced"), {"value": 2.0, "met": None, "of": "wrk"})
        self.assertEqual(self.line(runs, "token events/s: best native rival that tells", "unpaced"),
                         {"value": None, "met": None, "of": "none measured"})

    def test_both_files_are_written(self):
        runs = [{"load": "timing-20", "tool": "aiperf", "kind": "timing", "repeat": 0, "measured": 7, "ttft_error_p50_ms": 0.25,
                 "server_late_p99_ms": 3.0, "server_late": True, "exit_code": 0},
                {"load": "timing-20", "tool": "kneepoint", "kind": "timing", "repeat": 0, "measured": 7, "exit_code": 3},
                {"load": "unpaced", "tool": "wrk", "kind": "tokens", "repeat": 0, "failed": "a | b"}]
        said = {"date": "today", "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "6", "load_before": 0.0}, "repeats": 1,
                "quick": True, "not_covered": {"vllm-bench": "why"}, "tools": self.TOOLS, "runs": runs}
        with tempfile.TemporaryDirectory() as folder:
            report.write(said, Path(folder))
            text = (Path(folder) / "report.md").read_text()
            self.assertEqual(json.loads((Path(folder) / "report.json").read_text())["medians"][0]["ttft_error_p50_ms"], 0.25)
        self.assertIn("| aiperf (server itself late) | 0.25 |", text)
        self.assertIn("| kneepoint (invalid, it says) | – |", text)
        self.assertIn("| wrk | unpaced | failed | a \\| b |", text)
        self.assertNotIn("\n## unpaced", text)


class Truth(unittest.TestCase):
    def test_reads_complete_answers_only(self):
        def request(written):
            return struct.pack("<QQQQIIHBBI", 1_000_000, 0, written, 0, 0, 0, 0, 1, 1, 2) + b"k" + struct.pack("<QQ", 3_000_000, 5_000_000)

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "truth"
            path.write_bytes(struct.pack("<8sQQQqq", b"KPTRUTH1", 2, 0, 0, 9, 9) + request(6_000_000) + request(0))
            answers, offset = truth.read(path)
        self.assertEqual((len(answers), offset), (1, 9))
        self.assertEqual(truth.figures(answers), {"ttft": [2.0], "gap": [2.0], "tpot": [2.0], "e2e": [4.0]})

    def test_the_middle_of_a_run_leaves_probes_and_ends_out(self):
        def answer(*ms):
            return truth.Answered(0, 1, 0, True, array.array("Q", [at * truth.MS for at in ms]))

        probe, last = answer(0, 10), answer(5_000, 5_001)
        paced = [answer(*range(1_000 + k, 2_000 + k, 10)) for k in range(10)]  # an event every millisecond for a second
        middle = truth.steady([probe, *paced, last])
        self.assertAlmostEqual(middle.events_per_s, 1_000)
        self.assertEqual((middle.end - middle.begin) // truth.MS, middle.events)
        at_once = [truth.Answered(0, (1_000 + k) * truth.MS, 0, True, array.array("Q")) for k in range(100)]
        self.assertAlmostEqual(truth.steady([probe, *at_once, last], 50).events_per_s, 50_000)
        self.assertEqual(truth.steady([]).events, 0)

    def test_an_error_begins_outside_of_the_bracket(self):
        low, high = truth.bracket([1.0, 2.0, 3.0, 4.0], 0.5)
        self.assertEqual((low, high), (2.0, 3.0))
        self.assertEqual([truth.outside(x, low, high) for x in (1.5, 2.5, 4.0)], [-0.5, 0.0, 1.0])


if __name__ == "__main__":
    unittest.main()
