#!/usr/bin/env python3
"""How long mmap and munmap of a target have to wait while it is watched: alone, with lowtide attached, and with a naive reader.

The naive reader reads `smaps_rollup` once a second whatever it costs. The three take turns. Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from answer import Answer
from processes import attached

ROUNDS = 3
WINDOW_S = 3.0
TARGETS = [("memfd", 1), ("memfd", 4), ("memfd", 16), ("anonymous", 1), ("anonymous", 4)]
BUDGET_MS = 20.0
GATE = 0.5  # of what the naive reader holds up the largest target


@contextlib.contextmanager
def alone(_pid: int) -> Iterator[None]:
    yield


@contextlib.contextmanager
def naive(pid: int) -> Iterator[None]:
    """Somebody who reads `smaps_rollup` every second."""
    over = threading.Event()

    def read() -> None:
        while True:
            Path(f"/proc/{pid}/smaps_rollup").read_bytes()
            if over.wait(1.0):
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()


def measure(mapper: Path, kind: str, gib: int, watchers: dict) -> dict[str, list[dict]]:
    """The rounds of each way of watching."""
    target = subprocess.Popen([str(mapper), str(gib), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if "ready" not in target.stdout.readline():
            sys.exit(f"a target of {gib} GiB ({kind}) could not be made")
        found: dict[str, list[dict]] = {name: [] for name in watchers}
        for _ in range(ROUNDS):
            for name, watcher in watchers.items():
                with watcher(target.pid):
                    target.stdin.write(f"{WINDOW_S}\n")
                    target.stdin.flush()
                    found[name].append(json.loads(target.stdout.readline()))
        return found
    finally:
        target.stdin.close()
        target.wait()


def available_gib() -> float:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 2**20
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="folder of the built benches")
    args = parser.parse_args()
    watchers = {"alone": alone, "lowtide": lambda pid: attached(args.lowtide, pid), "naive": naive}
    answer, rows = Answer(), []
    longest: dict[str, float] = dict.fromkeys(watchers, 0.0)
    for kind, gib in TARGETS:
        if kind == "anonymous" and available_gib() < 2 * gib + 2:
            rows.append([kind, gib, "left out: too little memory is free"])
            continue
        found = measure(args.programs / "mapper", kind, gib, watchers)
        for name, rounds in found.items():
            middle = {key: median(one[key] for one in rounds) for key in rounds[0]}
            most = max(one["held_up_ms"] for one in rounds)
            longest[name] = max(longest[name], middle["held_up_ms"])
            figures = [f"{middle[key]:.0f}" for key in ("p50_us", "p99_us", "p999_us", "max_us")]
            rows.append([kind, gib, name, *figures, f"{middle['held_up']:.0f}", f"{middle['held_up_ms']:.2f}", f"{most:.2f}"])
    header = ["memory", "GiB", "watched by", "p50, us", "p99, us", "p99.9, us", "most, us"]
    header += ["times asleep", "longest sleep, ms", "of all rounds, ms"]
    about = (
        f"A pair of mmap and munmap of a page due every 0.1 ms: how long after that it was done, in {WINDOW_S:.0f} s; medians "
        f"of {ROUNDS} rounds that take turns. What counts are the pairs in which the target had to sleep for a lock (waits "
        "alone also hold what the scheduler takes). memfd: 64 MiB mapped as often as it takes; anonymous: one mapping of "
        "real memory. lowtide is `lowtide attach` in its first seconds, when it reads five times a second; naive reads "
        "`smaps_rollup` every second."
    )
    answer.table(about, header, rows)
    answer.goal(f"held up for at most {BUDGET_MS:.0f} ms", f"{longest['lowtide']:.2f} ms", longest["lowtide"] <= BUDGET_MS)
    got = f"{longest['lowtide']:.2f} against {longest['naive']:.2f} ms (alone {longest['alone']:.2f})"
    holds = longest["lowtide"] <= max(GATE * longest["naive"], 3 * longest["alone"])
    answer.gate(f"lowtide holds up for at most {GATE} of what a naive reader does, or thrice what happens alone", got, holds)
    answer.print()


if __name__ == "__main__":
    main()
