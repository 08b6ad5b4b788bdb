#!/usr/bin/env python3
"""Run the zoo live under `lowtide run` and judge every report.

    python3 zoo/run.py [--pythons PY,PY] [--only 10_val,22] [--variants leak,fixed] [--six] [--jobs 2] [--publish]

It resumes: a result is kept in zoo/results/live/ until the program, zoolib.py or the lowtide binary changes, and its
recording beside it. `--six` is
what `make test` runs: six programs, judged by verdict, process and kind. Exits with 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tables
from judge import ASPECTS, OPEN, POSITIVE, RIGHT, WRONG, judge
from live import ZOO, run
from pythons import RESULTS, Python, identify
from reference import reference
from truth import Truth, load_truth

SIX = ["28_callback_closures", "45_one_of_four", "19_val_spike", "22_warmup_plateau", "26_shm_held", "18_wrapper_child"]
SIX_ASPECTS = ("verdict", "process", "kind")


def key_of(program: Path, lowtide: Path, seconds: float) -> str:
    """Changes when the program, its scaffold, the binary or the length of the run does."""
    digest = hashlib.sha256(f"{seconds}".encode())
    for part in (program, ZOO / "zoolib.py", lowtide):
        digest.update(part.read_bytes())
    return digest.hexdigest()[:16]


def kept_at(python: Python, name: str, variant: str) -> Path:
    """Where the result of a run is kept; its recording lies beside it, ending in `.lowtide`."""
    return RESULTS / "live" / python.label.replace(", ", "-").replace(" ", "") / f"{name}.{variant}.json"


def one(lowtide: Path, python: Python, truth: Truth, variant: str) -> dict:
    """The result for one program, variant and Python: kept from before, or by running it now."""
    key = key_of(ZOO / f"{truth.name}.py", lowtide, truth.live_seconds)
    kept = kept_at(python, truth.name, variant)
    recording = kept.with_suffix(".lowtide")
    if kept.exists() and (before := json.loads(kept.read_text()))["key"] == key:
        if recording.exists() or "judgement" not in before:
            return before
    outcome = run(str(lowtide), python.path, truth, variant, truth.live_seconds, recording=recording)
    ref = reference(truth, outcome.log, outcome.ticks)
    leaks = truth.leaks(variant)
    entry = {"key": key, "program": truth.name, "variant": variant, "python": python.label, "leak": leaks, "why": outcome.why}
    if outcome.report is not None:
        judgement = judge(outcome.report, truth, variant, outcome.log, ref)
        entry |= {"judgement": judgement.as_dict(), "notice_s": outcome.notice_s, "report": outcome.report}
    mark = entry["judgement"]["verdict"] if "judgement" in entry else entry["why"]
    print(
        f"{truth.name}.{variant} ({python.label}): {entry.get('judgement', {}).get('said', '')} {mark}",
        file=sys.stderr,
        flush=True,
    )
    if not entry["why"].startswith("failed"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(entry, indent=1))
    return entry


def wrong(entry: dict, aspects: tuple[str, ...]) -> list[str]:
    """What is wrong about one run."""
    if "judgement" not in entry:
        return [entry["why"]] if entry["why"].startswith("failed") else []
    return [aspect for aspect in aspects if entry["judgement"][aspect] == WRONG]


def row(entry: dict) -> list:
    """One run's line in the table."""
    name = [entry["program"], entry["variant"], entry["python"]]
    if "judgement" not in entry:
        return [*name, entry["why"], *[None] * 17]
    j = entry["judgement"]
    verdict = j["said"] + ("" if j["verdict"] == RIGHT else f" ({j['verdict']})")
    rates = [tables.per_minute(j[rate], j["unit"]) for rate in ("said_rate", "true_rate")]
    notice = entry.get("notice_s")
    per_step = [j["per_step"], kib(j["said_step"]), kib(j["true_step"]), j["live"], kib(j["said_live"]), kib(j["true_live"])]
    last = [j["steps"], j["phase"], *per_step, None if notice is None else f"{notice:.0f}"]
    held = [j["holder"], j["line"]]
    return [*name, verdict, j["cls"], j["process"], j["kind"], j["rate"], *rates, *held, *last]


def kib(growth: float | None) -> str | None:
    """Growth per step, in KiB."""
    return None if growth is None else f"{growth / 1024:.1f}"


def report(entries: list[dict], aspects: tuple[str, ...]) -> str:
    """The Markdown that is printed and published."""
    judged = [entry for entry in entries if "judgement" in entry]
    bad = [f"{e['program']}.{e['variant']} under {e['python']} ({', '.join(w)})" for e in entries if (w := wrong(e, aspects))]
    counts = tables.precision_recall([(entry["leak"], entry["judgement"]["said"] in POSITIVE) for entry in judged])
    summary = (
        f"{len(entries) - len(bad)} of {len(entries)} runs right or skipped; precision {counts['precision']}, recall "
        f"{counts['recall']}; {sum(entry['judgement']['verdict'] == OPEN for entry in judged)} left undecided where that "
        f"is allowed; {len(entries) - len(judged)} skipped or failed."
    )
    if bad:
        summary += "\n\nWrong: " + "; ".join(bad) + "."
    header = [
        "program",
        "variant",
        "under",
        "verdict",
        "class",
        "process",
        "kind",
        "rate",
        "said/min",
        "true/min",
        "holder",
        "line",
        "steps",
        "phase",
        "per step",
        "said KiB",
        "true KiB",
        "live",
        "said KiB",
        "true KiB",
        "s to leak notice",
    ]
    return summary + "\n\n" + tables.markdown(header, [row(entry) for entry in entries])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, default=tables.ROOT / "target/release/lowtide")
    parser.add_argument(
        "--pythons", default=f"{sys.executable},/usr/bin/python3", help="interpreters; those without torch are left out"
    )
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--variants", default="leak,fixed")
    parser.add_argument("--six", action="store_true", help="the six programs of `make test`")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time; they are paced and mostly sleep")
    parser.add_argument("--publish", action="store_true", help="keep the table in BENCHMARKS.md")
    args = parser.parse_args()
    pythons = [found for path in dict.fromkeys(args.pythons.split(",")) if path and (found := identify(path))]
    if not pythons:
        sys.exit(f"no torch under {args.pythons}; `make venv` installs one")
    only = tuple(filter(None, args.only.split(",")))
    names = (
        SIX if args.six else [path.stem for path in sorted(ZOO.glob("[0-9][0-9]_*.py")) if path.stem.startswith(only or ("",))]
    )
    variants = ["leak"] if args.six else args.variants.split(",")
    aspects = SIX_ASPECTS if args.six else ASPECTS
    cases = [(python, load_truth(ZOO, name), variant) for python in pythons for name in names for variant in variants]
    if not cases:
        sys.exit(f"no program begins with {args.only}")
    # A program whose work is done by a server runs alone: what leaks beside it is what lowtide looks for.
    alone = [case for case in cases if case[1].server]
    with ThreadPoolExecutor(args.jobs) as pool:
        entries = list(pool.map(lambda case: one(args.lowtide, *case), [case for case in cases if case not in alone]))
    entries += [one(args.lowtide, *case) for case in alone]
    entries.sort(key=lambda entry: (entry["python"], entry["program"], entry["variant"]))
    text = report(entries, aspects)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "live.json").write_text(json.dumps([{k: v for k, v in e.items() if k != "report"} for e in entries], indent=1))
    (RESULTS / "live.md").write_text(text + "\n")
    print(text)
    if args.publish:
        tables.publish("zoo", "Live runs", f"{tables.stamp('make zoo')}\n\n{text}")
    failed = sum(bool(wrong(entry, aspects)) for entry in entries)
    skipped = sum("judgement" not in entry and not wrong(entry, aspects) for entry in entries)
    print(f"\n{len(entries) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
