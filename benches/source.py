#!/usr/bin/env python3
"""Checking source: `lowtide check` beside Ruff, TorchFix and torch-preflight on the same trees, in turns. Prints the answer as JSON."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from statistics import median

from answer import Answer, middle_and_spread
from peers import rivals_python

# Widely used training code, as it lies on the Python index.
TREES = {"lightning": "2.6.6", "transformers": "5.24.0"}
TURNS = {"lightning": 5, "transformers": 5}
# Whose time on the large tree would be most of the bench.
SMALL_ONLY = ("TorchFix", "torch-preflight")
ABOUT = (
    "Each tool on the same files, in turns, after one run that brings them into the cache; Ruff without its own cache. Seconds by the "
    "clock, of processor time, and most memory; median (least to most); what takes longer than a minute ran once. All tools at their "
    "default rules, so they look for different things."
)
# A tool that is not done by then is stopped; what it took by then is less than it takes.
MOST_SECONDS = 600.0
# A tool that takes longer is run once.
ONCE_SECONDS = 60.0
GOAL_RUFF = 4.0  # times Ruff's time, at most
GOAL_TORCHFIX = 100.0  # times TorchFix's speed, at least
GOAL_LIGHTNING_S = 0.5
# Copies of a package that import each other: a tree, and one that is ten times as large.
COPIES = (2, 20)
# Sizes of a file that is a tree of its own, in MiB; the largest is near the most that is read of one.
LARGE_MIB = (1, 2, 3.9)
GOAL_TEN_TIMES = 1.25  # times the memory for ten times the files, at most
MEMORY_ABOUT = (
    "Memory of lowtide alone, on two cores: copies of lightning under names of their own, each file of which imports the same file of "
    "the next copy, and single files that are put together of lightning's; the most of three runs. Whatever the size of the tree, it is "
    "that of the parts that are read at a time (2.5 MiB of source and 1 MiB of what it imports, one on each core and eight at most), or "
    "that of a file that is larger than a part."
)


def tree(name: str, version: str) -> Path:
    """The source of a package, in the cache folder."""
    target = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lowtide" / f"source-{name}-{version}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
        if subprocess.run([*pip, "-d", folder, f"{name}=={version}"], stdout=sys.stderr.fileno(), check=False).returncode != 0:
            sys.exit(f"{name} {version} cannot be fetched: is a package index reachable?")
        unpacked = Path(folder) / "unpacked"
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wheel.extractall(unpacked)
        shutil.move(unpacked, target)
    return target


def commands(lowtide: Path, path: Path) -> dict[str, list[str]]:
    """Each tool on a tree."""
    python = rivals_python()
    tools = python.parent
    # Scripts are given to the interpreter: their first line names the folder that the environment was made in.
    return {
        "lowtide": [str(lowtide), "check", "--fail-on", "none", str(path)],
        "Ruff": [str(tools / "ruff"), "check", "--no-cache", "--isolated", "--exit-zero", "--quiet", str(path)],
        "TorchFix": [str(python), str(tools / "torchfix"), str(path)],
        "torch-preflight": [str(python), str(tools / "torch-preflight"), "check", str(path)],
    }


def copied(package: Path, folder: Path, copies: int) -> Path:
    """Copies of a package below a folder, each under a name of its own, that import each other."""
    target = folder / f"{copies}-copies"
    imports = re.compile(rf"^(\s*(?:from|import) ){package.name}(?=[.\s])", re.MULTILINE)
    for at in range(copies):
        name, other = f"{package.name}_{at}", f"{package.name}_{(at + 1) % copies}"
        for file in package.rglob("*.py"):
            place = file.relative_to(package)
            module = ".".join((other, *place.with_suffix("").parts)).removesuffix(".__init__")
            text = imports.sub(rf"\g<1>{name}", file.read_text()) + f"\nimport {module}\n"
            path = target / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return target


def put_together(package: Path, folder: Path, mib: float) -> Path:
    """One file of so many MiB that is put together of a package's files."""
    target = folder / f"{mib}-mib"
    target.mkdir()
    files, left = itertools.cycle(sorted(package.rglob("*.py"))), mib * 1024**2
    # Piece by piece: what a child had before it became another program counts as its memory.
    with (target / "large.py").open("wb") as large:
        while (left := left - len(more := next(files).read_bytes() + b"\n")) >= 0:
            large.write(more)
    return target


def memory_follows(answer: Answer, lowtide: Path) -> None:
    """That memory follows the largest file, and not the tree."""
    (package,) = [path for path in tree("lightning", TREES["lightning"]).iterdir() if (path / "__init__.py").exists()]
    rows, most = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = [(f"{copies} copies", copied(package, folder, copies)) for copies in COPIES]
        trees += [(f"one file of {mib:g} MiB", put_together(package, folder, mib)) for mib in LARGE_MIB]
        for what, path in trees:
            runs = [measured(["taskset", "-c", "0,1", str(lowtide), "check", "--fail-on", "none", str(path)]) for _ in range(3)]
            most[what] = max(run[2] for run in runs)
            sizes = [file.stat().st_size for file in path.rglob("*.py")]
            sums = [f"{sum(sizes) / 1024**2:.1f} MiB", f"{max(sizes) / 1024**2:.2f} MiB"]
            rows.append([what, len(sizes), *sums, f"{median(run[0] for run in runs):.2f}", f"{most[what]:.0f} MiB"])
    answer.table(MEMORY_ABOUT, ["tree", "files", "all", "largest file", "seconds", "memory"], rows)
    few, many = (most[f"{copies} copies"] for copies in COPIES)
    answer.gate(f"ten times the files: at most {GOAL_TEN_TIMES:g} times the memory", f"{many / few:.2f}", many / few <= GOAL_TEN_TIMES)


def measured(command: list[str]) -> tuple[float, float, float, bool]:
    """Seconds by the clock, seconds of processor time, most memory in MiB of one run, and whether it came to its end."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = threading.Timer(MOST_SECONDS, process.kill)
    limit.start()
    _, status, used = os.wait4(process.pid, 0)
    limit.cancel()
    ended = os.waitstatus_to_exitcode(status) != -signal.SIGKILL
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowtide", type=Path, required=True)
    parser.add_argument("--only", choices=TREES, help="this tree")
    args = parser.parse_args()
    answer, rows, middle, unended = Answer(), [], {}, set()
    for name, version in TREES.items():
        if args.only not in (None, name):
            continue
        path = tree(name, version)
        files = sum(1 for _ in path.rglob("*.py"))
        tools = {tool: command for tool, command in commands(args.lowtide, path).items() if name == "lightning" or tool not in SMALL_ONLY}
        found = {tool: [] for tool in tools}
        # The first run brings the files into the cache; of what takes minutes it is the only one, since files are nothing to that.
        first = {tool: measured(command) for tool, command in tools.items()}
        slow = {tool for tool, run in first.items() if run[0] > ONCE_SECONDS}
        for turn in range(TURNS[name]):
            # The order changes, so that a drift of the machine hits all alike.
            for tool in list(tools)[turn % len(tools) :] + list(tools)[: turn % len(tools)]:
                if tool not in slow:
                    found[tool].append(measured(tools[tool]))
        for tool, runs in found.items():
            clock, cpu, memory, ended = (list(column) for column in zip(*(runs or [first[tool]])))
            more = "" if all(ended) else "more than "
            middle[name, tool] = (median(clock), median(cpu))
            row = [f"{more}{middle_and_spread(clock)}", f"{more}{middle_and_spread(cpu)}", f"{more}{max(memory):.0f} MiB"]
            rows.append([f"{name} {version}, {files} files", tool, *row])
        unended.update(tool for tool, run in first.items() if not run[-1])
    answer.table(ABOUT, ["tree", "tool", "seconds", "of processor time", "memory"], rows)
    for name in {tree for tree, _ in middle}:
        for which, at in (("seconds", 0), ("processor time", 1)):
            times = middle[name, "lowtide"][at] / middle[name, "Ruff"][at]
            answer.goal(f"{name}: within {GOAL_RUFF:g} times Ruff's {which}", f"{times:.1f}", times <= GOAL_RUFF)
    if ("lightning", "TorchFix") in middle:
        times = middle["lightning", "TorchFix"][1] / middle["lightning", "lowtide"][1]
        more = "more than " if "TorchFix" in unended else ""
        answer.goal(
            f"{GOAL_TORCHFIX:g} times faster than TorchFix, in processor time", f"{more}{times:.0f} times", times >= GOAL_TORCHFIX
        )
        seconds = middle["lightning", "lowtide"][0]
        answer.goal(f"lightning in {GOAL_LIGHTNING_S} s", f"{seconds:.2f} s", seconds <= GOAL_LIGHTNING_S)
    memory_follows(answer, args.lowtide)
    answer.print()


if __name__ == "__main__":
    main()
