"""Whether low tides rise: a trend that single high or low ones do not move."""

from statistics import median
from typing import List, NamedTuple, Optional, Sequence, Tuple

#: Fewer low tides than this say nothing: 8 that rise one and all are 3.5 standard deviations (Mann 1945, Kendall 1975).
FEWEST = 8
#: More than this are thinned out to every second one.
MOST = 128
#: The C heap grows and shrinks by 132 KiB to a few MiB without anything having been kept: less growth is none.
SMALLEST = 4 << 20


class Growth(NamedTuple):
    """What the low tides say."""

    #: Bytes per step, the median of the slopes between all pairs (Theil 1950, Sen 1968).
    per_step: float
    #: Bytes from the first low tide to the last, by that slope.
    total: float
    #: Whether that is growth: above the scatter, above `SMALLEST`, three standard deviations from chance, and four pairs
    #: of five agree (chance alone is not enough where neighbours resemble each other).
    grows: bool


class LowTides:
    """Memory that was live after clean-ups, by step; bounded however long the run is."""

    def __init__(self) -> None:
        self._points: List[Tuple[int, int]] = []
        self._every = 1
        self._seen = 0

    def add(self, step: int, live: int) -> None:
        """One more low tide, bytes."""
        if self._seen % self._every == 0:
            self._points.append((step, live))
            if len(self._points) > MOST:
                del self._points[1::2]
                self._every *= 2
        self._seen += 1

    def growth(self) -> Optional[Growth]:
        """None as long as there are too few. The first quarter is warm-up: caches fill, optimizers get their state."""
        return growth(self._points[max(1, len(self._points) // 4) :])


def growth(points: Sequence[Tuple[int, int]]) -> Optional[Growth]:
    """The trend of (step, bytes)."""
    if len(points) < FEWEST:
        return None
    slopes = [
        (y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for (x2, y2) in points[i + 1 :] if x2 > x1
    ]  # 128 points: 8128 pairs, 1 ms
    if not slopes:
        return None
    slope = median(slopes)
    level = median(y - slope * x for x, y in points)
    scatter = median(abs(y - level - slope * x) for x, y in points)
    total = slope * (points[-1][0] - points[0][0])
    rising, n = sum(one > 0 for one in slopes), len(points)
    by_chance = (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    agreed = 2 * rising - len(slopes) >= 3 * by_chance and rising >= 0.8 * len(slopes)
    return Growth(slope, total, total >= SMALLEST and total > 3 * scatter and agreed)
