#!/usr/bin/env python3
"""Look into every zoo program with `lowtide heap`, twice, and judge whom it accuses: holder and line.

    python3 zoo/heaps.py [--pythons PY,PY] [--only 10_val,22] [--variants leak,fixed] [--diff 8] [--publish]

One program at a time, without marks, from outside. It resumes: a result is kept in zoo/results/heaps/ until the program,
zoolib.py or the lowtide binary changes. Exits with 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tables
import watch
from live import SKIPPED, ZOO, environment, server_of
from pythons import RESULTS, Python, identify
from truth import Log, Truth, load_log, load_truth

RIGHT, WRONG, NONE = "right", "wrong", "-"
READY_S = 120.0  # for a program to come up
WARM_S = 4.0  # of training before the first look: the first steps of a run import, allocate and fill what stays
MAX_PAUSE = "30s"  # the machine may be busy; how long a look takes is measured elsewhere
RUN_S = 90.0  # the program's own limit; it is ended after the looks
ACCUSED = ("culprit", "suspect")


def accused(answer: dict) -> list[dict]:
    """Those that grew and are blamed for it."""
    holders = (answer.get("growth") or {}).get("holders", [])
    return [holder for holder in holders if holder["standing"] in ACCUSED]


def judge(answer: dict, truth: Truth, variant: str) -> dict:
    """Whether the accused is the planted one, by its names and by its line; nobody is to be accused where nothing is planted."""
    found = accused(answer)
    if not truth.leaks(variant) or not truth.is_reachable():
        return {"holder": WRONG if found else RIGHT, "line": WRONG if found else RIGHT}
    lines = [f"{Path(holder['site']['file']).name}:{holder['site']['line']}" for holder in found]
    named = [{step["name"] for step in holder["path"]["steps"]} & truth.holder_names() for holder in found]
    if not found:
        return {"holder": WRONG, "line": WRONG}
    return {
        "holder": RIGHT if all(named) else WRONG,
        "line": RIGHT if all(line in truth.culprit for line in lines) else WRONG,
    }


def said(answer: dict) -> str:
    """Whom it accuses, in one cell."""
    words = []
    for holder in accused(answer)[:2]:
        place = f"{Path(holder['site']['file']).name}:{holder['site']['line']}"
        words.append(f"{holder['path']['text']} {holder['bytes'] / 2**20:+.2f} MiB: {place}")
    return "; ".join(words).replace("|", "\\|")


def children(pid: int) -> list[int]:
    """The direct children of a process, oldest first by number."""
    return sorted(child for child, place in watch.tree(pid).items() if place.ppid == pid)


def looked_at(truth: Truth, log: Log) -> int:
    """The process that the truth names: the trainer, the worker that leaks, or any worker of a look-alike."""
    trainer = log.trainer
    if not truth.process.startswith("child:dataloader_worker") or truth.process.endswith("[*]"):
        return trainer
    found = children(trainer)
    return log.leaking_worker() or (found[-1] if found else trainer)


def wait_until(condition, seconds: float) -> bool:
    """Wait for something to be true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def look(lowtide: Path, python: str, truth: Truth, variant: str, diff: float) -> tuple[dict | None, str]:
    """Start the program, look into it twice, end it; the answer, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        log = folder / "truth.jsonl"
        more = stack.enter_context(server_of(truth, python, folder))
        command = [python, "-u", str(ZOO / f"{truth.name}.py"), "--variant", variant, "--seconds", str(RUN_S)]
        program = subprocess.Popen(
            [*command, "--truth", str(log), *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**environment(), "TMPDIR": name},  # what its workers leave behind when they are killed goes with it
            cwd=folder,
            start_new_session=True,
        )
        try:
            if not wait_until(lambda: program.poll() is not None or load_log(log).trainer, READY_S):
                return None, "failed: it did not come up"
            time.sleep(WARM_S)
            if program.poll() is not None:
                skipped = program.returncode == SKIPPED
                return None, "skipped: needs a newer torch" if skipped else f"failed: it ended with {program.returncode}"
            pid = looked_at(truth, load_log(log))
            arguments = ["heap", str(pid), "--diff", f"{diff:g}s", "--max-pause", MAX_PAUSE, "--all", "--format", "json"]
            done = subprocess.run([str(lowtide), *arguments], capture_output=True, text=True, check=False)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    if done.returncode != 0:
        return None, f"failed: {done.stderr.strip().splitlines()[-1]}"
    return json.loads(done.stdout), ""


def one(lowtide: Path, python: Python, truth: Truth, variant: str, diff: float) -> dict:
    """The result for one program, variant and Python: kept from before, or by running it now."""
    digest = hashlib.sha256(f"{diff}".encode())
    for part in (ZOO / f"{truth.name}.py", ZOO / "zoolib.py", lowtide):
        digest.update(part.read_bytes())
    key = digest.hexdigest()[:16]
    kept = RESULTS / "heaps" / python.label.replace(", ", "-").replace(" ", "") / f"{truth.name}.{variant}.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    if before.get("key") == key:
        answer, why = before["answer"], before["why"]
    else:
        answer, why = look(lowtide, python.path, truth, variant, diff)
        if not why.startswith("failed"):
            small = {name: answer[name] for name in ("growth", "pause_seconds", "notes")} if answer else None
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps({"key": key, "why": why, "answer": small}, indent=1))
    entry = {"program": truth.name, "variant": variant, "python": python.label, "why": why, "said": ""}
    if answer:
        entry |= judge(answer, truth, variant) | {"said": said(answer), "pause_s": answer["pause_seconds"]}
    words = [why] if why else [f"holder {entry['holder']}, line {entry['line']}", entry["said"]]
    print(f"{truth.name}.{variant} ({python.label}):", *words, file=sys.stderr, flush=True)
    return entry


def is_wrong(entry: dict) -> bool:
    """Whether anything about one run is wrong."""
    return entry["why"].startswith("failed") or WRONG in (entry.get("holder"), entry.get("line"))


def report(entries: list[dict]) -> str:
    """The Markdown that is printed and published."""
    judged = [entry for entry in entries if "holder" in entry]
    right = {name: sum(entry[name] == RIGHT for entry in judged) for name in ("holder", "line")}
    bad = [f"{entry['program']}.{entry['variant']} under {entry['python']}" for entry in entries if is_wrong(entry)]
    summary = (
        f"{right['holder']} of {len(judged)} looks with the right holder (or nobody accused, where that is right), "
        f"{right['line']} with the right line; {len(entries) - len(judged)} skipped or failed."
    )
    if bad:
        summary += "\n\nWrong: " + "; ".join(bad) + "."
    header = ["program", "variant", "under", "holder", "line", "accused"]
    rows = [
        [
            entry["program"],
            entry["variant"],
            entry["python"],
            entry.get("holder", entry["why"]),
            entry.get("line"),
            entry["said"],
        ]
        for entry in entries
    ]
    return summary + "\n\n" + tables.markdown(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", type=Path, default=tables.ROOT / "target/release/lowtide")
    parser.add_argument(
        "--pythons", default=f"{sys.executable},/usr/bin/python3", help="interpreters; those without torch are left out"
    )
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--variants", default="leak,fixed")
    parser.add_argument("--diff", type=float, default=8.0, help="seconds between the looks")
    parser.add_argument("--publish", action="store_true", help="keep the table in BENCHMARKS.md")
    args = parser.parse_args()
    pythons = [found for path in dict.fromkeys(args.pythons.split(",")) if path and (found := identify(path))]
    if not pythons:
        sys.exit(f"no torch under {args.pythons}; `make venv` installs one")
    only = tuple(filter(None, args.only.split(",")))
    names = [path.stem for path in sorted(ZOO.glob("[0-9][0-9]_*.py")) if path.stem.startswith(only or ("",))]
    if not names:
        sys.exit(f"no program begins with {args.only}")
    entries = [
        one(args.lowtide, python, load_truth(ZOO, name), variant, args.diff)
        for python in pythons
        for variant in args.variants.split(",")
        for name in names
    ]
    entries.sort(key=lambda entry: (entry["python"], entry["program"], entry["variant"]))
    text = report(entries)
    print(text)
    if args.publish:
        tables.publish("zoo-heaps", "Holders and lines", f"{tables.stamp('make zoo-heaps')}\n\n{text}")
    sys.exit(any(map(is_wrong, entries)))


if __name__ == "__main__":
    main()
