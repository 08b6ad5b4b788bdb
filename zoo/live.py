"""One live run: a zoo program under `lowtide run`, measured beside it by the zoo's own reader."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import watch
from samples import MACHINE, Tick
from truth import Log, Truth, load_log

ZOO = Path(__file__).resolve().parent
SKIPPED = 77  # zoolib.SKIP; that module needs torch
SAMPLE_S = 0.5
GRACE_S = 120.0  # for start-up, the report and the end


@dataclass
class LiveRun:
    """What came out of it. `report` is `None` where the program was skipped or lowtide failed; `why` says it."""

    report: dict | None
    why: str
    log: Log
    ticks: list[Tick]
    notice_s: float | None = None  # when lowtide said, while it ran, that a leak is established


class Sampler(threading.Thread):
    """Reads the processes below lowtide, and those of the truth log that are elsewhere, twice a second; with `pss`,
    which costs some 10 ms a process, once."""

    def __init__(self, lowtide: int, log: Path, *, pss: bool = False) -> None:
        super().__init__(daemon=True)
        self.lowtide, self.log, self.ticks, self.ended = lowtide, log, [], threading.Event()
        self.read = watch.everything if pss else watch.counters
        self.interval = 2 * SAMPLE_S if pss else SAMPLE_S

    def run(self) -> None:
        while not self.ended.wait(self.interval):
            self.ticks.append(self.tick())

    def tick(self) -> Tick:
        places = watch.tree(self.lowtide)
        elsewhere = load_log(self.log).pids - set(places) - {0}
        now = time.monotonic()
        rows = watch.read_all([pid for pid, place in places.items() if place.depth > 0] + sorted(elsewhere), self.read)
        for pid, row in rows.items():
            row["depth"] = places[pid].depth - 1 if pid in places else 0
        rows[MACHINE] = {"uss": watch.machine()["dev_shm"]}
        return Tick(now, rows)


@contextlib.contextmanager
def server_of(truth: Truth, python: str, folder: Path) -> Iterator[list[str]]:
    """For a program that needs its server running before it is watched: start it; gives the client's arguments."""
    if not truth.server:
        yield []
        return
    address = str(folder / "job.socket")
    server = subprocess.Popen(
        [python, "-u", str(ZOO / f"{truth.name}.py"), "--serve", address],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(),
    )
    try:
        if server.stdout is None or "listening" not in server.stdout.readline():
            raise RuntimeError(f"the server of {truth.name} did not start")
        yield ["--socket", address]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def environment() -> dict[str, str]:
    """The runs' environment: quiet, one thread, nothing written beside the programs."""
    return {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
    }


def run(
    lowtide: str,
    python: str,
    truth: Truth,
    variant: str,
    seconds: float,
    *,
    program: Path | None = None,
    recording: Path | None = None,
    options: tuple[str, ...] = (),
) -> LiveRun:
    """Run it to its end and read what lowtide says. `program`: another file in its place; `recording`: it stays there; `options`:
    of `lowtide run`."""
    if recording:
        recording.parent.mkdir(parents=True, exist_ok=True)
        recording.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="zoo-") as name:
        folder = Path(name)
        log, out = folder / "truth.jsonl", folder / "report.json"
        with server_of(truth, python, folder) as more:
            file = program or ZOO / f"{truth.name}.py"
            record = recording or folder / "run.lowtide"
            target = [python, "-u", str(file), "--variant", variant, "--seconds", str(seconds)]
            command = [lowtide, "run", *options, "--format", "json", "-o", str(out), "--record", str(record), "--"]
            command += [*target, "--truth", str(log), *more]
            started = time.monotonic()
            watched = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=environment(),
                cwd=folder,
                start_new_session=True,
            )
            sampler = Sampler(watched.pid, log, pss=truth.kind == "child_process")
            sampler.start()
            said: list[tuple[float, str]] = []
            reader = threading.Thread(
                target=lambda: said.extend((time.monotonic(), line) for line in watched.stderr), daemon=True
            )
            reader.start()
            deadline = threading.Timer(seconds + GRACE_S, lambda: os.killpg(watched.pid, signal.SIGKILL))
            deadline.start()
            output = watched.stdout.read()
            code = watched.wait()
            deadline.cancel()
            sampler.ended.set()
            sampler.join()
            reader.join(timeout=5)
        truth_log = load_log(log)
        while_it_ran = [(at, line) for at, line in said if truth_log.end is None or at < truth_log.end]
        notices = [at - started for at, line in while_it_ran if line.startswith("lowtide: ") and "leak" in line.lower()]
        if code == SKIPPED:
            last = (output.strip().splitlines() or ["it did not say why"])[-1]
            return LiveRun(None, last, truth_log, sampler.ticks)
        try:
            report = json.loads(out.read_text())
        except (OSError, ValueError) as error:
            tail = " | ".join(line.strip() for _, line in said[-3:])
            return LiveRun(None, f"failed with exit code {code}: {error}; {tail}", truth_log, sampler.ticks)
        if code != 0:
            return LiveRun(None, f"failed: the program ended with {code}", truth_log, sampler.ticks)
        return LiveRun(report, "", truth_log, sampler.ticks, notices[0] if notices else None)
