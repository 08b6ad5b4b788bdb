#!/usr/bin/env python3
"""What it takes to read a memory snapshot of PyTorch of 1 GB, beside PyTorch's own `torch/cuda/_memory_viz.py`.

The snapshot is made by `crates/ingest/tests/snapshots/generate.py --large`. Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from answer import Answer, middle_and_spread

ROOT = Path(__file__).resolve().parent.parent
GENERATE = ROOT / "crates/ingest/tests/snapshots/generate.py"
ROUNDS = 3
TIMES_FASTER = 10.0
TIMES_THE_FILE = 2.0
GOAL_S = 5.0
NEEDED_GIB = 8.0  # what making the file and reading it in Python take at most
ABOUT = (
    "A snapshot made by `generate.py --large`: events of deep stacks, each a list of frames of its own, as the files of long recordings have "
    "them. lowtide is the whole of `lowtide report FILE`: live bytes by line, the trace's replay, verdict, peak and errors. "
    "`_memory_viz.py` is `python _memory_viz.py stats FILE`, the least that it can do with one: it adds up segments and prints them. In turns, {rounds}; "
    "peak: the most that was resident."
)


@dataclass
class Run:
    """One reading: seconds by the clock and of the processor, MB that were resident at most."""

    wall: float
    cpu: float
    peak: float


def run(command: list[str]) -> Run:
    """Runs a command to its end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {said.strip()[-500:]}")
    return Run(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)


def free_gib() -> float:
    """Memory that can be had without swapping."""
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) / 2**20


def viz_of(python: str) -> str:
    """Where that Python has `_memory_viz.py`; it is a program by itself."""
    where = "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent / 'cuda/_memory_viz.py')"
    return subprocess.run([python, "-c", where], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def measured(lowtide: Path, python: str, file: Path, rounds: int) -> dict[str, list[Run]]:
    """Both, in turns."""
    commands = {"lowtide": [str(lowtide), "report", str(file)]}
    if python:
        commands["_memory_viz.py"] = [python, viz_of(python), "stats", str(file)]
    found: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(rounds):
        names = list(commands)[:: 1 if turn % 2 == 0 else -1]
        for name in names:
            found[name].append(run(commands[name]))
    return found


def answered(found: dict[str, list[Run]], size: float) -> Answer:
    """Table, gates and goal."""
    answer, rows = Answer(), []
    for name, runs in found.items():
        times = [middle_and_spread([getattr(one, what) for one in runs], 1) for what in ("wall", "cpu")]
        peak = median(one.peak for one in runs)
        rows.append([name, *times, f"{peak:.0f}", f"{peak / size:.2f}"])
    turns = f"{len(found['lowtide'])} of each"
    header = ["reader", "seconds", "of processor", "peak, MB", "times the file"]
    answer.table(f"{ABOUT.format(rounds=turns)} The file: {size:.0f} MB.", header, rows)
    middle = {name: {what: median(getattr(one, what) for one in runs) for what in ("wall", "cpu", "peak")} for name, runs in found.items()}
    ours, theirs = middle["lowtide"], middle.get("_memory_viz.py")
    if theirs:
        wall, cpu = theirs["wall"] / ours["wall"], theirs["cpu"] / ours["cpu"]
        got = f"{wall:.1f} times, {cpu:.1f} by processor time"
        answer.gate(f"at least {TIMES_FASTER:g} times faster than `_memory_viz.py`", got, wall >= TIMES_FASTER)
    share = ours["peak"] / size
    answer.gate(f"at most {TIMES_THE_FILE:g} times the file in memory", f"{share:.2f} times", share <= TIMES_THE_FILE)
    answer.goal(f"1 GB in {GOAL_S:g} s", f"{ours['wall'] * 1000 / size:.1f} s", ours["wall"] * 1000 / size <= GOAL_S)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--torch", required=True, help="a Python with torch; empty where there is none")
    parser.add_argument("--file", type=Path, help="a snapshot that `generate.py --large` made before")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    if free_gib() < NEEDED_GIB:
        sys.exit(f"{NEEDED_GIB:g} GiB must be free for Python to make and read the snapshot; {free_gib():.1f} are")
    with tempfile.TemporaryDirectory() as folder:
        file = args.file or Path(folder) / "large.pickle"
        if not args.file:
            subprocess.run([sys.executable, str(GENERATE), "--large", str(file), "--gigabytes", "1"], check=True)
        answered(measured(args.lowtide, args.torch, file, args.rounds), file.stat().st_size / 1e6).print()


if __name__ == "__main__":
    main()
