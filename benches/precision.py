#!/usr/bin/env python3
"""How many findings of `lowtide check` on widely used training code are right.

Fetches the pinned wheels of benches/precision.txt into the cache folder (nothing of them is run), checks each, and joins the
findings with the judgements of benches/precision.csv, which people made by reading each in its file: `right` where memory is
held as the rule says, `wrong` otherwise; what can be argued about is wrong. Prints the share of right ones for each rule.

    python3 benches/precision.py                 all packages
    python3 benches/precision.py timm trl        these
    python3 benches/precision.py --show          also prints each finding not judged yet with its lines

Exit code: 1 if a check failed or took longer than --seconds, or a finding is not judged; else 0."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PINS = HERE / "precision.txt"
TABLE = HERE / "precision.csv"
# The wheels of one Python, so that all see the same files.
PLATFORM = ["--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64", "--platform", "any"]


@dataclass(frozen=True, order=True)
class Place:
    package: str
    version: str
    file: str
    line: int
    rule: str


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lowtide" / "precision"


def unpacked(package: str, version: str) -> Path:
    """The folder of a package's files; fetched if it is not there yet. A wheel is only unpacked, nothing in it is run."""
    target = cache() / f"{package}-{version}"
    if target.exists():
        return target
    wheels = cache() / "wheels" / f"{package}-{version}"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", *PLATFORM]
    if subprocess.run([*fetch, "--dest", str(wheels), f"{package}=={version}"], check=False).returncode != 0:
        sys.exit(f"{package}=={version} could not be fetched")
    partial = target.with_name(target.name + f".partial-{os.getpid()}")
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            # Some carry a second copy of all files.
            archive.extractall(partial, [name for name in archive.namelist() if name.endswith(".py") and name[:6] != "build/"])
    partial.rename(target)
    return target


def found(lowtide: str, package: str, version: str, seconds: float) -> tuple[list[Place], int, float, str]:
    """Findings in a package, its files, the seconds taken, and what went wrong ("": nothing)."""
    folder = unpacked(package, version)
    files = sum(1 for _ in folder.rglob("*.py"))
    started = time.perf_counter()
    try:
        run = subprocess.run(
            [lowtide, "check", str(folder), "--format", "json"], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return [], files, seconds, f"not done after {seconds:.0f} s"
    took = time.perf_counter() - started
    if run.returncode not in (0, 1) or "panicked" in run.stderr:
        return [], files, took, f"exit code {run.returncode}: {run.stderr.strip()[-300:]}"
    places = set()
    for finding in json.loads(run.stdout)["findings"]:
        site = finding["site"]
        file = os.path.relpath(os.path.abspath(site["file"]), folder)
        places.add(Place(package, version, file, site["line"], finding["cause"]))
    return sorted(places), files, took, ""


def judgements() -> dict[Place, str]:
    if not TABLE.exists():
        return {}
    judged = {}
    with TABLE.open(newline="") as table:
        for row in csv.DictReader(table):
            assert row["judgement"] in ("right", "wrong"), f"neither right nor wrong: {row}"
            place = Place(row["package"], row["version"], row["file"], int(row["line"]), row["rule"])
            assert place not in judged, f"judged twice: {place}"
            judged[place] = row["judgement"]
    return judged


def show(place: Place, around: int) -> None:
    lines = (unpacked(place.package, place.version) / place.file).read_text(errors="replace").splitlines()
    print(f"\n{place.package},{place.version},{place.file},{place.line},{place.rule}")
    for number in range(max(1, place.line - around), min(len(lines), place.line + around // 2) + 1):
        print(f"{'>' if number == place.line else ' '}{number:5} {lines[number - 1]}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("packages", nargs="*", metavar="PACKAGE")
    arguments.add_argument("--lowtide", default="target/release/lowtide", help="the program (%(default)s)")
    arguments.add_argument("--seconds", type=float, default=120, help="limit for one package (%(default)s)")
    arguments.add_argument("--show", action="store_true", help="print findings that are not judged yet")
    arguments.add_argument("--around", type=int, default=16, help="lines shown above one (%(default)s)")
    wanted = arguments.parse_args()

    pins = [line.split("==") for line in PINS.read_text().split() if "==" in line]
    judged, counts, unjudged, failed = judgements(), Counter(), [], []
    files = total = 0
    taken = 0.0
    for package, version in pins:
        if wanted.packages and package not in wanted.packages:
            continue
        places, here, took, wrong = found(wanted.lowtide, package, version, wanted.seconds)
        files, taken, total = files + here, taken + took, total + len(places)
        if wrong:
            failed.append(f"{package}: {wrong}")
        for place in places:
            judgement = judged.get(place)
            counts[place.rule, judgement] += 1
            if judgement is None:
                unjudged.append(place)
        print(f"{package} {version}: {here} files, {took:.1f} s, {len(places)} findings", file=sys.stderr)

    if wanted.show:
        for place in unjudged:
            show(place, wanted.around)
    print("\n| rule | findings | right | wrong | not judged | right of those judged |\n|---|--:|--:|--:|--:|--:|")
    for rule in [*sorted({rule for rule, _ in counts}), "all"]:
        right, bad, open_ = (
            sum(count for (its, judgement), count in counts.items() if rule in (its, "all") and judgement == which)
            for which in ("right", "wrong", None)
        )
        share = f"{right / (right + bad):.0%}" if right + bad else "-"
        print(f"| {rule} | {right + bad + open_} | {right} | {bad} | {open_} | {share} |")
    print(f"\n{files} files of {len(wanted.packages) or len(pins)} packages in {taken:.1f} s; {total} findings")
    for line in failed:
        print(f"failed: {line}")
    return 1 if failed or unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
