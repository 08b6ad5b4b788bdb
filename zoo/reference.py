"""The rate that a verdict is held against: the slope of the run's own low tides, in the cycles of its truth log.

Nothing of lowtide is used here: the samples are the recorder's (`record.py`, `watch.py`), the cycles are the program's.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from samples import MACHINE, Tick
from truth import Log, Truth

MIB = 1 << 20
DUE_BYTES_PER_SECOND = 5 * MIB / 60  # a leak as fast as this must be found in a full trace
DUE_UNDER_SPIKES = 40 * MIB / 60  # ... and as this where spikes are hundreds of MB high
HIGH_SPIKE = 200 * 10**6
LEAST_TIDES_FOR_RATE = 4  # over three, the slopes of one run differ by more than the tolerance (09: -26 % to +29 %)


@dataclass(frozen=True)
class Reference:
    """Growth of the low tide per second, in bytes or pieces, over this many cycles, and the highest rise above it."""

    rate: float
    unit: str
    cycles: int
    spike: float
    tree_bytes: float | None = None  # growth of the whole tree where `rate` counts processes and PSS was read
    per_step: float | None = None  # growth of the low tide per step of training, bytes
    kept_per_step: float | None = None  # growth of what the trainer keeps on purpose, bytes

    def rate_in(self, unit: str) -> float | None:
        """The rate that a report's rate in this unit is held against; `None` where there are too few cycles for that."""
        if self.cycles < LEAST_TIDES_FOR_RATE:
            return None
        return self.rate if unit == self.unit else self.tree_bytes

    def due(self) -> bool:
        """Is this growth so fast that a verdict is owed?"""
        if self.unit != "bytes":
            return True
        return self.rate >= (DUE_UNDER_SPIKES if self.spike >= HIGH_SPIKE else DUE_BYTES_PER_SECOND)


def theil_sen(points: list[tuple[float, float]]) -> float:
    """The median slope over all pairs of points; 0 for fewer than two."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1 :] if b[0] > a[0]]
    return median(slopes) if slopes else 0.0


def _of_process(pid: int | None, *names: str):
    def value(tick: Tick) -> float | None:
        row = tick.rows.get(pid) if pid else None
        return None if row is None else float(sum(row[name] for name in names))

    return value


def signal_of(truth: Truth, log: Log):
    """The function of a tick whose low tide the truth is about, and its unit."""
    if truth.kind == "child_process" and truth.leak:
        return (lambda tick: float(len(tick.processes()))), "count"
    if truth.kind == "fds_threads":
        return _of_process(log.trainer, "fds"), "count"
    if truth.process == "none:/dev/shm":
        return (lambda tick: float(tick.rows[MACHINE]["uss"])), "bytes"
    pid = log.leaking_worker() if truth.process.startswith("child:dataloader_worker") else log.trainer
    return _of_process(pid, "anon", "rss_shmem"), "bytes"


def tree_bytes(tick: Tick) -> float | None:
    """The whole tree, shared pages counted once; `None` where PSS was not read."""
    rows = tick.processes().values()
    if not rows or any("pss_anon" not in row for row in rows):
        return None
    return float(sum(row["pss_anon"] + row["pss_shmem"] for row in rows) + tick.rows[MACHINE]["uss"])


def low_tides(series: list[tuple[float, float]], cycles: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The moment and the value of the minimum in each cycle that has samples."""
    found = []
    for start, end in cycles:
        inside = [point for point in series if start <= point[0] < end]
        if inside:
            found.append(min(inside, key=lambda point: point[1]))
    return found


def _series(ticks: list[Tick], value) -> list[tuple[float, float]]:
    return [(tick.t, found) for tick in ticks if (found := value(tick)) is not None]


def reference(truth: Truth, log: Log, ticks: list[Tick]) -> Reference | None:
    """The run's own rate, or `None` where fewer than three cycles follow the first."""
    value, unit = signal_of(truth, log)
    series = _series(ticks, value)
    tides = low_tides(series, log.cycles()[1:])
    if len(tides) < 3:
        return None
    start = tides[0][0]
    spike = max(found for t, found in series if t >= start) - max(found for _, found in tides)
    tree = _series(ticks, tree_bytes) if truth.kind == "child_process" else []
    in_bytes = theil_sen(low_tides(tree, log.cycles()[1:])) if tree else None
    per_step = kept_per_step = None
    if unit == "bytes" and len(tides) >= LEAST_TIDES_FOR_RATE and log.trained:
        per_step = theil_sen([(log.trained_by(t), found) for t, found in tides])
        kept_per_step = theil_sen([(log.trained_by(t), float(found)) for t, found in _at_starts(log)])
    return Reference(theil_sen(tides), unit, len(tides), spike, in_bytes, per_step, kept_per_step)


def _at_starts(log: Log) -> list[tuple[float, int]]:
    """What was kept at the beginning of each cycle but the first."""
    found = [next((point for point in log.kept if point[0] >= start), None) for start, _ in log.cycles()[1:]]
    return [point for point in found if point is not None]
