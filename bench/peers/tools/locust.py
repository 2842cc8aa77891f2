"""Locust: users in Python that read whole answers."""

import csv

from tools.base import Failed, NotOffered, Tool, only
from tools.native import body

USER = '''from locust import FastHttpUser, task


class Caller(FastHttpUser):
    @task
    def ask(self):
        self.client.post("/v1/chat/completions", data=%r, headers={"content-type": "application/json"})
'''


class Locust(Tool):
    name = "locust"
    pythons = ((3, 11), (4, 0))
    tells_events_apart = False
    notes = "whole requests only; FastHttpUser, one process, for a time; its percentiles are rounded to two digits, and its table ends up to a second early"

    def command(self, load, url, out, tokenizer):
        if load.rate:
            raise NotOffered("paces each user, keeps no rate of arrivals")
        script = out / "locustfile.py"
        script.write_text(USER % body(load))
        return [str(self.binary()), "-f", str(script), "--headless", "-u", str(load.streams), "-r", str(load.streams), "-t",
                f"{load.seconds}s", "--host", url, "--csv", str(out / "locust"), "--only-summary", "--stop-timeout", "60"]

    def figures(self, load, out, output):
        with only(out.glob("locust_stats.csv"), "locust_stats.csv").open() as file:
            return locust_figures(list(csv.DictReader(file)))


def locust_figures(rows: list[dict]) -> dict:
    """The row of all requests together; its times are in ms."""
    row = next((row for row in rows if row["Name"] == "Aggregated"), None)
    if row is None or not int(row["Request Count"]):
        raise Failed("counted no requests")
    return {"requests": int(row["Request Count"]), "errors": int(row["Failure Count"]),
            "e2e": {"p50": float(row["50%"]), "p99": float(row["99%"])}}
