"""Samples of a process tree over time: read from a trace, cut, thinned out, blanked, written again."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

INTEGERS = (
    "ppid depth rss pss uss anon pss_anon pss_file pss_shmem rss_file rss_shmem fds threads minflt".split()  # noqa: SIM905
)
MACHINE = 0  # the pid of the row for the whole machine


@dataclass(frozen=True)
class Tick:
    """One moment: a row for each process by pid, and one for the machine at `MACHINE`. Sizes in bytes."""

    t: float
    rows: dict[int, dict]

    def processes(self) -> dict[int, dict]:
        """The rows of processes alone."""
        return {pid: row for pid, row in self.rows.items() if pid != MACHINE}


def parse_csv(text: str) -> list[Tick]:
    """Read a trace. The rows of one tick end with the machine's."""
    ticks, rows = [], {}
    for record in csv.DictReader(io.StringIO(text)):
        pid = int(record["pid"])
        rows[pid] = {**{name: int(record[name]) for name in INTEGERS}, "t": record["t"], "cmd": record["cmd"]}
        if pid == MACHINE:
            ticks.append(Tick(float(record["t"]), rows))
            rows = {}
    return ticks


def write_csv(ticks: Iterable[Tick]) -> str:
    """The trace as `parse_csv` reads it."""
    out = io.StringIO()
    names = ["t", "pid", "ppid", "depth", "cmd", *INTEGERS[2:]]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for tick in ticks:
        for pid, row in sorted(tick.rows.items(), key=lambda item: item[0] or 1 << 62):
            writer.writerow({**row, "pid": pid})
    return out.getvalue()


def first_part(ticks: list[Tick], share: float) -> list[Tick]:
    """The ticks of the first `share` of the time."""
    if not ticks:
        return []
    end = ticks[0].t + share * (ticks[-1].t - ticks[0].t)
    return [tick for tick in ticks if tick.t <= end]


def thinned(ticks: list[Tick], interval: float) -> list[Tick]:
    """Ticks at least `interval` seconds apart, as a slower recorder would have seen them."""
    kept: list[Tick] = []
    for tick in ticks:
        if not kept or tick.t - kept[-1].t >= interval * 0.999:
            kept.append(tick)
    return kept


def blanked(ticks: list[Tick]) -> list[Tick]:
    """The same with command lines that say nothing."""
    return [Tick(tick.t, {pid: {**row, "cmd": "-"} for pid, row in tick.rows.items()}) for tick in ticks]
