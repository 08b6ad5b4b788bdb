"""Tables of right and wrong: precision and recall, Markdown, and the place in BENCHMARKS.md where they are kept."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "BENCHMARKS.md"


def precision_recall(pairs: list[tuple[bool, bool]]) -> dict:
    """From pairs (is a leak, was called one): counts, precision and recall; `None` where nothing was to divide by."""
    tp = sum(leak and called for leak, called in pairs)
    fp = sum(called and not leak for leak, called in pairs)
    fn = sum(leak and not called for leak, called in pairs)
    return {
        "found": tp,
        "false_alarms": fp,
        "missed": fn,
        "of": len(pairs),
        "precision": round(tp / (tp + fp), 3) if tp + fp else None,
        "recall": round(tp / (tp + fn), 3) if tp + fn else None,
    }


def markdown(header: list[str], rows: list[list]) -> str:
    """A Markdown table; `None` becomes an empty cell."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines)


def machine() -> str:
    """Processor, cores, memory and kernel of this machine, in words."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.M)
    memory = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.M).group(1)) / 2**20
    cpu = model.group(1) if model else platform.machine()
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}"


def revision() -> str:
    """The commit that was measured, marked where the tree had changes."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def stamp(command: str) -> str:
    """The line that says when, where and how a table was made."""
    return f"{time.strftime('%Y-%m-%d')}, {machine()}, commit {revision()}: `{command}`"


def replace_section(text: str, name: str, title: str, body: str) -> str:
    """`text` with the section `name` between its markers replaced, or put at the end where it is new."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    section = f"{begin}\n## {title}\n\n{body}\n{end}"
    if begin in text and end in text:
        head, rest = text.split(begin, 1)
        return head + section + rest.split(end, 1)[1]
    return text.rstrip("\n") + "\n\n" + section + "\n"


def publish(name: str, title: str, body: str) -> None:
    """Keep a section in BENCHMARKS.md."""
    intro = "# Benchmarks\n\nEach section was written by the command that it names; run it to make it again.\n"
    BENCHMARKS.write_text(replace_section(BENCHMARKS.read_text() if BENCHMARKS.exists() else intro, name, title, body))


def per_minute(rate: float | None, unit: str = "bytes") -> str | None:
    """A rate per second as MiB (or pieces) per minute."""
    return None if rate is None else f"{rate * 60 / 2**20:+.1f} MiB" if unit == "bytes" else f"{rate * 60:+.1f}"
