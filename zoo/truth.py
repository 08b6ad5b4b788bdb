"""The truth of a zoo program: what its .toml says, and what one run of it wrote into its truth log."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

LIVE_SECONDS = 40.0  # how long a live run takes unless the program asks for more; growth shows within it at scale 1


@dataclass(frozen=True)
class Truth:
    """What is planted in a program."""

    name: str
    leak: bool
    problem: str
    kind: str
    process: str
    live_seconds: float = LIVE_SECONDS
    phase: str = ""
    server: bool = False
    holder: str = ""
    culprit: list[str] = field(default_factory=list)

    def leaks(self, variant: str) -> bool:
        """Does this variant grow without bound?"""
        return self.leak and variant == "leak"

    def holder_names(self) -> set[str]:
        """The names of the holders in the prose: `dev` of "nodes[i].dev['train']", `updates` of "server.updates[...]"."""
        names = set()
        for part in self.holder.split(", "):
            way = re.match(r"[A-Za-z_]\w*(?:\[[^\]]*\]|\.[A-Za-z_]\w*)*", part)
            words = re.sub(r"\[[^\]]*\]", "", way.group()).split(".") if way else []
            # What hangs below an object by itself is no name that the program gave.
            while words and words[-1] in ("grad_fn", "__closure__", ""):
                words.pop()
            names.update(words[-1:])
        return names

    def is_reachable(self) -> bool:
        """Whether a way of the program's own names leads to what leaks; else a library's inner parts hold it, or nothing."""
        return self.leak and not self.holder.startswith(("none", "torch."))


def parse_truth(text: str) -> Truth:
    """Read a .toml of the zoo; it holds nothing but `key = JSON value` lines, so that no TOML reader is needed."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals:
            values[key] = json.loads(value)
    return Truth(**{key: values[key] for key in Truth.__dataclass_fields__ if key in values})


def load_truth(folder: Path, name: str) -> Truth:
    """The truth of the program `name` (without .py)."""
    return parse_truth((folder / f"{name}.toml").read_text())


@dataclass
class Log:
    """A truth log. Times are CLOCK_MONOTONIC seconds."""

    trainer: int = 0
    ready: float | None = None
    epochs: list[float] = field(default_factory=list)
    steps: list[tuple[float, int]] = field(default_factory=list)
    trained: list[tuple[float, int]] = field(default_factory=list)  # steps of training in all, at the ends of its phases
    kept: list[tuple[float, int]] = field(default_factory=list)  # bytes that the trainer keeps on purpose
    end: float | None = None
    train_steps: int | None = None  # steps of training in all, where the program came to its end
    retained_by_worker: dict[int, int] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)

    def cycles(self) -> list[tuple[float, float]]:
        """Start and end of each epoch; a last one that the end of the run cut short by more than half is left out."""
        ends = [*self.epochs[1:], self.end if self.end is not None else self.epochs[-1]] if self.epochs else []
        spans = list(zip(self.epochs, ends))
        if len(spans) >= 2 and spans[-1][1] - spans[-1][0] < 0.5 * (spans[-2][1] - spans[-2][0]):
            spans.pop()
        return spans

    def trained_by(self, now: float) -> float:
        """Steps of training until then, between the ends of its phases by their mean rate."""
        before = [point for point in self.trained if point[0] <= now]
        after = next((point for point in self.trained if point[0] > now), None)
        if not before or after is None:
            return before[-1][1] if before else 0.0
        (start, done), (end, more) = before[-1], after
        return done + (more - done) * (now - start) / (end - start)

    def leaking_worker(self) -> int | None:
        """The worker that keeps the most on purpose."""
        kept = {pid: held for pid, held in self.retained_by_worker.items() if held > 0}
        return max(kept, key=kept.__getitem__) if kept else None


def parse_log(text: str) -> Log:
    """Read a truth log; a line torn by a kill is skipped."""
    log, begun = Log(), 0
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        event, pid, now = entry.get("ev"), entry.get("pid", 0), entry.get("t", 0.0)
        log.pids.add(pid)
        if event == "epoch":
            log.trainer = pid
            log.epochs.append(now)
        elif event == "ready":
            log.ready = now
        elif event == "end":
            log.end = now
            log.train_steps = entry.get("by_phase", {}).get("train")
        elif event == "retained" and entry.get("role") == "worker":
            log.retained_by_worker[pid] = max(entry["retained"], log.retained_by_worker.get(pid, 0))
        if pid != log.trainer or not pid:
            continue
        if "step" in entry:
            log.steps.append((now, entry["step"]))
        if "retained" in entry:
            log.kept.append((now, entry["retained"]))
        if entry.get("phase") == "train" and event in ("phase_begin", "phase_end"):
            done = log.trained[-1][1] if log.trained else 0
            log.trained.append((now, done + (entry["step"] - begun if event == "phase_end" else 0)))
            begun = entry["step"]
    return log


def load_log(path: Path) -> Log:
    """The truth log at `path`; empty where the program wrote none."""
    return parse_log(path.read_text() if path.exists() else "")
