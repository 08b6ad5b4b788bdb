"""Pairs of runs, with and without something, that take turns; and what all pairs together tell.

The first of a pair is the one that was the second of the pair before, so that a drift of the machine hits both alike.
What they tell is the median of the pairs' ratios, with the interval that order statistics give it: it asks for no shape
of the noise, and a few runs that others got in the way of do not widen it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Run = TypeVar("Run")


@dataclass(frozen=True)
class Change:
    """By how much something is more with than without: 0.01 is one per cent; with its 95 % interval."""

    middle: float
    low: float
    high: float

    def at_most(self, limit: float) -> bool | None:
        """Whether it is, where the interval lies on one side of the limit."""
        return True if self.high <= limit else False if self.low > limit else None

    def told(self) -> bool:
        """Whether it is told from the noise at all."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.middle * 100:+.2f} % ({self.low * 100:+.2f} to {self.high * 100:+.2f})"


def in_turns(without: Callable[[], Run], with_it: Callable[[], Run], count: int) -> list[tuple[Run, Run]]:
    """So many pairs, each without and with it, after one run that brings files into the cache."""
    without()
    found = []
    for turn in range(count):
        if turn % 2:
            second, first = with_it(), without()
        else:
            first, second = without(), with_it()
        found.append((first, second))
    return found


def change(pairs: list[tuple[float, float]]) -> Change:
    """What the ratios of the pairs tell."""
    ratios = sorted(with_it / without - 1 for without, with_it in pairs)
    low, high = ranks(len(ratios))
    if low < 0:
        return Change(median(ratios) if ratios else math.nan, -math.inf, math.inf)
    return Change(median(ratios), ratios[low], ratios[high])


def ranks(count: int) -> tuple[int, int]:
    """Which of so many sorted values hold their distribution's median between them in 95 % of cases; -1 for too few (5).

    The number of values below the median is binomial, whatever the distribution.
    """
    below, low = 0.0, -1
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            break
        low = rank
    return low, count - 1 - low
