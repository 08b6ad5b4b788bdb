"""Marks as a program makes them itself, without torch: threads, forks, floods, and values that make no sense."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import reader

AGENT = Path(__file__).resolve().parents[1]
#: The Python that runs the programs, of any version; another than the one that runs the tests.
PYTHON = os.environ.get("LOWTIDE_TEST_PYTHON") or sys.executable


def run(folder: Path, program: str) -> list[dict]:
    """Runs a program with the in-process part; gives the rings of its processes by the time at which they were made."""
    env = {**os.environ, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": str(folder)}
    program = "import os, sys, threading\nfrom _lowtide import api\n" + program
    done = subprocess.run([PYTHON, "-B", "-c", program], env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return sorted(reader.rings(folder), key=lambda ring: ring["made"])


THREADS = """
sys.setswitchinterval(1e-6)
def all_at_once(mark):
    gate = threading.Barrier(8)
    def first_wait():
        gate.wait(); mark()
    threads = [threading.Thread(target=first_wait) for _ in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
"""


def test_marks_of_threads_are_whole_and_in_one_ring(tmp_path):
    rings = run(
        tmp_path,
        THREADS
        + """
def mark():
    for i in range(300): api.begin("node", "n", i); api.step()
all_at_once(mark)
""",
    )
    assert len(rings) == 1  # the reader refuses a slot that is not whole
    assert (rings[0]["state"], rings[0]["steps"]) == (1, 2400)


@pytest.mark.parametrize("odd", ["-5", "2**70", "1.5", "'x'", "[]", "Rude()", "float('nan')", "'\\udcff' * 99"])
def test_odd_values_end_nothing(tmp_path, odd):
    ring = run(
        tmp_path,
        f"""
class Rude:
    def __str__(self): raise RuntimeError("no")
    __index__ = __hash__ = __str__
for scope in ("round", "node", "epoch", "phase", {odd}):
    api.begin(scope, {odd}, {odd})
    api.end(scope)
api.begin("phase", "last")
""",
    )[0]
    assert (ring["state"], ring["marks"][-1]["text"]) == (1, "last")
    assert all(mark["index"] is None for mark in ring["marks"])


def test_a_fork_in_the_middle_of_a_mark(tmp_path):
    rings = run(
        tmp_path,
        """
from _lowtide.ring import Ring
write, children = Ring.write, []
def forks(self, *mark):
    if not children:
        pid = os.fork()
        if pid == 0:
            Ring.write = write
            api.begin("phase", "child"); api.step()
            os._exit(0)
        children.append(pid)
    write(self, *mark)
api.begin("phase", "before")
Ring.write = forks
api.begin("phase", "after"); api.step()
assert os.waitpid(children[0], 0)[1] == 0
""",
    )
    assert [(ring["role"], ring["steps"], ring["marks"][-1]["text"] or ring["marks"][-1]["kind"]) for ring in rings] == [
        ("main", 1, "step"),
        ("forked", 1, "step"),
    ]
    assert [m["text"] for ring in rings for m in ring["marks"] if m["kind"] == "begin"] == ["before", "after", "child"]


def test_a_signal_handler_that_marks_in_the_middle_of_a_mark(tmp_path):
    ring = run(
        tmp_path,
        """
import signal
def handler(*_):
    api.step()
    signal.setitimer(signal.ITIMER_REAL, 1e-4)
signal.signal(signal.SIGALRM, handler)
handler()
for i in range(3000): api.begin("epoch", "", i)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
api.begin("phase", "last")
""",
    )[0]
    assert (ring["state"], ring["marks"][-1]["text"]) == (1, "last")
    assert ring["steps"] > 0


def test_a_flood_of_marks_keeps_the_counts_and_asks_little(tmp_path):
    ring = run(
        tmp_path,
        """
many = [[] for _ in range(200_000)]  # a count of them takes a millisecond or so
for i in range(20_000):
    api.begin("phase", "short"); api.step(); api.end("phase")
""",
    )[0]
    assert (ring["steps"], ring["state"]) == (20_000, 1)
    assert ring["written"] > 40_000
    # Long before the end the budget for counts is used up.
    assert not any(mark["gc_objects"] > 0 for mark in ring["marks"])


def test_objects_are_counted_once_in_a_while_and_never_where_pages_are_shared(tmp_path):
    program = """
import os, time
def phases():
    for _ in range(3): api.begin("phase", "p"); api.end("phase")
phases()
if os.fork() == 0:
    phases(); os._exit(0)
os.wait()
time.sleep(0.1)
phases()
"""
    parent, child = sorted(run(tmp_path, program), key=lambda ring: ring["role"] == "forked")
    counts = [mark["gc_objects"] for mark in parent["marks"]]
    assert counts[0] > 1000 and len(counts) == 13, counts
    # A count of so few costs next to nothing: only the fork has ended them.
    assert counts[6] > 1000 and all(count == -1 for count in counts[7:]), counts
    assert all(mark["gc_objects"] == -1 for mark in child["marks"])
    many = run(tmp_path, "kept = [bytes(50) for _ in range(1_100_000)]; api.begin('phase', 'p')")[-1]
    assert all(mark["gc_objects"] == -1 for mark in many["marks"]), "too many to write to"


def test_small_blocks_are_counted_beside_marks(tmp_path):
    program = """
kept = [(i,) for i in range({many})]  # tuples and integers, each a block of its own
api.begin("phase", "p")
"""
    counts = []
    for many in (0, 100_000):
        folder = tmp_path / str(many)
        folder.mkdir()
        counts.append(max(mark["blocks"] for mark in run(folder, program.format(many=many))[0]["marks"]))
    assert 190_000 < counts[1] - counts[0] < 210_000, counts


def test_blocks_of_any_size_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONMALLOC", "mimalloc")
    if subprocess.run([PYTHON, "-c", ""], capture_output=True, check=False).returncode != 0:
        pytest.skip("this Python has no mimalloc")
    (ring,) = run(tmp_path, "api.begin('phase', 'p')")
    assert all(mark["blocks"] == -1 for mark in ring["marks"])


def test_the_mean_loss_of_an_epoch_comes_before_its_end(tmp_path):
    (ring,) = run(
        tmp_path,
        """
for epoch in range(2):
    api.begin("epoch", index=epoch)
    api.begin("phase", "train")
    for loss in (1.0, 2.0, float("nan"), "no number", None):
        api.step(loss + epoch if isinstance(loss, float) else loss)
    api.begin("phase", "validation")
api.end("epoch")
""",
    )
    told = [(mark["kind"], mark["loss"]) for mark in ring["marks"] if mark["scope"] == "epoch" or mark["kind"] == "loss"]
    assert told == [("begin", None), ("loss", 1.5), ("begin", None), ("loss", 2.5), ("end", None)]
    assert ring["steps"] == 10


GPU = """
import types
def bytes_(current, peak=0):
    return {"all": {"current": current, "peak": peak or current}}
def stats(device):
    if device == 0:
        return {"allocated_bytes": bytes_(0, 0), "reserved_bytes": bytes_(0, 0)}
    told = {"allocated_bytes": bytes_(100, 150), "reserved_bytes": bytes_(400)}
    if NEW:
        pool = {"all": {"current": 30}, "large_pool": {"current": 30}}
        told.update(active_bytes=bytes_(110), inactive_split_bytes=bytes_(70), requested_bytes=bytes_(90), num_alloc_retries=2,
                    num_ooms=1, reserved_bytes_by_private_pools={(0, 1): pool, (0, 2): pool})
    return told
cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 2, current_device=lambda: 1,
                             memory_stats_as_nested_dict=stats)
if NEW:
    cuda.get_allocator_backend = lambda: "native"
    cuda.get_per_process_memory_fraction = lambda device: 0.25
    cuda.host_memory_stats_as_nested_dict = lambda: {"allocated_bytes": {"current": 5 << 30}}
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
api.begin("phase", "train")
"""


@pytest.mark.parametrize("new", [True, False])
def test_what_torchs_allocator_holds_on_each_device(tmp_path, new):
    told = run(tmp_path, f"NEW = {new}\n" + GPU)[0]["marks"]
    device, more = [[mark for mark in told if mark["kind"] == kind] for kind in ("device", "more")]
    assert {mark["index"] for mark in device} == {1}, "on the other one this process has nothing"
    assert device[0]["numbers"][1:4] == (100, 400, 150)
    unknown = 0xFFFFFFFF
    expected = (250000, 110, 70, 90, 2, 1, 60) if new else (unknown, -1, -1, -1, unknown, unknown, -1)
    assert (more[0]["numbers"], more[0]["text"]) == (expected, str(5 << 30) if new else "-1")
