#!/usr/bin/env python3
"""How much a training loop is slowed down by `lowtide run`: the same steps with and without it, in pairs that take turns.

The first of a pair is the one that was the second of the pair before, so that a drift of the machine hits both
alike. Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from answer import Answer, mean_interval

HERE = Path(__file__).resolve().parent
PAIRS = 6
GOAL = 0.005
# The gate is wide: six pairs on a machine that does something else too tell no less.
GATE = 0.05


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds that the loop says it took."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    wall, cpu = done.stdout.strip().splitlines()[-1].split()
    return float(wall), float(cpu)


def pairs(lowtide: Path, loop: list[str]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Times without and with lowtide."""
    watched = [str(lowtide), "run", "--no-record", "--", *loop]
    run(loop)  # files come into the cache
    found = []
    for turn in range(PAIRS):
        if turn % 2:
            with_it, without = run(watched), run(loop)
        else:
            without, with_it = run(loop), run(watched)
        found.append((without, with_it))
    return found


def percent(mean: float, half: float) -> str:
    return f"{mean * 100:+.2f} % ({(mean - half) * 100:+.2f} to {(mean + half) * 100:+.2f})"


def within(mean: float, half: float) -> bool | None:
    """Whether the slow-down keeps to the goal, where the interval lies on one side of it."""
    return True if mean + half <= GOAL else False if mean - half > GOAL else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--torch", required=True, help="a Python with torch; empty where there is none")
    args = parser.parse_args()
    loops = {"plain Python": [sys.executable, str(HERE / "plain_loop.py"), "6000"]}
    if args.torch:
        loops = {"torch": [args.torch, str(HERE / "torch_loop.py"), "1500"], **loops}
    answer, rows = Answer(), []
    for name, loop in loops.items():
        found = pairs(args.lowtide, loop)
        changes = [[with_it[of] / without[of] - 1 for without, with_it in found] for of in (0, 1)]
        (wall, half), cpu = mean_interval(changes[0]), mean_interval(changes[1])
        told = "within the noise" if abs(wall) <= half else "told from the noise"
        seconds = median(without[0] for without, _ in found)
        rows.append(
            [name, loop[-1], f"{seconds:.2f}", percent(wall, half), f"{median(changes[0]) * 100:+.2f} %", percent(*cpu), told]
        )
        note = "" if half <= GOAL else f"; these pairs tell no less than {half * 100:.1f} %"
        answer.goal(f"{name}: slowed down by at most 0.5 %", percent(wall, half) + note, within(wall, half))
        answer.gate(f"{name}: not slowed down by more than 5 % for sure", percent(wall, half), wall - half <= GATE)
    header = ["loop", "steps", "seconds alone", "slow-down, mean (95 %)", "median", "processor time, mean (95 %)", "effect"]
    about = (
        f"{PAIRS} pairs with and without `lowtide run`, one thread, as fast as it goes; lowtide reads five times a second in "
        "its first half minute, so these short runs pay more than long ones. Time of the loop alone, start-up left out."
    )
    answer.table(about, header, rows)
    answer.print()


if __name__ == "__main__":
    main()
