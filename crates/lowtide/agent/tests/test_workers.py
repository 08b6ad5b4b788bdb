"""A DataLoader's worker says nothing of itself, and makes a copy of itself between two batches when it is asked to."""

import pytest

pytest.importorskip("torch")

from programs import run

ASKS = """
import glob, socket, struct
from _lowtide import hooks
hooks.SETTLED_NS = hooks.ASK_NS = 0
folder = os.environ["LOWTIDE_MARKS"]

def listener(pid):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(folder + "/%d.snapshot" % pid)
    made.listen(1)
    return made

def ask(batches, pid):
    # As the recorder does: the number last.
    ring, = glob.glob(folder + "/%d-*.marks" % pid)
    with open(ring, "r+b", buffering=0) as file:
        file.seek(264); file.write(struct.pack("<I", 1))
        file.seek(256); file.write(struct.pack("<Q", 1))
        answered = 0
        while not answered:
            next(batches)
            file.seek(272); answered, copy = struct.unpack("<Qq", file.read(16))
    return copy
"""


def test_each_worker_can_be_copied_and_goes_on(tmp_path):
    rings = run(
        tmp_path,
        ASKS
        + """
batches = iter(DataLoader(TensorDataset(torch.zeros(100_000, 8)), batch_size=2, num_workers=2))
for _ in range(20): next(batches)
for worker in batches._workers:
    with listener(worker.pid) as listening:
        copy = ask(batches, worker.pid)
        stream = listening.accept()[0]
        stat = open("/proc/%d/stat" % copy).read().rpartition(")")[2].split()
        assert int(stat[1]) == worker.pid and stat[0] == "S", stat
        stream.close()
    while os.path.exists("/proc/%d" % copy):
        next(batches)
assert all(worker.is_alive() for worker in batches._workers)
""",
    )
    assert [(mark["kind"], mark["steps"]) for ring in rings for mark in ring["marks"]] == [("answered", 0)] * 2


def test_who_loads_by_itself_or_lives_for_a_moment_has_no_ring_for_it(tmp_path):
    rings = run(
        tmp_path,
        """
from _lowtide import hooks
hooks.ASK_NS = 0
for _ in range(3):
    assert len(list(DataLoader(data, batch_size=4, num_workers=2))) == 10
hooks.SETTLED_NS = 0
assert len(list(DataLoader(data, batch_size=4))) == 10
""",
    )
    assert not rings
