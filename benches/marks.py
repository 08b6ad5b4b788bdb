#!/usr/bin/env python3
"""What marks cost the program: one mark, the start of a Python, and a short training step with and without them.

    python3 benches/marks.py --torch PYTHON

Runs with and without the in-process part take turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from answer import Answer
from pairs import change, in_turns

AGENT = Path(__file__).resolve().parent.parent / "crates/lowtide/agent"
ROUNDS = 12
STARTS = 30

MARK = """
import time
from _lowtide import api
api.begin("phase", "train")
api.step()
def per_call(call, n):
    began = time.perf_counter()
    for _ in range(n): call()
    return (time.perf_counter() - began) / n
print(per_call(api.step, 200000), per_call(lambda: None, 200000), per_call(lambda: api.begin("phase", "train"), 2000))
"""

STEP = """
import time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(6)))
opt = torch.optim.Adam(model.parameters())
x = torch.randn(32, 64)
def step():
    opt.zero_grad()
    model(x).sum().backward()
    opt.step()
for _ in range(200): step()
began = time.perf_counter()
for _ in range(1500): step()
print((time.perf_counter() - began) / 1500)
"""


def environment(marks: str | None) -> dict[str, str]:
    """The program's environment, with the in-process part or without."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPATH", None)
    return env if marks is None else {**env, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": marks}


def run(python: str, program: str, marks: str | None) -> list[float]:
    """The numbers that a program prints."""
    done = subprocess.run([python, "-c", program], env=environment(marks), capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def start(python: str, marks: str | None) -> float:
    """Seconds that a Python takes which does nothing."""
    began = time.perf_counter()
    subprocess.run([python, "-c", "pass"], env=environment(marks), check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default="", help="a Python with torch; empty where there is none")
    args = parser.parse_args()
    python = args.torch or sys.executable
    with tempfile.TemporaryDirectory(prefix="marks-", dir="/dev/shm") as marks:
        single = [run(python, MARK, marks) for _ in range(5)]
        starts = in_turns(lambda: start(python, None), lambda: start(python, marks), STARTS)
        steps = []
        if args.torch:
            steps = in_turns(lambda: run(python, STEP, None)[0], lambda: run(python, STEP, marks)[0], ROUNDS)
    step_us, phase_us = (statistics.median(1e6 * (s[i] - s[1]) for s in single) for i in (0, 2))
    plain_ms, marked_ms = (1e3 * statistics.median(s[i] for s in starts) for i in (0, 1))
    later_ms = 1e3 * statistics.median(marked - plain for plain, marked in starts)
    rows = [
        ["a step's mark", "", "", f"{step_us:.2f} us"],
        ["a phase's mark, with facts", "", "", f"{phase_us:.1f} us"],
        ["start of Python", f"{plain_ms:.1f} ms", f"{marked_ms:.1f} ms", f"{later_ms:+.1f} ms"],
    ]
    answer = Answer()
    answer.goal("a step's mark in 2 us", f"{step_us:.2f} us", step_us <= 2.0)
    answer.goal("start-up at most 10 ms later", f"{later_ms:+.1f} ms", later_ms <= 10.0)
    if steps:
        slower = change(steps)
        rows.append([f"a training step of {1e6 * statistics.median(s[0] for s in steps):.0f} us", "", "", str(slower)])
        answer.goal("a short step slowed by less than the noise", str(slower), slower.low <= 0.0)
        answer.gate("a short training step at most a fifth slower", str(slower), slower.middle <= 0.2)
    answer.table(
        "A program with the in-process part and without it, in turns: medians, of the pairs where they are compared (95 %).",
        ["what", "without", "with", "difference"],
        rows,
    )
    answer.print()


if __name__ == "__main__":
    main()
