"""The leak rules that others use or have published, run on the zoo's traces beside lowtide.

Each rule gets the series that its user would look at and says `leak` or `none`; some also say `possible`, which counts
as a find. Reimplemented from their descriptions; where only a part of a rule can run on a memory series, the name
says so. Every threshold is its author's unless marked as ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reference import theil_sen
from samples import Tick
from truth import Log

MB = 10**6
MIB = 1 << 20


@dataclass(frozen=True)
class Watched:
    """What a rule may look at: RSS of the started process, RSS of its whole tree, and the steps where it needs them."""

    root: list[tuple[float, float]]
    tree: list[tuple[float, float]]
    steps: list[tuple[float, int]]


def watched(ticks: list[Tick], log: Log, *, from_ready: bool = False) -> Watched:
    """The series of a trace; `from_ready` leaves out the start of Python and torch, as a user who starts watching later."""
    if from_ready and log.ready is not None:
        ticks = [tick for tick in ticks if tick.t >= log.ready]
    root_pid = next((pid for tick in ticks for pid, row in tick.processes().items() if row["depth"] == 0), 0)
    root = [(tick.t, float(tick.rows[root_pid]["rss"])) for tick in ticks if root_pid in tick.rows]
    tree = [(tick.t, float(sum(row["rss"] for row in tick.processes().values()))) for tick in ticks if tick.processes()]
    return Watched(root, tree, log.steps)


def least_squares(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Slope and R² of a line through the points; zeros where there is none."""
    n = len(points)
    if n < 3:
        return 0.0, 0.0
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    if xx == 0 or yy == 0:
        return 0.0, 0.0
    return xy / xx, xy * xy / (xx * yy)


def first_and_last_ten(w: Watched, scale: float = 1.0) -> bool:
    """Field report 004's script: minimum of the last ten samples against that of the first ten; above +50 MB a leak is
    possible, above +100 MB it is one."""
    values = [value for _, value in w.tree]
    return len(values) >= 20 and min(values[-10:]) - min(values[:10]) > 50 * MB * scale


def first_and_last_ten_scaled(w: Watched) -> bool:
    """The same with the thresholds scaled to the time watched; 50 MB in ten minutes (the ten minutes are ours)."""
    return first_and_last_ten(w, (w.tree[-1][0] - w.tree[0][0]) / 600) if w.tree else False


def last_minus_first(w: Watched) -> bool:
    """The last sample is above the first."""
    return bool(w.tree) and w.tree[-1][1] > w.tree[0][1]


def slope_above_zero(w: Watched) -> bool:
    """Least squares over the tree's RSS: the slope is positive."""
    return least_squares(w.tree)[0] > 0


def good_line(w: Watched) -> bool:
    """Least squares over the tree's RSS: positive slope and R² above 0.8."""
    slope, r2 = least_squares(w.tree)
    return slope > 0 and r2 > 0.8


def mann_kendall(w: Watched) -> bool:
    """Plain Mann-Kendall (Mann 1945, Kendall 1975) at 5 %, ties counted, no allowance for serial correlation, and a
    positive Theil-Sen slope (Sen 1968)."""
    values = [value for _, value in w.tree]
    n = len(values)
    if n < 8:
        return False
    s = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    counts: dict[float, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    variance = (n * (n - 1) * (2 * n + 5) - sum(c * (c - 1) * (2 * c + 5) for c in counts.values())) / 18
    return variance > 0 and (s - 1) / math.sqrt(variance) > 1.96 and theil_sen(w.tree) > 0


def mprof(w: Watched) -> bool:
    """memory_profiler's `mprof plot -s`: least-squares slope of the started process's RSS; "above zero might mean a
    memory leak" (its help text)."""
    return least_squares(w.root)[0] > 0


def scalene_slope(w: Watched) -> bool:
    """Scalene, scalene_leak_analysis.py: reports only where net growth is at least 1 % of all that was allocated, and
    sampled maxima are above 100 MB. Its per-line part (which sampled objects were freed) needs the inside view."""
    values = [value for _, value in w.root]
    gross = sum(max(0.0, b - a) for a, b in zip(values, values[1:]))
    return bool(values) and max(values) > 100 * MB and gross > 0 and (values[-1] - values[0]) / gross >= 0.01


def by_step(w: Watched) -> list[tuple[float, float]]:
    """RSS of the started process against the number of steps done."""
    points, at = [], 0
    for now, value in w.root:
        while at + 1 < len(w.steps) and w.steps[at + 1][0] <= now:
            at += 1
        if w.steps and w.steps[at][0] <= now:
            points.append((float(w.steps[at][1]), value))
    return points


def traceml_creep(w: Watched) -> bool:
    """TraceML's memory creep: growth of 1 GiB over 50 or more steps; or, early, 800 or more steps, 512 MiB, the later
    half 6 % above the earlier and 1.5 % per 100 steps."""
    points = by_step(w)
    if len(points) < 4:
        return False
    steps, growth = points[-1][0] - points[0][0], points[-1][1] - points[0][1]
    half = len(points) // 2
    earlier, later = sum(y for _, y in points[:half]) / half, sum(y for _, y in points[half:]) / (len(points) - half)
    slope = least_squares(points)[0] * 100 / earlier
    early = steps >= 800 and growth >= 512 * MIB and later / earlier - 1 >= 0.06 and slope >= 0.015
    return early or (steps >= 50 and growth >= 1 << 30)


def stormlog(w: Watched) -> bool:
    """Stormlog: growth above 10 % and above 100 MB."""
    if not w.root:
        return False
    growth = w.root[-1][1] - w.root[0][1]
    return growth > 100 * MB and growth > 0.1 * w.root[0][1]


RULES: dict[str, Callable[[Watched], bool]] = {
    "first/last ten minima (+50 MB)": first_and_last_ten,
    "first/last ten minima, scaled": first_and_last_ten_scaled,
    "last minus first": last_minus_first,
    "least squares slope": slope_above_zero,
    "line with R² above 0.8": good_line,
    "Mann-Kendall with Theil-Sen": mann_kendall,
    "mprof slope": mprof,
    "Scalene (slope part)": scalene_slope,
    "TraceML creep": traceml_creep,
    "Stormlog": stormlog,
}
