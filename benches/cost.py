#!/usr/bin/env python3
"""What watching costs: the collector alone and the whole of `lowtide attach`, beside two psutil loops on the same processes.

All of them read once a second, at different fractions of it: they take turns tick by tick. Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from answer import Answer, middle_and_spread
from processes import attached, cpu_seconds, family, status_bytes
from peers import rivals_python

HERE = Path(__file__).resolve().parent
SIZES = (1, 30, 200)
MIB_EACH = 8
EAGER_S = 31.0  # lowtide reads five times a second in its first half minute
SECONDS = 25.0
GATE = {"psutil": 2.0, "psutil, all": 4.0}  # times cheaper
LOOPS = ("collector", "collector, all", "psutil", "psutil, all")
ABOUT = (
    f"Once a second, processes of {MIB_EACH} MiB each, forked from one parent; median tick (least to most). lowtide is "
    "`lowtide attach`, all of it, after its first half minute. collector: anonymous, file and shared memory, swap, threads "
    "and file descriptors of each process, cgroups, the machine, the search for new processes; collector, all: also "
    "`smaps_rollup` of as many as its budget allows. psutil: `memory_info` (RSS and its shared part; anonymous, file and "
    "shared memory apart it does not have), `num_threads`, `num_fds`, `virtual_memory`, `swap_memory`, "
    "`children(recursive=True)`; psutil, all: `memory_full_info` instead, the only one with swap, which reads "
    "`smaps_rollup` of every process each time."
)


def one_size(lowtide: Path, programs: Path, count: int) -> dict:
    """All of them on so many processes."""
    loop = [str(rivals_python()), str(HERE / "psutil_loop.py")]
    with family(count, MIB_EACH) as pid, attached(lowtide, pid) as watcher:
        time.sleep(EAGER_S)
        ours = [str(programs / "collector"), str(pid), str(SECONDS)]
        commands = {
            "collector": [*ours, "0.1", "counters"],
            "collector, all": [*ours, "0.3", "all"],
            "psutil": [*loop, str(pid), str(SECONDS), "0.5", "counters"],
            "psutil, all": [*loop, str(pid), str(SECONDS), "0.7", "all"],
        }
        before, start = cpu_seconds(watcher), time.monotonic()
        running = {name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for name, command in commands.items()}
        printed = {name: process.communicate()[0] for name, process in running.items()}
        share = (cpu_seconds(watcher) - before) / (time.monotonic() - start)
        found = {name: json.loads(text) for name, text in printed.items()}
        found["lowtide"] = {"share": share, "rss": status_bytes(watcher, "VmRSS"), "peak": status_bytes(watcher, "VmHWM")}
    for name in commands:
        if found[name]["processes"] != count:
            sys.exit(f"{name} saw {found[name]['processes']} of {count} processes: its numbers mean nothing")
    return found


def ticks(found: dict, loop: str) -> list[float]:
    """CPU milliseconds of each tick but the first two, which get to know the processes."""
    return found[loop]["cpu_ms"][2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="folder of the built benches")
    args = parser.parse_args()
    results = {count: one_size(args.lowtide, args.programs, count) for count in SIZES}
    answer, rows = Answer(), []
    for count, found in results.items():
        rows.append(
            [
                count,
                f"{found['lowtide']['share'] * 100:.2f} %",
                *(middle_and_spread(ticks(found, loop)) for loop in LOOPS),
                *(f"{found[name]['rss'] / 2**20:.1f}" for name in ("lowtide", "collector, all", "psutil, all")),
            ]
        )
    header = ["processes", "lowtide, share of a core"]
    header += [f"{loop}: CPU ms a tick" for loop in LOOPS]
    header += [f"{what}: RSS MiB" for what in ("lowtide", "collector, all", "psutil, all")]
    answer.table(ABOUT, header, rows)
    share = results[30]["lowtide"]["share"]
    answer.goal("0.5 % of a core at 30 processes", f"{share * 100:.2f} %", share <= 0.005)
    for other in ("psutil", "psutil, all"):
        ratios = {count: median(ticks(found, other)) / median(ticks(found, "collector")) for count, found in results.items()}
        shown = ", ".join(f"{ratio:.1f} times at {count}" for count, ratio in ratios.items())
        answer.goal(f"counters 20 times cheaper than `{other}` at 30", shown, ratios[30] >= 20)
        answer.gate(
            f"counters at least {GATE[other]:.0f} times cheaper than `{other}` at 30",
            f"{ratios[30]:.1f} times",
            ratios[30] >= GATE[other],
        )
    peak = max(found["lowtide"]["peak"] for found in results.values())
    answer.goal("at most 48 MiB of memory", f"{peak / 2**20:.1f} MiB at the peak", peak <= 48 << 20)
    answer.print()


if __name__ == "__main__":
    main()
