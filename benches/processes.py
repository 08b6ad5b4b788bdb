"""Real processes to be watched, and what the kernel says of any process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Forks its children as a DataLoader does, each with memory of its own, and ends with its standard input.
FAMILY = """
import ctypes, os, signal, sys
count, mib = int(sys.argv[1]), int(sys.argv[2])
own = b"x" * (mib << 20)
read, write = os.pipe()
for _ in range(count - 1):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        own = b"y" * (mib << 20)
        os.write(write, b".")
        signal.pause()
        os._exit(0)
for _ in range(count - 1):
    os.read(read, 1)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""


@contextlib.contextmanager
def family(count: int, mib: int) -> Iterator[int]:
    """So many processes with so many MiB each; gives the pid of the first."""
    parent = subprocess.Popen(
        [sys.executable, "-c", FAMILY, str(count), str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        if "ready" not in parent.stdout.readline():
            raise RuntimeError(f"{count} processes of {mib} MiB could not be started: is there the memory for them?")
        yield parent.pid
    finally:
        parent.stdin.close()
        parent.wait()


def cpu_seconds(pid: int) -> float:
    """Processor seconds of all threads of a process, to the nanosecond; /proc/PID/stat counts in hundredths."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def status_bytes(pid: int, field: str) -> int:
    """A size of /proc/PID/status, such as VmRSS or VmHWM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) << 10
    return 0


@contextlib.contextmanager
def attached(lowtide: Path, pid: int) -> Iterator[int]:
    """`lowtide attach PID`, recording nothing; gives its pid."""
    watcher = subprocess.Popen(
        [str(lowtide), "attach", str(pid), "--no-record"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield watcher.pid
        if watcher.poll() is not None:
            raise RuntimeError(f"lowtide attach ended too early: {watcher.stderr.read().strip()[-300:]}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            watcher.send_signal(signal.SIGINT)
        watcher.communicate()


def sleep_until_second(offset: float) -> None:
    """Sleep until the clock's next second and this fraction, so that several loops take turns."""
    wait = (offset - time.time()) % 1.0
    time.sleep(wait + 1.0 if wait < 0.05 else wait)
