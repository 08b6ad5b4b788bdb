#!/usr/bin/env python3
"""Print the path of a Python that has what the tests need, making its virtual environment first if need be.

    scripts/venv.py                 what `make test` and the zoo need
    scripts/venv.py frameworks      also HF transformers, accelerate and Lightning, for `make test-frameworks`

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

HERE = Path(__file__).parent
#: Lists of requirements, by what is asked for.
SETS = {"": ["requirements-test.txt"], "frameworks": ["requirements-test.txt", "requirements-frameworks.txt"]}
OLDEST = (3, 11)  # what the pinned torch runs on
CHECK = "import torch, numpy, PIL, tqdm, pytest; torch.nn.Linear(2, 2)(torch.ones(1, 2))"
CHECKS = {"": CHECK, "frameworks": CHECK + "; import transformers, accelerate, lightning.pytorch"}


def say(text: str) -> None:
    print(f"venv: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> None:
    say(text)
    sys.exit(3)


def place(cache: Path, requirements: bytes, version: tuple[int, ...]) -> Path:
    """Where the environment for these requirements and this Python belongs."""
    key = hashlib.sha256(requirements + ".".join(map(str, version)).encode()).hexdigest()[:12]
    return cache / "lowtide" / f"venv-{key}"


def build(target: Path, wanted: str) -> None:
    """Make the environment under a temporary name beside `target`, check that torch works in it, rename it."""
    try:
        import ensurepip  # noqa: F401  Debian and Ubuntu ship it apart from Python
    except ImportError:
        fail(f"this Python has no ensurepip; install it with: apt-get install python3-venv   ({sys.executable})")
    free_gib = shutil.disk_usage(target.parent).free / 2**30
    if free_gib < 8:
        fail(f"{target.parent} has {free_gib:.1f} GiB free, 8 are needed; free some, or set XDG_CACHE_HOME to another disk")
    say(f"installing {' and '.join(SETS[wanted])} into {target} (once; downloads about 2.5 GB)")
    temporary = Path(tempfile.mkdtemp(prefix=target.name + ".", dir=target.parent))
    python = str(temporary / "bin" / "python")
    lists = [argument for name in SETS[wanted] for argument in ("-r", str(HERE / name))]
    steps = [
        (
            [sys.executable, "-m", "venv", str(temporary)],
            "python3 -m venv failed: is python3-venv installed (apt-get install python3-venv)?",
        ),
        (
            [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", *lists],
            "pip could not install the requirements: is a package index reachable, and does it have them for this Python?",
        ),
        ([python, "-c", CHECKS[wanted]], "what was installed does not load: see the error above"),
    ]
    try:
        for command, message in steps:
            if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode != 0:
                fail(message)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # nothing is there any more where all went well


def main() -> None:
    wanted = "".join(sys.argv[1:])
    if wanted not in SETS:
        fail(f"there is no set of requirements {wanted!r}; there are: (none), {', '.join(filter(None, SETS))}")
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        fail(f"the tests' torch needs Python 3.11 or newer, this is {found}; say which to take: make test PYTHON=python3.12")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    requirements = b"".join((HERE / name).read_bytes() for name in SETS[wanted])
    target = place(cache, requirements, sys.version_info[:3])
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "bin" / "python").exists():
            build(target, wanted)
    print(target / "bin" / "python")


if __name__ == "__main__":
    main()
