#!/usr/bin/env python3
"""What `lowtide compare` says of runs whose truth is known.

    python3 zoo/compare.py traces [--lowtide target/release/lowtide]
    python3 zoo/compare.py live [--python PY] [--only 10_val,22] [--jobs 2] [--publish]
    python3 zoo/compare.py runs FOLDER [--programs 10_val_lists,19_val_spike] [--count 21] [--jobs 3] [--python PY]
    python3 zoo/compare.py pairs FOLDER

`traces` holds the leaking and the repaired recording of every program against each other. `live` does so with runs under
`lowtide run`, marks and all: those that `make zoo` kept, and where there are none, or the program is newer, it makes them.
`runs` makes recordings of one program over and over, `pairs` holds each of them against each other: there is no difference.
They print Markdown, and exit with 1 where a sentence is wrong, or where fewer than 95 % of the pairs show none.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import run
import tables
from pythons import Python, identify
from truth import Truth, load_truth

ZOO = Path(__file__).resolve().parent
NAME = re.compile(r"(?P<program>[^.]+)\.leak(?P<tag>[.\w]*)\.csv$")
# What may be said of a program, by its truth.
RIGHT = {
    "leak": ("fixed",),
    "floor": ("better",),
    "spike": ("better",),
    "sawtooth": ("better",),
    "bounded": ("better", "no_difference"),
    "overhead": ("better",),
    "none": ("no_difference",),
}
# The repaired program keeps its workers between epochs: its low tide holds them, its peak is the same.
HIGHER_FLOOR = {"43_worker_respawn"}
# A recording so short that nothing can be said of the leak under its spikes; `.long` shows it.
TOO_SHORT = {"21_slow_under_spikes.leak"}


def compare(lowtide: str, before: list[Path], after: list[Path]) -> dict:
    """The answer as JSON."""
    command = [lowtide, "compare", "--before", *map(str, before), "--after", *map(str, after), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lowtide compare ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def may_say(truth: Truth, said: dict) -> tuple[str, ...]:
    """The outcomes that are right for a program before and after its repair."""
    if truth.name in HIGHER_FLOOR:
        return ("worse", "no_difference")
    if truth.leak and said["after"][0]["verdict"] == "undecided":
        return ("better",)  # the repaired run is too short for a verdict
    return RIGHT["leak" if truth.leak else truth.problem]


def traces(lowtide: str) -> bool:
    """Every program before and after its repair; whether every sentence is right."""
    rows, wrong = [], 0
    for before in sorted((ZOO / "traces").glob("*.leak*.csv")):
        match = NAME.fullmatch(before.name)
        if match is None:
            continue
        after = before.with_name(f"{match['program']}.fixed{match['tag']}.csv")
        after = after if after.exists() else before.with_name(f"{match['program']}.fixed.csv")
        if not after.exists():
            continue
        truth = load_truth(ZOO, match["program"])
        said = compare(lowtide, [before], [after])
        may = may_say(truth, said)
        if before.name.removesuffix(".csv") in TOO_SHORT:
            may = ("no_difference",)
        right = said["outcome"] in may
        wrong += not right
        rows.append([before.name.removesuffix(".csv"), truth.problem, "right" if right else "WRONG", said["summary"]])
    print(tables.markdown(["recording", "truth", "", "said"], rows))
    print(f"\n{len(rows) - wrong} of {len(rows)} right.")
    return wrong == 0


def recorded(lowtide: str, python: Python, truth: Truth, variant: str) -> Path | None:
    """The recording of a live run, made now where there is none of this program; `None` where it cannot run here."""
    file = run.kept_at(python, truth.name, variant).with_suffix(".lowtide")
    source = max(part.stat().st_mtime for part in (ZOO / f"{truth.name}.py", ZOO / "zoolib.py"))
    if not file.exists() or file.stat().st_mtime < source:
        entry = run.one(Path(lowtide), python, truth, variant)
        if entry["why"].startswith("failed"):
            raise RuntimeError(f"{truth.name}.{variant}: {entry['why']}")
    return file if file.exists() else None


def live(args: argparse.Namespace) -> bool:
    """Every program, run before and after its repair; whether every sentence is right."""
    python = identify(args.python)
    if python is None:
        sys.exit(f"no torch under {args.python}; `make venv` installs one")
    only = tuple(filter(None, args.only.split(","))) or ("",)
    truths = [load_truth(ZOO, path.stem) for path in sorted(ZOO.glob("[0-9][0-9]_*.py")) if path.stem.startswith(only)]
    cases = [(truth, variant) for truth in truths for variant in ("leak", "fixed")]
    # A program whose work is done by a server runs alone, as in run.py.
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda case: recorded(args.lowtide, python, *case), [case for case in cases if not case[0].server]))
    rows, wrong = [], 0
    for truth in truths:
        sides = [recorded(args.lowtide, python, truth, variant) for variant in ("leak", "fixed")]
        if None in sides:
            continue  # it says so itself: too old a torch
        said = compare(args.lowtide, [sides[0]], [sides[1]])
        right = said["outcome"] in may_say(truth, said)
        wrong += not right
        rows.append([truth.name, truth.problem, "right" if right else "WRONG", said["summary"]])
    text = f"{len(rows) - wrong} of {len(rows)} right, under {python.label}.\n\n"
    text += tables.markdown(["program", "truth", "", "said"], rows)
    print(text)
    if args.publish:
        tables.publish("compare", "What `compare` says of repairs", f"{tables.stamp('make zoo-compare')}\n\n{text}")
    return wrong == 0


def runs(args: argparse.Namespace) -> None:
    """Records each program over and over; what is there already is kept."""
    args.folder.mkdir(parents=True, exist_ok=True)

    def record(job: tuple[int, str]) -> None:
        seed, program = job
        file = args.folder / f"{program}.{seed}.lowtide"
        if file.with_suffix(".json").exists():
            return
        file.unlink(missing_ok=True)
        target = [args.python, str(ZOO / f"{program}.py"), "--variant", "leak", "--seconds", "60", "--seed", str(seed)]
        watch = [args.lowtide, "run", "--census", "off", "--record", str(file), "-o", str(file.with_suffix(".json"))]
        subprocess.run(
            [*watch, "--", *target],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    jobs = [(seed, program) for seed in range(1, args.count + 1) for program in args.programs.split(",")]
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(record, jobs))


def pairs(lowtide: str, folder: Path) -> bool:
    """Every run against every other one of its program, both ways round, and three against three; whether 95 % agree."""
    by_program = collections.defaultdict(list)
    for file in sorted(folder.glob("*.lowtide")):
        by_program[file.name.split(".")[0]].append(file)
    for files in by_program.values():
        files.sort(key=lambda file: int(file.name.split(".")[1]))
    rows, good = [], True
    for program, files in by_program.items():
        alone = [([a], [b]) for a, b in itertools.permutations(files, 2)]
        # Runs that were not made at the same time, as one should take them.
        third = len(files) // 3
        three = [(files[i::third][:3], files[j::third][:3]) for i, j in itertools.permutations(range(third), 2)]
        for name, sides in (("one a side", alone), ("three a side", three)):
            with ThreadPoolExecutor(2) as pool:
                said = list(pool.map(lambda side: compare(lowtide, *side), sides))
            if not said:
                continue
            same = sum(one["outcome"] == "no_difference" for one in said)
            slower = sum(row["differs"] is True for one in said for row in one["rows"] if row["quantity"] == "step_time" and not row["phase"])
            good &= same >= 0.95 * len(said)
            rows.append([program, name, len(said), same, f"{100 * same / len(said):.1f} %", slower])
    titles = ["program", "runs", "pairs", "no difference seen", "", "a difference in speed"]
    print(tables.markdown(titles, rows))
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["traces", "live", "runs", "pairs"])
    parser.add_argument("folder", nargs="?", type=Path, default=ZOO / "results" / "compare")
    parser.add_argument("--lowtide", default=str(ZOO.parent / "target" / "release" / "lowtide"))
    parser.add_argument("--programs", default="10_val_lists,19_val_spike")
    parser.add_argument("--only", default="", help="for `live`: beginnings of names, separated by commas")
    parser.add_argument("--publish", action="store_true", help="for `live`: keep the table in BENCHMARKS.md")
    parser.add_argument("--count", type=int, default=21)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--python", default="python3")
    args = parser.parse_args()
    if args.what == "runs":
        return runs(args)
    judges = {
        "traces": lambda: traces(args.lowtide),
        "live": lambda: live(args),
        "pairs": lambda: pairs(args.lowtide, args.folder),
    }
    sys.exit(0 if judges[args.what]() else 1)


if __name__ == "__main__":
    main()
