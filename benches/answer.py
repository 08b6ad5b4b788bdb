"""What a bench prints: tables, goals and gates, as JSON (the same shape as src/answer.rs)."""

from __future__ import annotations

import json
import math
from statistics import median, stdev

# Two-sided 95 % points of Student's t by degrees of freedom; 1.96 beyond.
STUDENT = [math.nan, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]


class Answer:
    """The answer of a bench."""

    def __init__(self) -> None:
        self.tables: list[dict] = []
        self.goals: list[dict] = []
        self.gates: list[dict] = []

    def table(self, about: str, header: list[str], rows: list[list]) -> None:
        """What was measured, and how."""
        self.tables.append({"about": about, "header": header, "rows": [[str(cell) for cell in row] for row in rows]})

    def goal(self, what: str, got: str, met: bool | None) -> None:
        """A number that should hold on an idle machine; `None`: it could not be told."""
        self.goals.append({"what": what, "got": got, "met": None if met is None else bool(met)})

    def gate(self, what: str, got: str, holds: bool) -> None:
        """A ratio that must hold on any machine."""
        self.gates.append({"what": what, "got": got, "holds": bool(holds)})

    def print(self) -> None:
        print(json.dumps({"tables": self.tables, "goals": self.goals, "gates": self.gates}))


def mean_interval(values: list[float]) -> tuple[float, float]:
    """Mean and the half width of its 95 % interval; the half width of fewer than two values is infinite."""
    if not values:
        return math.nan, math.inf
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.inf
    factor = STUDENT[len(values) - 1] if len(values) <= len(STUDENT) else 1.96
    return mean, factor * stdev(values) / math.sqrt(len(values))


def middle_and_spread(values: list[float], digits: int = 2) -> str:
    """`median (least to most)`."""
    if not values:
        return ""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
