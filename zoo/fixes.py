#!/usr/bin/env python3
"""Apply the fixes of `lowtide check` to the leaking programs and run them: do they still grow?

    python3 zoo/fixes.py [--only 08,10] [--note 'the machine was quiet'] [--publish]

The programs are rendered without a word that tells the answer (render.py), and fixed once with `--fix` and once with
`--unsafe-fixes`. Each that a fix changed runs, and so does what it was before: under `lowtide run`, and measured by the
zoo's own reader in the cycles of the program's truth log. Exits with 1 where one still grows.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import live
import tables
from judge import POSITIVE
from pythons import identify
from reference import reference
from render import programs, render
from truth import Truth, load_truth

LEVELS = {"safe, --fix": ["--fix"], "all, --unsafe-fixes": ["--unsafe-fixes"]}
# Of the growth before: an allocator that settles drifts by as much in half a minute.
STILL_GROWS = 0.1


@dataclass
class Seen:
    """What a run showed."""

    verdict: str
    rate: float | None  # of its own low tides, per second

    def cells(self) -> list[str | None]:
        return [self.verdict, tables.per_minute(self.rate)]


def rendered(folder: Path, names: list[str]) -> None:
    """The leaking programs as files of their own."""
    folder.mkdir()
    (folder / "zoolib.py").write_text((live.ZOO / "zoolib.py").read_text())
    for name in names:
        (folder / f"{name}.py").write_text(render((live.ZOO / f"{name}.py").read_text(), leak=True))


def fixed(lowtide: Path, folder: Path, options: list[str]) -> dict[str, str]:
    """Make the fixes; the programs that they changed, and of which causes."""
    command = [str(lowtide), "check", *options, "--fail-on", "none", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return dict(re.findall(r"^lowtide: \./(\w+)\.py: fixed (.*)$", done.stderr, re.M))


def seen(lowtide: Path, python: str, truth: Truth, program: Path) -> Seen:
    """Run one file for as long as the zoo does."""
    outcome = live.run(str(lowtide), python, truth, "leak", truth.live_seconds, program=program)
    if outcome.report is None:
        return Seen(outcome.why, None)
    ref = reference(truth, outcome.log, outcome.ticks)
    return Seen(outcome.report["verdict"], ref and ref.rate)


def outcome(truth: Truth, before: Seen, after: Seen) -> str:
    """What the fix did, in a word."""
    if after.verdict in POSITIVE:
        return "still grows"
    if not truth.leak:
        return "no leak before"
    if after.rate is None or before.rate is None:
        return "not measured"
    return "still grows" if after.rate > STILL_GROWS * before.rate else "no longer grows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, default=tables.ROOT / "target/release/lowtide")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--only", default="", help="numbers, with commas between")
    parser.add_argument("--note", default="", help="how busy the machine was")
    parser.add_argument("--publish", action="store_true", help="keep the tables in BENCHMARKS.md")
    args = parser.parse_args()
    lowtide, python = args.lowtide.resolve(), identify(args.python)
    if python is None:
        sys.exit(f"no torch under {args.python}; `make venv` installs one")
    names = [path.stem for path in programs([number for number in args.only.split(",") if number])]
    body = [f"Under {python.label}.{' ' + args.note if args.note else ''}"]
    failed, known = 0, {}
    with tempfile.TemporaryDirectory(prefix="zoo-fixes-") as where:
        rendered(Path(where) / "before", names)
        for number, (level, options) in enumerate(LEVELS.items()):
            folder = Path(where) / str(number)
            rendered(folder, names)
            rows = []
            for name, causes in sorted(fixed(lowtide, folder, options).items()):
                if name not in known:
                    known[name] = seen(lowtide, python.path, load_truth(live.ZOO, name), Path(where) / "before" / f"{name}.py")
                truth, before = load_truth(live.ZOO, name), known[name]
                after = seen(lowtide, python.path, truth, folder / f"{name}.py")
                what = outcome(truth, before, after)
                failed += what in ("not measured", "still grows")
                rows.append([name, causes, *before.cells(), *after.cells(), what])
                print(*rows[-1], file=sys.stderr, flush=True)
            header = ["program", "fixed", "before", "per minute", "after", "per minute", "outcome"]
            body.append(f"{level}: {len(rows)} of {len(names)} programs changed.")
            if rows:
                body.append(tables.markdown(header, rows))
    text = "\n\n".join(body)
    print(text)
    if args.publish:
        tables.publish("zoo-fixes", "Fixes, made and run", f"{tables.stamp('make zoo-fixes')}\n\n{text}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
