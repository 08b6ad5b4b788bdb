"""What a bench prints: tables, goals and gates, as JSON (the same shape as src/answer.rs)."""

from __future__ import annotations

import json
from statistics import median


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


def middle_and_spread(values: list[float], digits: int = 2) -> str:
    """`median (least to most)`."""
    if not values:
        return ""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
