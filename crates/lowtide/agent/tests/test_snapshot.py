"""The copy of a process that the recorder reads: it holds still, harms nothing, and ends by itself."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

AGENT = Path(__file__).resolve().parents[1]

PROGRAM = """
import ctypes, json, mmap, os, subprocess, sys, threading
sys.path.append(sys.argv[1])
from _lowtide import requests
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
value = ctypes.c_uint64.from_buffer(page)
made = []
def work():
    while True:
        made.append([object() for _ in range(100)])
        if len(made) > 1000:
            made.clear()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
print("ready", ctypes.addressof(value), flush=True)
for line in sys.stdin:
    word, _, number = line.strip().partition(" ")
    if word == "set":
        value.value = int(number); said = 0
    elif word == "snapshot":
        said = requests.answer(1)[0]
    elif word == "collect":
        requests.collect(); said = len(requests.snapshot.copies)
    elif word == "wait":
        try: said = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError: said = "none"
    elif word == "fds":
        said = len(os.listdir("/proc/self/fd"))
    elif word == "run":
        said = subprocess.run(["true"]).returncode
    elif word == "pipe":
        # A pipe whose end must be seen at once when it is closed here.
        r, w = os.pipe(); requests.answer(1); os.close(w); said = len(os.read(r, 1)); os.close(r)
    print("said", said, flush=True)
"""


class Target:
    def __init__(self, folder: Path):
        env = {**os.environ, "LOWTIDE_MARKS": str(folder)}
        command = [sys.executable, "-B", "-c", PROGRAM, str(AGENT)]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.value = int(self.process.stdout.readline().split()[1])
        self.folder = folder

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()[1]
        return int(answer) if answer.lstrip("-").isdecimal() else answer

    def listen(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = self.folder / f"{self.process.pid}.snapshot"
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        listener.listen(1)
        return listener

    def copy(self):
        with self.listen() as listener:
            pid = self.ask("snapshot")
            assert pid > 0
            return pid, listener.accept()[0]

    def read(self, pid):
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self.value)
            return int.from_bytes(memory.read(8), "little")


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def until(so):
    while not so():
        time.sleep(0.001)


def test_a_copy_keeps_what_was_and_the_program_goes_on(tmp_path):
    with Target(tmp_path) as target:
        for number in range(40):
            target.ask(f"set {number}")
            pid, stream = target.copy()
            target.ask("set 1000000")
            assert target.read(pid) == number
            assert target.read(target.process.pid) == 1000000
            assert len(os.listdir(f"/proc/{pid}/task")) == 1
            # Neither a child that it waits for, nor in the way of one.
            assert target.ask("wait") == "none" and target.ask("run") == 0
            stream.close()
            until(lambda pid=pid: state(pid) in ("Z", None))
            until(lambda: target.ask("collect") == 0)
            assert state(pid) is None
        fds = target.ask("fds")
        pid, stream = target.copy()
        stream.close()
        until(lambda: target.ask("collect") == 0)
        assert target.ask("fds") == fds


def test_it_ends_with_the_recorder_and_takes_no_signal(tmp_path):
    with Target(tmp_path) as target:
        pid, stream = target.copy()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            os.kill(pid, number)
        assert target.read(pid) == 0
        until(lambda: state(pid) == "S")
        assert target.ask("snapshot") == -1, "one at a time"
        stream.close()
        until(lambda: state(pid) == "Z")
        assert target.ask("collect") == 0


def test_one_that_is_killed_is_collected(tmp_path):
    with Target(tmp_path) as target:
        pid, stream = target.copy()
        os.kill(pid, signal.SIGKILL)
        until(lambda: target.ask("collect") == 0)
        stream.close()
        assert state(pid) is None


def test_without_a_recorder_there_is_none(tmp_path):
    with Target(tmp_path) as target:
        fds = target.ask("fds")
        assert target.ask("snapshot") == -1
        target.listen().close()
        assert target.ask("snapshot") == -1
        assert target.ask("fds") == fds


def test_what_the_program_closes_is_closed(tmp_path):
    with Target(tmp_path) as target, target.listen() as listener:
        assert target.ask("pipe") == 0
        listener.accept()[0].close()


def test_a_copy_outlives_its_maker_only_until_the_recorder_closes(tmp_path):
    with Target(tmp_path) as target:
        pid, stream = target.copy()
        target.process.kill()
        target.process.wait()
        assert state(pid) not in ("Z", None)
        stream.close()
        until(lambda: state(pid) in ("Z", None))


def test_the_time_is_up(tmp_path, monkeypatch):
    sys.path.append(str(AGENT))
    from _lowtide import snapshot

    path = tmp_path / "a.snapshot"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(1)
        monkeypatch.setattr(snapshot, "SECONDS", 1)
        monkeypatch.setattr(snapshot, "has_device", lambda: False)
        path.rename(tmp_path / f"{os.getpid()}.snapshot")
        pid = snapshot.take(str(tmp_path))
        assert pid > 0
        until(lambda: state(pid) == "Z")
        snapshot.collect()
        assert state(pid) is None and not snapshot.copies
