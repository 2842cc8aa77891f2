"""report.md and report.json: medians over the repeats, what follows from them, and what went wrong."""

import json
import statistics
from pathlib import Path

import scenarios

OWN, FLOOR, NATIVE, PYTHON = "kneepoint", "floor", "native", "python"  # kinds of tool
LATE = "server itself late"
TIMES = [("ttft", "TTFT"), ("gap", "gap"), ("tpot", "TPOT"), ("e2e", "end-to-end")]


def write(report: dict, out: Path) -> None:
    """`report` with its runs so far; the two files are written anew."""
    middle = medians(report["runs"])
    report["medians"] = [{"load": load, "tool": tool, **values} for (load, tool), values in middle.items()]
    report["derived"] = derived(middle, report["tools"])
    (out / "report.json").write_text(json.dumps(report, indent=1))
    (out / "report.md").write_text("\n".join(markdown(report, middle)) + "\n")


def medians(runs: list[dict]) -> dict[tuple[str, str], dict]:
    """Of each number over the repeats that gave it, of errors their size; `runs`: how many gave figures. A row counts as
    spoilt by a late server where most of its runs are."""
    rows: dict[tuple[str, str], list[dict]] = {}
    for run in runs:
        rows.setdefault((run["load"], run["tool"]), [])
        if "measured" in run:
            rows[run["load"], run["tool"]].append(run)
    result = {}
    for key, good in rows.items():
        names = dict.fromkeys(name for run in good for name, value in run.items() if type(value) in (int, float))
        values = {name: [abs(run[name]) if "_error_" in name else run[name] for run in good if name in run] for name in names}
        result[key] = {"runs": len(good)} | {name: statistics.median(of) for name, of in values.items() if name != "repeat"}
        late = [run["server_late"] for run in good if "server_late" in run]
        if late:
            result[key]["server_late"] = sum(late) * 2 > len(late)
    return result


def derived(middle: dict, tools: dict[str, dict]) -> list[dict]:
    """What the medians say of Kneepoint beside the floor and its rivals. No figure, no verdict: a failure is nobody's win."""
    found = []

    def value(load: str, tool: str, name: str) -> float | None:
        return middle.get((load, tool), {}).get(name) or None  # a zero is no measurement here

    def line(what: str, load: str, ratio: float | None, wanted: str, met: bool | None, of: str = "") -> None:
        found.append({"what": what, "load": load, "value": ratio, "wanted": wanted, "met": met, "of": of})

    def best(load: str, name: str, family: str, pick, events: bool | None = None) -> tuple[str, float] | None:
        of = [(tool, value(load, tool, name)) for tool, said in tools.items()
              if said["family"] == family and (events is None or said["tells_events_apart"] == events)]
        return pick(((tool, figure) for tool, figure in of if figure), key=lambda pair: pair[1], default=None)

    own, floor = value("unpaced", OWN, "events_per_s"), value("unpaced", FLOOR, "events_per_s")
    if own and floor:
        line("token events/s: Kneepoint ÷ floor", "unpaced", own / floor, "≥ 0.30", own / floor >= 0.30)
        spent = value("unpaced", FLOOR, "cpu_us_per_event"), value("unpaced", OWN, "cpu_us_per_event")
        if all(spent):
            line("token events per processor second: Kneepoint ÷ floor", "unpaced", spent[0] / spent[1], "", None)
    for family, times in ((NATIVE, 4), (PYTHON, 20)):
        for events, reads in ((True, "that tells events apart"), (False, "that reads whole answers")):
            rival, what = best("unpaced", "events_per_s", family, max, events), f"token events/s: best {family} rival {reads} ÷ Kneepoint"
            # The figures to reach were set for clients that tell events apart.
            wanted = f"≤ {1 / times:.2f}" if events else ""
            if own and rival:
                line(what, "unpaced", rival[1] / own, wanted, rival[1] / own <= 1 / times if events else None, rival[0])
            elif own and events:
                line(what, "unpaced", None, wanted, None, "none measured")
    own = value("requests", OWN, "requests_per_s")
    for family in (NATIVE, PYTHON):
        rival = best("requests", "requests_per_s", family, max)
        if own and rival:
            line(f"requests/s: best {family} rival ÷ Kneepoint", "requests", rival[1] / own, "< 1", rival[1] < own, rival[0])
    for load in ("paced-100", "paced-1000"):
        own, floor = value(load, OWN, "cpu_us_per_event"), value(load, FLOOR, "cpu_us_per_event")
        if own and floor:
            line("processor time per token event: Kneepoint ÷ floor", load, own / floor, "≤ 1.3", own / floor <= 1.3)
    for load in ("timing-1000", "timing-5000"):
        own = value(load, OWN, "peak_rss_mib_per_1000_streams")
        for family in (NATIVE, PYTHON):
            rival = best(load, "peak_rss_mib_per_1000_streams", family, min)
            if own and rival:
                line(f"peak memory per 1,000 streams: Kneepoint ÷ smallest {family} rival", load, own / rival[1], "< 1", own < rival[1], rival[0])
    own = middle.get(("timing-1000", OWN), {})
    for name, title in TIMES[:2]:
        for label, limit in (("p50", 0.1), ("p99", 0.5)):
            error = own.get(f"{name}_error_{label}_ms")
            if error is not None:
                late = own.get("server_late", False)
                line(f"{title} {label}: Kneepoint's error, ms", "timing-1000", error, f"≤ {limit}", None if late else error <= limit, LATE * late)
    for load, compared, closer in closest(middle, tools):
        if middle[load, OWN].get("server_late"):
            line("errors in which a rival is closer to the truth than Kneepoint", load, None, "0", None, LATE)
            continue
        line(f"errors, of {compared}, in which a rival is closer to the truth than Kneepoint", load, len(closer), "0", not closer, "; ".join(closer))
    for label in ("p99", "p999"):
        ratio = value("stall", OWN, f"stall_ratio_{label}")
        if ratio:
            line(f"{label} from the intended time ÷ closed form", "stall", ratio, "0.98 to 1.02", abs(ratio - 1) <= 0.02)
    return found


def closest(middle: dict, tools: dict[str, dict]):
    """For each timing load: how many errors can be compared with a rival's, and those in which one is closer. Rivals whose
    server was late are left out."""
    rivals = [tool for tool, said in tools.items() if said["family"] in (NATIVE, PYTHON)]
    for (load, tool), own in middle.items():
        compared, closer = 0, []
        for name in own if tool == OWN else ():
            theirs = {rival: middle[load, rival][name] for rival in rivals if "_error_" in name and name in middle.get((load, rival), {})
                      and not middle[load, rival].get("server_late")}
            compared += bool(theirs)
            closer += [f"{name.removesuffix('_ms').replace('_error_', ' ')}: {rival}" for rival, error in theirs.items() if error < own[name]]
        if compared:
            yield load, compared, closer


def markdown(report: dict, middle: dict) -> list[str]:
    machine = report["machine"]
    lines = [
        "# Kneepoint and its rivals against a server of known timing", "",
        f"{report['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
        f"load before: {machine['load_before']:.2f}. Medians of {report['repeats']} repeats, each tool in turn in each."
        + (" Short runs (--quick): no results." if report["quick"] else ""), "",
        *table(["tool", "kind", "version", "--help, s", "how"], [
            [name, said["family"], said.get("version", "failed: " + said.get("failed", "")), number(said.get("start_s")), said.get("notes", "")]
            for name, said in report["tools"].items()]),
        *([""] + [f"- {name}: {why}." for name, why in report["not_covered"].items()]),
    ]
    lines += ["", "## What follows", "", *table(["what", "load", "value", "wanted", "met", "rival"], [
        [line["what"], line["load"], number(line["value"]), line["wanted"], {True: "yes", False: "**no**", None: ""}[line["met"]], line["of"]]
        for line in report["derived"]])]
    for load in scenarios.ALL:
        tools = {tool: values for (name, tool), values in middle.items() if name == load.name and values["runs"]}
        if tools:
            lines += ["", f"## {load.name}", "", *section(load, tools)]
    lines += ["", "## What went wrong, and what is not offered", ""]
    said = dict.fromkeys((run["tool"], run["load"], kind, run[kind]) for run in report["runs"] for kind in ("failed", "not_offered") if kind in run)
    lines += table(["tool", "load", "", "in its words"], [
        [tool, load, kind.replace("_", " "), words.replace("|", "\\|").replace("\n", " ")] for tool, load, kind, words in said]) if said else ["Nothing."]
    return lines


def section(load, tools: dict[str, dict]) -> list[str]:
    """The table of one load."""
    common = [("runs", "runs"), ("measured", "requests"), ("errors", "errors")]
    use = [("cpu_us_per_event", "CPU µs/event"), ("peak_rss_mib", "peak MiB"), ("first_request_s", "to first request, s")]
    if load.kind == "timing":
        columns = [(f"{name}_error_{label}_ms", f"{title} {label}") for name, title in TIMES for label in ("p50", "p99")]
        intro = "How far each figure is from the server's truth, ms; *server late* says how late the server itself wrote (p99, ms)."
        use += [("cpu_under_load_s", "CPU s under load"), ("peak_rss_mib_per_1000_streams", "MiB/1,000 streams"), ("server_late_p99_ms", "server late")]
    elif load.kind == "stall":
        columns = [(f"stall_{label}_ms", f"end-to-end {label}, ms") for label in ("p99", "p999")]
        columns += [(f"stall_ratio_{label}", f"÷ closed form {label}") for label in ("p99", "p999")]
        intro = "The server freezes for 2 s at 100 requests/s."
    else:
        columns = [("requests_per_s", "requests/s")] if load.kind == "requests" else [("events_per_s", "token events/s")]
        intro = "In the middle of the run, by the server's record" + (", the tool on one core." if load.one_core else ".")
    noise = [("pressure_percent", "CPU pressure, %"), ("stolen_percent", "stolen, %")]
    columns = [column for column in columns + common + use + noise if any(column[0] in values for values in tools.values())]
    rows = []
    for tool, values in tools.items():
        late = f" ({LATE})" if values.get("server_late") else ""
        invalid = " (invalid, it says)" if values.get("exit_code") else ""
        rows.append([tool + invalid + late, *(number(values.get(name)) for name, _ in columns)])
    note = ["", "*Server itself late*: its own lateness is more than the error measured, and than 0.1 ms. Do not believe such a row."] \
        if any(values.get("server_late") for values in tools.values()) else []
    return [intro, "", *table(["tool", *(title for _, title in columns)], rows), *note]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def number(value: float | None) -> str:
    """Three digits that mean something; a dash for what is not there."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
