"""Interpreters with torch, and where the results of runs under them are kept."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from live import ZOO

RESULTS = ZOO / "results"


@dataclass(frozen=True)
class Python:
    """An interpreter with torch, and what it calls itself: `torch 2.15.0, Python 3.11`."""

    path: str
    label: str


def identify(path: str) -> Python | None:
    """The interpreter at `path`, or `None` where it has no torch."""
    ask = "import sys, torch; print('torch', torch.__version__.split('+')[0] + ', Python', '%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
    return Python(path, done.stdout.strip()) if done.returncode == 0 else None
