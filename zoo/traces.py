#!/usr/bin/env python3
"""Judge every recorded trace of the zoo with `lowtide report`, and the rules of others beside it.

    python3 zoo/traces.py [--lowtide target/release/lowtide] [--only 10_val,22] [--publish]

Each trace is judged whole, by its first half, thinned out to one sample a second, and with its command lines blanked.
Results: zoo/results/traces.json and .md; `--publish` keeps the table in BENCHMARKS.md. Exits with 1 where anything is
wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import rivals
import tables
from judge import OPEN, POSITIVE, RIGHT, WRONG, Judgement, judge
from reference import Reference, reference
from samples import Tick, blanked, first_part, parse_csv, thinned, write_csv
from truth import Log, Truth, load_log, load_truth

ZOO = Path(__file__).resolve().parent
RESULTS = ZOO / "results"
NAME = re.compile(r"(?P<program>[^.]+)\.(?P<variant>leak|fixed)(?P<tag>[.\w]*)$")
VIEWS: dict[str, Callable[[list[Tick]], list[Tick]]] = {
    "whole": lambda ticks: ticks,
    "half": lambda ticks: first_part(ticks, 0.5),
    "1 s": lambda ticks: thinned(ticks, 1.0),
    "blank": blanked,
}
# The first half of these short recordings ends before the growth bends: nobody can tell it from a leak.
CANNOT_BE_TOLD_AT_HALF = {"13_frame_lru", "22_warmup_plateau"}
SHORT_S = 40.0


@dataclass
class Trace:
    """A recorded run and its truth."""

    name: str
    truth: Truth
    variant: str
    log: Log
    ticks: list[Tick]
    ref: Reference | None

    def leaks(self) -> bool:
        return self.truth.leaks(self.variant)


def load(path: Path) -> Trace:
    """Read a trace, its truth log and its program's truth."""
    name = path.name[: -len(".csv")]
    match = NAME.fullmatch(name)
    if match is None:
        sys.exit(f"{path}: is not named PROGRAM.leak|fixed[.TAG].csv")
    truth = load_truth(ZOO, match["program"])
    log = load_log(path.with_name(name + ".truth.jsonl"))
    ticks = parse_csv(path.read_text())
    return Trace(name, truth, match["variant"], log, ticks, reference(truth, log, ticks))


def ask(lowtide: str, ticks: list[Tick]) -> dict:
    """lowtide's report on these samples; the file's name tells nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.csv"
        file.write_text(write_csv(ticks))
        done = subprocess.run([lowtide, "report", str(file), "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise RuntimeError(f"lowtide report ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def seconds_to_verdict(lowtide: str, trace: Trace, parts: int = 20) -> float | None:
    """How much of the trace it takes until the leak is found for good, to a twentieth; `None` where it never is."""
    first = None
    for part in range(parts, 0, -1):
        seen = first_part(trace.ticks, part / parts)
        if ask(lowtide, seen)["verdict"] not in POSITIVE:
            break
        first = seen[-1].t - trace.ticks[0].t
    return first


def judge_trace(lowtide: str, trace: Trace) -> dict:
    """All that is said of one trace."""
    entry: dict = {"trace": trace.name, "leak": trace.leaks(), "views": {}, "said": {}}
    for view, make in VIEWS.items():
        ticks = make(trace.ticks)
        short = trace.ticks[-1].t - trace.ticks[0].t < SHORT_S
        must_wait = view == "half" and short and trace.variant == "leak" and trace.truth.name in CANNOT_BE_TOLD_AT_HALF
        try:
            report = ask(lowtide, ticks)
        except (RuntimeError, ValueError) as error:
            judgement = Judgement(verdict=WRONG, said=f"failed: {error}")
        else:
            judgement = judge(report, trace.truth, trace.variant, trace.log, trace.ref, early=view == "half", must_wait=must_wait)
        entry["views"][view] = judgement.as_dict()
        entry["said"][view] = judgement.said
    if trace.leaks() and entry["said"]["whole"] in POSITIVE:
        entry["seconds_to_verdict"] = seconds_to_verdict(lowtide, trace)
    for key, from_ready in (("rivals", False), ("rivals_from_ready", True)):
        seen = rivals.watched(trace.ticks, trace.log, from_ready=from_ready)
        entry[key] = {name: rule(seen) for name, rule in rivals.RULES.items()}
    return entry


def row(entry: dict) -> list:
    """One trace's line in the table: verdict and marks, a word only where something is not right."""
    whole = entry["views"]["whole"]
    verdicts = {view: entry["views"][view]["verdict"] for view in VIEWS}
    views = [entry["said"][view] + ("" if mark == RIGHT else f" ({mark})") for view, mark in verdicts.items()]
    aspects = [whole[aspect] for aspect in ("cls", "process", "kind", "rate")]
    rates = [tables.per_minute(whole[rate], whole["unit"]) for rate in ("said_rate", "true_rate")]
    seconds = entry.get("seconds_to_verdict")
    return [
        entry["trace"],
        "leak" if entry["leak"] else "",
        *views,
        *aspects,
        *rates,
        None if seconds is None else f"{seconds:.0f}",
    ]


def comparison(entries: list[dict]) -> list[list]:
    """Precision and recall on the whole traces, lowtide first; for the rules of others also without the start-up."""

    def line(name: str, called: list[bool], called_later: list[bool] | None) -> list:
        leaks = [entry["leak"] for entry in entries]
        counts = tables.precision_recall(list(zip(leaks, called)))
        cells = [counts[key] for key in ("precision", "recall", "found", "missed", "false_alarms")]
        if called_later is not None:
            later = tables.precision_recall(list(zip(leaks, called_later)))
            cells += [later["precision"], later["recall"]]
        return [name, *cells]

    rows = [line("lowtide", [entry["said"]["whole"] in POSITIVE for entry in entries], None)]
    for name in rivals.RULES:
        rows.append(line(name, *([entry[key][name] for entry in entries] for key in ("rivals", "rivals_from_ready"))))
    for cells in rows:
        cells += [None] * (8 - len(cells))
    return rows


def wrong(entry: dict) -> list[str]:
    """What is wrong, as `view: aspect`."""
    return [
        f"{view}: {aspect}"
        for view, judgement in entry["views"].items()
        for aspect in ("verdict", "cls", "process", "kind", "rate")
        if judgement[aspect] == WRONG
    ]


def report(entries: list[dict]) -> str:
    """The Markdown that is printed and published."""
    header = ["trace", "truth", *VIEWS, "class", "process", "kind", "rate", "said/min", "true/min", "s to verdict"]
    header_rivals = [
        "rule",
        "precision",
        "recall",
        "found",
        "missed",
        "false alarms",
        "precision from ready",
        "recall from ready",
    ]
    bad = [f"{entry['trace']} ({', '.join(found)})" for entry in entries if (found := wrong(entry))]
    open_ = sum(entry["views"]["whole"]["verdict"] == OPEN for entry in entries)
    summary = (
        f"{len(entries) - len(bad)} of {len(entries)} traces right in every view; "
        f"{open_} whole traces left undecided where that is allowed."
    )
    if bad:
        summary += "\n\nWrong: " + "; ".join(bad) + "."
    return "\n\n".join(
        [summary, tables.markdown(header_rivals, comparison(entries)), tables.markdown(header, [row(entry) for entry in entries])]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", default=str(tables.ROOT / "target/release/lowtide"))
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--publish", action="store_true", help="keep the table in BENCHMARKS.md")
    args = parser.parse_args()
    only = tuple(filter(None, args.only.split(",")))
    paths = [path for path in sorted((ZOO / "traces").glob("*.csv")) if path.name.startswith(only or ("",))]
    if not paths:
        sys.exit(f"no trace begins with {args.only}")
    with ThreadPoolExecutor(2) as pool:
        entries = list(pool.map(lambda path: judge_trace(args.lowtide, load(path)), paths))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "traces.json").write_text(json.dumps(entries, indent=1))
    text = report(entries)
    (RESULTS / "traces.md").write_text(text + "\n")
    print(text)
    if args.publish:
        tables.publish("zoo-traces", "Recorded traces", f"{tables.stamp('make zoo-traces')}\n\n{text}")
    sys.exit(any(wrong(entry) for entry in entries))


if __name__ == "__main__":
    main()
