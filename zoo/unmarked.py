#!/usr/bin/env python3
"""Run the zoo's programs whose leak has a name in Python without marks (`lowtide run --no-agent`), and judge holder and line.

    python3 zoo/unmarked.py [--pythons PY,PY] [--only 10_val,28] [--variants leak,fixed] [--seconds 75] [--jobs 2] [--publish]

Nothing is kept from one time to the next. Exits with 1 where somebody is named who was not planted.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tables
from judge import NONE, POSITIVE, WRONG, judge
from live import ZOO, run
from pythons import Python, identify
from reference import reference
from truth import Truth, load_truth


def one(lowtide: Path, python: Python, truth: Truth, variant: str, seconds: float) -> dict:
    """What one run says, judged."""
    outcome = run(str(lowtide), python.path, truth, variant, seconds, options=("--no-agent",))
    entry = {"program": truth.name, "variant": variant, "python": python.label, "why": outcome.why, "leak": truth.leaks(variant)}
    if outcome.report is not None:
        report = outcome.report
        judgement = judge(report, truth, variant, outcome.log, reference(truth, outcome.log, outcome.ticks))
        named = next((finding for finding in report["findings"] if finding.get("holder")), {})
        site = named.get("site") or {}
        entry |= {
            "said": report["verdict"],
            "holder": judgement.holder,
            "line": judgement.line,
            "names": (named.get("holder") or {}).get("name"),
            "site": f"{site['file'].rpartition('/')[2]}:{site['line']}" if site else None,
            "stops": [round(stop) for stop in report["cost"]["stops_ms"]],
            "held": report["cost"]["held_seconds"] / report["duration_s"],
        }
    print(f"{truth.name}.{variant}: {entry.get('said', entry['why'])} {entry.get('names')}", file=sys.stderr, flush=True)
    return entry


def row(entry: dict) -> list:
    """One run's line in the table."""
    name = [entry["program"], entry["variant"], entry["python"]]
    if "said" not in entry:
        return [*name, entry["why"], *[None] * 6]
    stops = ", ".join(map(str, entry["stops"]))
    return [*name, *(entry[key] for key in ("said", "holder", "names", "line", "site")), stops, f"{100 * entry['held']:.1f} %"]


def text_of(entries: list[dict]) -> str:
    """The Markdown that is printed and published."""
    judged = [entry for entry in entries if "said" in entry]
    claimed = [entry for entry in judged if entry["leak"] and entry["said"] in POSITIVE]
    named = [entry for entry in claimed if entry["holder"] != NONE]
    wrong = [entry for entry in judged if WRONG in (entry["holder"], entry["line"])]
    summary = (
        f"{len(named)} of the {len(claimed)} leaks that were claimed have a holder; {len(wrong)} of {len(judged)} runs name "
        f"somebody who was not planted; {len(entries) - len(judged)} skipped or failed."
    )
    header = ["program", "variant", "under", "verdict", "holder", "named", "line", "named", "stops, ms", "held still"]
    return summary + "\n\n" + tables.markdown(header, [row(entry) for entry in entries])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, default=tables.ROOT / "target/release/lowtide")
    parser.add_argument("--pythons", default=sys.executable, help="interpreters; those without torch are left out")
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--variants", default="leak")
    parser.add_argument("--seconds", type=float, default=75.0)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time; they are paced and mostly sleep")
    parser.add_argument("--publish", action="store_true", help="keep the table in BENCHMARKS.md")
    args = parser.parse_args()
    pythons = [found for path in dict.fromkeys(args.pythons.split(",")) if path and (found := identify(path))]
    only = tuple(filter(None, args.only.split(","))) or ("",)
    truths = [load_truth(ZOO, path.stem) for path in sorted(ZOO.glob("[0-9][0-9]_*.py")) if path.stem.startswith(only)]
    # A server's process is no child of the run: nobody looks into it unasked.
    truths = [truth for truth in truths if truth.is_reachable() and not truth.server]
    cases = [(python, truth, variant) for python in pythons for truth in truths for variant in args.variants.split(",")]
    with ThreadPoolExecutor(args.jobs) as pool:
        entries = list(pool.map(lambda case: one(args.lowtide, *case, args.seconds), cases))
    entries.sort(key=lambda entry: (entry["python"], entry["program"], entry["variant"]))
    text = text_of(entries)
    print(text)
    if args.publish:
        command = f"python3 zoo/unmarked.py --variants {args.variants} --seconds {args.seconds:.0f}"
        tables.publish("zoo-unmarked", "Live runs without marks", f"{tables.stamp(command)}\n\n{text}")
    sys.exit(any(WRONG in (entry.get("holder"), entry.get("line")) for entry in entries))


if __name__ == "__main__":
    main()
