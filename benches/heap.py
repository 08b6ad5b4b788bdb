#!/usr/bin/env python3
"""What a look with `lowtide heap` costs and how long it holds its target still, beside what Python programs do to themselves.

Every way of looking has a process of its own with the same heap, and they take turns. Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from answer import Answer, middle_and_spread
from processes import status_bytes
from peers import rivals_python, site_packages

HERE = Path(__file__).resolve().parent
ROUNDS = 5
SMALL, SMALL_ROUNDS = 100_000, 15  # where a look takes so little that whatever else the machine does is a large part of it
SIZES = (SMALL, 1_000_000)
GATE_AT = 1_000_000  # the heap whose ratios are gates; those of the others are goals
LARGE = 10_000_000
LARGE_ROUNDS = 3  # the slowest of the others needs most of a minute for it
LARGE_GIB = 14.0  # that must be free for it: five such heaps, and what the others make of theirs
TORCH_RECORDS = 100_000
RIVALS = ("gc", "objgraph", "guppy", "pympler")
GATES = {"guppy": 3.5, "pympler": 12.0}  # times faster
MEMORY_PART, MEMORY_MIB = 1.3, 16
STOP_S = 0.25  # per million objects
COPY_MS = 0.06  # per MB
LARGE_S = 1.0
ABOUT = (
    f"Medians of {ROUNDS} rounds (least to most), of the smallest heap {SMALL_ROUNDS}, of the largest {LARGE_ROUNDS}. lowtide is the "
    "whole of `lowtide heap PID --format json`, from its start to its end: all objects by type and holder, paths, tensors, and "
    "what all memory is for; "
    "alone is the same with `--objects`, which leaves out the last two, as the others do. "
    "The others run inside of their target, which does nothing else meanwhile; what it takes to import them does not count. "
    "gc: `sys.getsizeof` of `gc.get_objects()` by type; objgraph: `most_common_types()`, both of what the collector tracks "
    "only; guppy: `hpy().heap()`; pympler: `summarize(muppy.get_objects())`. None of the four gives paths. The heap: records "
    "of a data set as dicts, lists, tuples, str, numbers and instances, 17 objects each; torch: the same beside a model after "
    "a few steps. Gates are those of the heap of one million objects."
)


class Target:
    """A process with a heap, which looks into itself when it is asked."""

    def __init__(self, python: str, objects: int, kind: str, packages: str) -> None:
        environment = {**os.environ, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        command = [python, str(HERE / "heap_target.py"), str(objects), kind]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.answer()

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a target ended with {self.process.wait()}: see above")
        return json.loads(line)

    def ask(self, way: str) -> dict[str, float]:
        """Milliseconds that it took, and those of the processor."""
        self.process.stdin.write(way + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        return {way: answer["ms"], f"{way} cpu": answer["cpu"]}

    def resident_mb(self) -> float:
        return status_bytes(self.process.pid, "VmRSS") / 1e6

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def look(lowtide: Path, pid: int, *options: str) -> dict:
    """One look: milliseconds in all, of pause and of processor, MiB read and held at most, objects."""
    start = time.perf_counter()
    ours = subprocess.Popen(
        [str(lowtide), "heap", str(pid), "--format", "json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said = ours.stdout.read()
    _, status, usage = os.wait4(ours.pid, 0)
    wall = time.perf_counter() - start
    ours.returncode = os.waitstatus_to_exitcode(status)
    if ours.returncode != 0:
        sys.exit(f"lowtide heap ended with {ours.returncode}: {ours.stderr.read().strip()[-500:]}")
    answer = json.loads(said)
    return {
        "lowtide": wall * 1000,
        "pause": answer["pause_seconds"] * 1000,
        "lowtide cpu": (usage.ru_utime + usage.ru_stime) * 1000,
        "read": answer["bytes_read"] / 2**20,
        "held": usage.ru_maxrss / 1024,
        "objects": answer["objects"],
    }


def both(lowtide: Path, pid: int, turn: int) -> dict:
    """The whole look and one at objects alone, each of them first in every second turn."""
    whole = look(lowtide, pid) if turn % 2 == 0 else {}
    alone = look(lowtide, pid, "--objects")
    whole = whole or look(lowtide, pid)
    return {**whole, "alone": alone["lowtide"], "alone cpu": alone["lowtide cpu"], "alone pause": alone["pause"]}


def measured(lowtide: Path, python: str, objects: int, kind: str, rounds: int) -> dict[str, list[float]]:
    """All ways on one heap, in turns that begin with another one each time."""
    packages = site_packages()
    targets = {way: Target(python, objects, kind, packages) for way in ("lowtide", *RIVALS)}
    found: dict[str, list[float]] = {}
    try:
        for turn in range(rounds):
            for place in range(len(targets)):
                way = list(targets)[(turn + place) % len(targets)]
                target = targets[way]
                if way == "lowtide":
                    resident = target.resident_mb()
                    new = both(lowtide, target.process.pid, turn)
                    new |= {"resident": resident, **target.ask("copy")}
                else:
                    new = target.ask(way)
                for name, value in new.items():
                    found.setdefault(name, []).append(value)
    finally:
        for target in targets.values():
            target.end()
    return found


def free_gib() -> float:
    """Memory that can be had without swapping."""
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) / 2**20


def judge(answer: Answer, heap: str, found: dict[str, list[float]], is_gate: bool) -> None:
    """Goals and gates of one heap."""
    middle = {name: median(values) for name, values in found.items()}
    say = answer.gate if is_gate else answer.goal
    for rival, times in GATES.items():
        for ours, what in (("lowtide", ""), ("alone", ", objects alone")):
            ratio = middle[f"{rival} cpu"] / middle[f"{ours} cpu"]
            wall = middle[rival] / middle[ours]
            got = f"{wall:.1f} times, {ratio:.1f} by processor time of all threads"
            say(f"{heap}{what}: at least {times:g} times faster than {rival}", got, wall >= times)
    allowed = MEMORY_PART * middle["read"] + MEMORY_MIB
    say(
        f"{heap}: memory at most {MEMORY_PART} times what was read and {MEMORY_MIB} MiB",
        f"{middle['held']:.0f} of {allowed:.0f} MiB",
        middle["held"] <= allowed,
    )
    stop, alone = (middle[pause] / 1000 / (middle["objects"] / 1e6) for pause in ("pause", "alone pause"))
    got = f"{stop:.3f} s, for objects alone {alone:.3f} s"
    answer.goal(f"{heap}: held still for at most {STOP_S} s per million objects", got, stop <= STOP_S)
    copy = middle["copy"] / middle["resident"]
    answer.goal(f"{heap}: copies itself in at most {COPY_MS} ms per MB resident", f"{copy:.3f} ms", copy <= COPY_MS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--torch", required=True, help="a Python with torch; empty where there is none")
    args = parser.parse_args()
    python = str(rivals_python())
    heaps = [(f"{size / 1e6:g} million", python, size, "plain", SMALL_ROUNDS if size == SMALL else ROUNDS) for size in SIZES]
    if args.torch:
        heaps.append(("torch", args.torch, TORCH_RECORDS, "torch", ROUNDS))
    if free_gib() >= LARGE_GIB:
        heaps.append((f"{LARGE / 1e6:g} million", python, LARGE, "plain", LARGE_ROUNDS))
    answer, rows = Answer(), []
    for heap, interpreter, objects, kind, rounds in heaps:
        found = measured(args.lowtide, interpreter, objects, kind, rounds)
        show = {name: middle_and_spread(values, 0) for name, values in found.items()}
        per_mb = [copy / resident for copy, resident in zip(found["copy"], found["resident"])]
        columns = [show[name] for name in ("lowtide", "lowtide cpu", "pause", "alone", "alone pause")]
        sizes = [f"{median(found[name]):.0f}" for name in ("read", "held")]
        rows.append(
            [heap, f"{median(found['objects']) / 1e6:.2f}", *columns, *sizes, middle_and_spread(per_mb, 3)]
            + [show[rival] for rival in RIVALS]
        )
        judge(answer, heap, found, is_gate=objects == GATE_AT)
        if objects == LARGE:
            seconds, alone = (median(found[ours]) / 1000 for ours in ("lowtide", "alone"))
            got = f"{seconds:.2f} s, objects alone {alone:.2f} s"
            answer.goal(f"10 million objects in {LARGE_S:g} second", got, seconds <= LARGE_S)
    header = ["heap", "million objects", "lowtide, ms", "of processor", "target held, ms", "alone, ms", "held for it, ms"]
    header += ["read, MiB", "held by us, MiB", "copy instead, ms per MB", *(f"{rival}, ms" for rival in RIVALS)]
    answer.table(ABOUT, header, rows)
    answer.print()


if __name__ == "__main__":
    main()
