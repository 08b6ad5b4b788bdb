"""Whether low tides rise: a trend that single high or low ones do not move."""

from statistics import median
from typing import List, NamedTuple, Optional, Sequence, Tuple

#: Fewer low tides than this say nothing: 8 that rise one and all are 3.5 standard deviations (Mann 1945, Kendall 1975).
FEWEST = 8
#: With the first quarter, which is left out.
ENOUGH = 4 * FEWEST // 3
#: More than this are thinned out to every second one.
MOST = 128
#: The C heap grows and shrinks by 132 KiB to a few MiB without anything having been kept: less growth is none.
SMALLEST = 4 << 20
#: Garbage that is none: less than this, or than this share of a rise.
LITTLE = 1 << 19
GARBAGE = 0.1


class Growth(NamedTuple):
    """What the low tides say."""

    #: Bytes per step, the median of the slopes between all pairs (Theil 1950, Sen 1968).
    per_step: float
    #: Bytes from the first low tide to the last, by that slope.
    total: float
    #: Steps from the first to the last, and how many there are.
    steps: int
    tides: int
    #: Whether that is growth: above the scatter, above `SMALLEST`, three standard deviations from chance, and four pairs
    #: of five agree (chance alone is not enough where neighbours resemble each other).
    grows: bool
    #: Whether it grew less than half as fast in the second half: what fills up does, a cache or a warm-up.
    slows: bool


class LowTides:
    """Memory that was live after clean-ups, by step; bounded however long the run is.

    A low tide is sure where a full collection came right before it. One that is not may hold garbage: it counts from the
    next full collection on, if that finds hardly any.
    """

    def __init__(self) -> None:
        self._points: List[Tuple[int, int]] = []
        self._sure = 0  # so many of them
        self._every = 1
        self._seen = 0

    def add(self, step: int, live: int, sure: bool) -> None:
        """One more low tide, bytes."""
        if sure or self._seen % self._every == 0:
            self._points.append((step, live))
            if sure:
                self._sure = len(self._points)
            if len(self._points) > MOST:
                del self._points[1::2]
                self._sure = (self._sure + 1) // 2
                self._every *= 2
        self._seen += 1

    def collected(self, freed: int) -> None:
        """A full collection freed so many bytes. Where that is not next to nothing beside what was taken since the one before,
        low tides since then were none."""
        unsure = self._points[max(0, self._sure - 1) :]
        if len(unsure) > 1 and freed > max(LITTLE, GARBAGE * (unsure[-1][1] - unsure[0][1])):
            del self._points[self._sure :]
        self._sure = len(self._points)

    @property
    def missing(self) -> int:
        """How many more it takes until something can be said."""
        return max(0, ENOUGH - self._sure)

    def growth(self) -> Optional[Growth]:
        """None as long as there are too few that are sure."""
        return self._of(self._points[: self._sure])

    @property
    def unsure(self) -> bool:
        """Whether a full collection would say more."""
        return len(self._points) > self._sure

    def suspicion(self) -> bool:
        """Whether memory grows by those that are not sure as well, and not yet by those that are."""
        known = self.growth()
        if not self.unsure or (known is not None and known.grows):
            return False
        found = self._of(self._points)
        return found is not None and found.grows

    @staticmethod
    def _of(points: Sequence[Tuple[int, int]]) -> Optional[Growth]:
        # The first quarter is warm-up: caches fill, optimizers get their state.
        return growth(points[max(1, len(points) // 4) :])


def growth(points: Sequence[Tuple[int, int]]) -> Optional[Growth]:
    """The trend of (step, bytes)."""
    if len(points) < FEWEST:
        return None
    slopes = _slopes(points)
    if not slopes:
        return None
    slope = median(slopes)
    half = len(points) // 2
    # The middle one belongs to both halves.
    early, late = _slopes(points[: half + 1]), _slopes(points[half:])
    slows = bool(early and late) and median(late) < median(early) / 2
    level = median(y - slope * x for x, y in points)
    scatter = median(abs(y - level - slope * x) for x, y in points)
    total = slope * (points[-1][0] - points[0][0])
    rising, n = sum(one > 0 for one in slopes), len(points)
    by_chance = (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    agreed = 2 * rising - len(slopes) >= 3 * by_chance and rising >= 0.8 * len(slopes)
    grows = total >= SMALLEST and total > 3 * scatter and agreed
    return Growth(slope, total, points[-1][0] - points[0][0], n, grows, slows)


def _slopes(points: Sequence[Tuple[int, int]]) -> List[float]:
    """Between all pairs; of 128 points 8128, in 1 ms."""
    return [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for (x2, y2) in points[i + 1 :] if x2 > x1]
