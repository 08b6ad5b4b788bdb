#!/usr/bin/env python3
"""Run lowtide's own benches, show what they found and keep it in BENCHMARKS.md: `python3 benches/run.py [--only cost,recording]`.

Each bench is a program of this folder that prints its answer as JSON (src/lib.rs says what is in it). Goals hold on an
idle machine and are reported; gates are ratios to something measured in the same run. Exits with 1 where a gate does
not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benches"
sys.path.insert(0, str(ROOT / "zoo"))

import tables  # noqa: E402  of the zoo

PROGRAMS = ROOT / "target" / "release"
MET = {True: "met", False: "**missed**", None: "not told"}
QUIET_CORES = 0.3  # cores that others may use; above that times are not the machine's own
PATIENCE_S = 60.0  # the wait for that


def commands(torch: str) -> dict[str, tuple[str, list[str]]]:
    """Title and command of each bench, in the order in which they run."""
    with_both = ["--lowtide", str(PROGRAMS / "lowtide"), "--programs", str(PROGRAMS)]
    return {
        "cost": ("What watching costs", [sys.executable, str(HERE / "cost.py"), *with_both]),
        "held-up": ("How long a target is held up", [sys.executable, str(HERE / "held_up.py"), *with_both]),
        "slow-down": (
            "Slow-down of a training loop",
            [sys.executable, str(HERE / "slow_down.py"), "--lowtide", str(PROGRAMS / "lowtide"), "--torch", torch],
        ),
        "marks": ("What marks cost the program", [sys.executable, str(HERE / "marks.py"), "--torch", torch]),
        "heap": (
            "A look into a heap",
            [sys.executable, str(HERE / "heap.py"), "--lowtide", str(PROGRAMS / "lowtide"), "--torch", torch],
        ),
        "source": ("Checking source", [sys.executable, str(HERE / "source.py"), "--lowtide", str(PROGRAMS / "lowtide")]),
        "snapshots": (
            "Memory snapshots of PyTorch",
            [sys.executable, str(HERE / "snapshots.py"), "--lowtide", str(PROGRAMS / "lowtide"), "--torch", torch],
        ),
        "recording": ("A day's recording", [str(PROGRAMS / "recording")]),
        "page": ("The page of a week", [str(PROGRAMS / "page")]),
        "over-time": ("The live verdict over time", [str(PROGRAMS / "over_time")]),
        "verdicts": ("Analysis and verdicts on recorded traces", [str(PROGRAMS / "verdicts")]),
        "detectable": ("The detectable rate", [str(PROGRAMS / "detectable")]),
    }


def build() -> None:
    """Build lowtide and the benches."""
    done = subprocess.run(
        ["cargo", "build", "--release", "--locked", "-p", "lowtide", "-p", "lowtide-benches"], cwd=ROOT, check=False
    )
    if done.returncode != 0:
        sys.exit("the benches do not build: see above")


def python_with_torch() -> str:
    """The Python of the tests; empty where it cannot be made, and the loop in torch is left out."""
    made = subprocess.run([sys.executable, str(ROOT / "scripts/venv.py")], stdout=subprocess.PIPE, text=True, check=False)
    return made.stdout.strip() if made.returncode == 0 else ""


def cores_in_use(seconds: float = 2.0) -> float:
    """Cores that the whole machine uses, over some seconds (proc(5), stat)."""

    def busy() -> int:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(fields) - fields[3] - fields[4]  # idle, and idle while a disk works

    before = busy()
    time.sleep(seconds)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / seconds


def wait_for_quiet() -> float:
    """Wait until nobody else computes, for a minute at most; the cores that are in use by then."""
    end = time.monotonic() + PATIENCE_S
    while (cores := cores_in_use()) > QUIET_CORES and time.monotonic() < end:
        pass
    return cores


def rendered(answer: dict) -> str:
    """An answer as Markdown."""
    parts = []
    for table in answer["tables"]:
        parts += [table["about"], tables.markdown(table["header"], table["rows"])]
    lines = [f"- goal, {MET[goal['met']]}: {goal['what']}: {goal['got']}" for goal in answer["goals"]]
    lines += [f"- gate, {'holds' if gate['holds'] else '**broken**'}: {gate['what']}: {gate['got']}" for gate in answer["gates"]]
    return "\n\n".join([*parts, "\n".join(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--no-publish", action="store_true", help="leave BENCHMARKS.md as it is")
    args = parser.parse_args()
    only = tuple(filter(None, args.only.split(","))) or ("",)
    names = [name for name in commands("") if name.startswith(only)]
    if not names:
        sys.exit(f"no bench begins with {args.only}; there are {', '.join(commands(''))}")
    build()
    benches = commands(python_with_torch() if {"slow-down", "marks", "heap", "snapshots"} & set(names) else "")
    broken = []
    for name in names:
        title, command = benches[name]
        cores, start = wait_for_quiet(), time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            broken.append(f"{name} failed: see above")
            continue
        answer = json.loads(done.stdout)
        took, after = time.monotonic() - start, cores_in_use()
        about = f"{tables.stamp(f'make bench ONLY={name}')}, {took:.0f} s; "
        about += f"others used {cores:.1f} cores before and {after:.1f} after it"
        if max(cores, after) > QUIET_CORES:
            about += ": **the machine was busy, its times are not its own**"
        body = f"{about}\n\n{rendered(answer)}"
        print(f"\n== {title}\n\n{body}", flush=True)
        if not args.no_publish:
            tables.publish(f"bench-{name}", title, body)
        broken += [f"{name}: {gate['what']}: {gate['got']}" for gate in answer["gates"] if not gate["holds"]]
    if broken:
        sys.exit("\nbroken:\n" + "\n".join(broken))


if __name__ == "__main__":
    main()
