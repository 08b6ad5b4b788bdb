#!/usr/bin/env python3
"""What remedies for memory cost in speed, and what they gain, by `lowtide compare`.

    python3 benches/remedies.py --python PY [--lowtide target/release/lowtide] [--rounds 3] [--steps 200] [--publish]

Each remedy of the field reports against the same loop (`remedy_loop.py`) without any, all of them in turns, several rounds.
`--publish` keeps the table in BENCHMARKS.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "zoo"))
import tables  # noqa: E402

BASE = "none of them"
REMEDIES = {
    BASE: [],
    "gc.collect() every 20 steps": ["--gc", "20"],
    "every 10": ["--gc", "10"],
    "every 5": ["--gc", "5"],
    "every step": ["--gc", "1"],
    "zero_grad(set_to_none=True)": ["--set-to-none"],
    "no workers": ["--no-workers"],
    "all together, gc every 10": ["--gc", "10", "--set-to-none", "--no-workers"],
}


def mib(row: dict | None) -> str:
    """A difference of memory with its interval."""
    if row is None or row["difference"] is None:
        return "-"
    value, ci = row["difference"]["value"] / 2**20, row["difference"]["ci95"]
    return f"{value:+.1f} MiB" + (f" ({ci[0] / 2**20:+.1f} to {ci[1] / 2**20:+.1f})" if ci else "")


def percent(row: dict | None) -> str:
    """A difference of time as a share of the time before, with its interval."""
    if row is None or row["difference"] is None:
        return "-"
    base, ci = row["before"]["value"], row["difference"]["ci95"]
    text = f"{100 * row['difference']['value'] / base:+.1f} %"
    return text + (f" ({100 * ci[0] / base:+.1f} to {100 * ci[1] / base:+.1f})" if ci else "")


def line(name: str, said: dict) -> list:
    """A remedy's row."""
    rows = {row["quantity"]: row for row in said["rows"] if row["role"] is None and row["phase"] is None}
    time = rows.get("step_time")
    took = "-" if time is None else f"{1000 * time['after']['value']:.1f} ms"
    seen = {True: "yes", False: "no", None: "-"}[time["differs"] if time else None]
    return [name, took, percent(time), seen, mib(rows.get("floor")), mib(rows.get("peak")), said["outcome"].replace("_", " ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--lowtide", default=str(HERE.parent / "target" / "release" / "lowtide"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--publish", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, list[str]] = {name: [] for name in REMEDIES}
        for nth in range(args.rounds):
            for number, (name, options) in enumerate(REMEDIES.items()):
                file = str(Path(folder) / f"{number}.{nth}.lowtide")
                target = [args.python, str(HERE / "remedy_loop.py"), str(args.steps), *options]
                command = [args.lowtide, "run", "--census", "off", "--record", file, "--", *target]
                subprocess.run(command, check=True, capture_output=True)
                runs[name].append(file)
                print(f"round {nth + 1}: {name}", file=sys.stderr, flush=True)
        rows = []
        for name in [name for name in REMEDIES if name != BASE]:
            command = [args.lowtide, "compare", "--before", *runs[BASE], "--after", *runs[name], "--format", "json"]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append(line(name, said))
    titles = ["remedy", "a step", "time per step", "differs", "floor", "peak", "memory"]
    version = subprocess.run(
        [args.python, "-c", "import sys, torch; print(f'CPython {sys.version.split()[0]}, torch {torch.__version__}')"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    command = f"python3 benches/remedies.py --rounds {args.rounds} --steps {args.steps}"
    body = (
        f"{tables.stamp(command)}, {version}.\n\nA small transformer in a plain loop with two workers, each remedy against the "
        f"same loop without any, {args.rounds} runs of each in turns; in brackets 95 % intervals from how much the runs differ. "
        f"Nothing leaks here: what is told is the price.\n\n{tables.markdown(titles, rows)}"
    )
    print(body)
    if args.publish:
        tables.publish("remedies", "What remedies cost", body)


if __name__ == "__main__":
    main()
