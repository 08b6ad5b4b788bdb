"""A live run, with a stand-in for lowtide and programs that need no torch."""

import json
import os
import subprocess
import sys

import live
import pytest
import watch
from truth import Truth

# Runs what stands after `--`, says a line as lowtide does, writes a report, passes the exit code on.
STAND_IN = """#!{python}
import json, subprocess, sys
args = sys.argv[1:]
code = subprocess.call(args[args.index("--") + 1:])
print("lowtide: LEAK for sure", file=sys.stderr)
open(args[args.index("-o") + 1], "w").write(json.dumps({{"verdict": "leak", "findings": []}}))
sys.exit(code)
"""
PROGRAM = """
import json, os, sys
if "--socket" in sys.argv:
    assert os.path.exists(sys.argv[sys.argv.index("--socket") + 1])
if "--serve" in sys.argv:
    import socket
    s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[sys.argv.index("--serve") + 1]); s.listen()
    print("listening", flush=True)
    s.accept()
print("said by the program")
with open(sys.argv[sys.argv.index("--truth") + 1], "a") as log:
    log.write(json.dumps({"t": 1.0, "ev": "epoch", "pid": os.getpid()}) + "\\n")
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Gives a function that runs a program's source live."""
    fake = tmp_path / "lowtide"
    fake.write_text(STAND_IN.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setattr(live, "ZOO", tmp_path)

    def go(source, **truth):
        (tmp_path / "99_x.py").write_text(source)
        return live.run(str(fake), sys.executable, Truth("99_x", True, "leak", "host_heap", "main", **truth), "leak", 1.0)

    return go


def test_report_log_and_notice_are_read(stand_in):
    outcome = stand_in(PROGRAM)
    assert outcome.report == {"verdict": "leak", "findings": []}
    assert outcome.why == ""
    assert len(outcome.log.epochs) == 1
    assert outcome.notice_s is not None


def test_a_program_that_skips_says_why(stand_in):
    outcome = stand_in("print('hm'); print('skip: too old'); raise SystemExit(77)")
    assert (outcome.report, outcome.why) == (None, "skip: too old")


def test_a_program_that_fails_is_a_failure(stand_in):
    outcome = stand_in("raise SystemExit(3)")
    assert outcome.report is None and outcome.why.startswith("failed")


def test_the_server_runs_before_the_client_and_is_ended(stand_in):
    outcome = stand_in(PROGRAM, server=True)
    assert outcome.why == ""


def test_a_tree_is_read_with_depths():
    child = subprocess.Popen([sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.read()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert child.stdout.readline() == b"ready\n"
        found = watch.tree(os.getpid())
        assert (found[os.getpid()].depth, found[child.pid].depth) == (0, 1)
        counters = watch.read_all([child.pid, 2**22 + 1])
        assert list(counters) == [child.pid]
        assert counters[child.pid]["anon"] > 0 and counters[child.pid]["fds"] >= 3
        assert watch.rollup(child.pid)["pss"] > 0
    finally:
        child.communicate()


def test_the_sampler_also_sees_processes_that_are_elsewhere(tmp_path):
    log = tmp_path / "log"
    log.write_text(json.dumps({"t": 1.0, "ev": "epoch", "pid": os.getpid()}) + "\n")
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        tick = live.Sampler(child.pid, log).tick()
        assert list(tick.processes()) == [os.getpid()]  # the child stands for lowtide and is not counted
    finally:
        child.communicate()


def test_a_recording_stays_where_it_is_wanted(tmp_path, monkeypatch):
    fake, seen = tmp_path / "lowtide", tmp_path / "kept" / "x.lowtide"
    fake.write_text(STAND_IN.format(python=sys.executable))
    fake.write_text(fake.read_text().replace("sys.exit(code)", 'open(args[args.index("--record") + 1], "w"); sys.exit(code)'))
    fake.chmod(0o755)
    monkeypatch.setattr(live, "ZOO", tmp_path)
    (tmp_path / "99_x.py").write_text(PROGRAM)
    live.run(str(fake), sys.executable, Truth("99_x", True, "leak", "host_heap", "main"), "leak", 1.0, recording=seen)
    assert seen.exists()
