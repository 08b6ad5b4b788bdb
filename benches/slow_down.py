#!/usr/bin/env python3
"""How much a training loop is slowed down by `lowtide run`: the same steps with and without it, in pairs that take turns.

Prints the answer as JSON.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from answer import Answer
from pairs import change, in_turns

HERE = Path(__file__).resolve().parent
PAIRS = 10
GOAL = 0.005
# The gate is wide: ten pairs on a machine that does something else too tell no less.
GATE = 0.05


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds that the loop says it took."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    wall, cpu = done.stdout.strip().splitlines()[-1].split()
    return float(wall), float(cpu)


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
        watched = [str(args.lowtide), "run", "--no-record", "--", *loop]
        found = in_turns(lambda loop=loop: run(loop), lambda watched=watched: run(watched), PAIRS)
        wall, cpu = (change([(without[of], with_it[of]) for without, with_it in found]) for of in (0, 1))
        told = "told from the noise" if wall.told() else "within the noise"
        seconds = median(without[0] for without, _ in found)
        rows.append([name, loop[-1], f"{seconds:.2f}", str(wall), str(cpu), told])
        least = wall.high - wall.middle
        note = "" if least <= GOAL else f"; these pairs tell no less than {least * 100:.1f} %"
        answer.goal(f"{name}: slowed down by at most 0.5 %", f"{wall}{note}", wall.at_most(GOAL))
        answer.gate(f"{name}: not slowed down by more than 5 % for sure", str(wall), wall.low <= GATE)
    header = ["loop", "steps", "seconds alone", "slow-down, median (95 %)", "processor time, median (95 %)", "effect"]
    about = (
        f"{PAIRS} pairs with and without `lowtide run`, one thread, as fast as it goes; lowtide reads five times a second in "
        "its first half minute, so these short runs pay more than long ones. Time of the loop alone, start-up left out."
    )
    answer.table(about, header, rows)
    answer.print()


if __name__ == "__main__":
    main()
