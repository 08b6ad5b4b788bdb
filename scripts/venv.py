#!/usr/bin/env python3
"""Print the path of a Python that has what the tests need, making its virtual environment first if need be.

The environment lies in the user's cache folder under a name made from the requirements and the Python version, so
that every clone finds it again and a change of either makes a new one. It is built under a temporary name and renamed
when it is complete: a broken install is never used. Only `bin/python -m ...` is used of it, since scripts in `bin/`
hold the temporary name. Two runs at once wait for each other.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements-test.txt")
OLDEST = (3, 11)  # what the pinned torch runs on
CHECK = "import torch, numpy, PIL, tqdm, pytest; torch.nn.Linear(2, 2)(torch.ones(1, 2))"


def say(text: str) -> None:
    print(f"venv: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> None:
    say(text)
    sys.exit(3)


def place(cache: Path, requirements: bytes, version: tuple[int, ...]) -> Path:
    """Where the environment for these requirements and this Python belongs."""
    key = hashlib.sha256(requirements + ".".join(map(str, version)).encode()).hexdigest()[:12]
    return cache / "lowtide" / f"venv-{key}"


def build(target: Path) -> None:
    """Make the environment under a temporary name beside `target`, check that torch works in it, rename it."""
    try:
        import ensurepip  # noqa: F401  Debian and Ubuntu ship it apart from Python
    except ImportError:
        fail(f"this Python has no ensurepip; install it with: apt-get install python3-venv   ({sys.executable})")
    free_gib = shutil.disk_usage(target.parent).free / 2**30
    if free_gib < 8:
        fail(f"{target.parent} has {free_gib:.1f} GiB free, 8 are needed; free some, or set XDG_CACHE_HOME to another disk")
    say(f"installing {REQUIREMENTS.name} into {target} (once; downloads about 2.5 GB)")
    temporary = Path(tempfile.mkdtemp(prefix=target.name + ".", dir=target.parent))
    python = str(temporary / "bin" / "python")
    steps = [
        (
            [sys.executable, "-m", "venv", str(temporary)],
            "python3 -m venv failed: is python3-venv installed (apt-get install python3-venv)?",
        ),
        (
            [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-r", str(REQUIREMENTS)],
            "pip could not install the requirements: is a package index reachable, and does it have them for this Python?",
        ),
        ([python, "-c", CHECK], "the installed torch does not load: see the error above"),
    ]
    try:
        for command, message in steps:
            if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode != 0:
                fail(message)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # nothing is there any more where all went well


def main() -> None:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        fail(f"the tests' torch needs Python 3.11 or newer, this is {found}; say which to take: make test PYTHON=python3.12")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    target = place(cache, REQUIREMENTS.read_bytes(), sys.version_info[:3])
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "bin" / "python").exists():
            build(target)
    print(target / "bin" / "python")


if __name__ == "__main__":
    main()
