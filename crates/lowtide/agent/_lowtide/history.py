"""Who asked for the GPU memory that is allocated: what PyTorch's allocator notes where `lowtide run --gpu-history` wants it, and
snapshots of it that the recorder reads.

The allocator notes the Python stack of each block that lives, and keeps no list of what was before. A program that records
history itself has it as it likes: then there is no snapshot of ours, since nobody knows how large it would be.

A snapshot goes where the marks are, which this process reaches whatever it sees of the recorder's disks: as a rule that is memory,
which the recorder frees at once by moving the file. It says how large it may be, by what the limits on memory leave.
"""

import os
import sys
import time
from functools import wraps

#: Each block becomes a dictionary in this process before it is written: of more there is no snapshot, and no file is larger.
BLOCKS, BYTES = 100_000, 64 << 20
#: Nor does it take more than this share of what is free where it goes.
SHARE = 0.25
#: Where there is room for less than this, one of a few blocks would not fit either.
LEAST = 1 << 20
#: Where nobody fetches a snapshot for so long, seconds, there is no recorder any more, and its memory is given back.
FETCHED_S = 60.0

#: Two are compared. What notes stacks for longer slows the program down for nothing.
TAKES = 2

why = "CUDA was not in use yet"  # there is no history; empty where there is
taken = 0
written = []  # snapshots that the recorder may not have fetched yet: (path, when)
replaced = []  # functions of torch: (module, name, the original, ours)


def begin():
    """Has history recorded, once CUDA is in use; whether that is still to be done. Never starts CUDA."""
    global why
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return True
    try:
        # Torch before 2.1 does not tell, and there threads that free memory can wait for each other for ever while it records.
        enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        if enabled is None:
            why = OLD
        elif enabled():
            why = OWN
        else:
            cuda.memory._record_memory_history("state", context="state", stacks="python", max_entries=1)
            why = ""
            notes(cuda.memory)
    except Exception as error:
        why = said(error)
    return False


OWN = "the program records history itself"
OLD = "torch before 2.1 cannot record history safely"
#: The functions behind the public one, which are called whoever holds that.
BEHIND = ("_record_memory_history_impl", "_record_memory_history_legacy")


def notes(memory):
    """Takes note of it when the program begins a recording of its own: from then on it is the program's."""

    def noted(record):
        @wraps(record)
        def recorded(*args, **kwargs):
            global why
            why = OWN
            return record(*args, **kwargs)

        return recorded

    for name in [name for name in BEHIND if hasattr(memory, name)] or ["_record_memory_history"]:
        record = getattr(memory, name)
        ours = noted(record)
        setattr(memory, name, ours)
        replaced.append((memory, name, record, ours))


def end():
    """Nothing of ours stays: torch has its functions back, and no history is recorded any more, unless it is the program's."""
    global why
    while replaced:
        module, name, record, ours = replaced.pop()
        if getattr(module, name, None) is ours:
            setattr(module, name, record)
    if not why:
        why = "all snapshots were taken"
        sys.modules["torch"].cuda.memory._record_memory_history(None)


class Bounded:
    """A file that refuses to become larger than it may."""

    def __init__(self, file, most):
        self.file, self.most, self.size = file, most, 0

    def write(self, data):
        data = memoryview(data).cast("B")
        if self.size + len(data) > self.most:
            raise OSError("larger than %d MiB" % (self.most >> 20))
        self.size += len(data)
        while data:
            data = data[os.write(self.file, data) :]


def take(path, most):
    """Writes a snapshot of so many bytes at most to a new file: (its bytes, -1 where there is none; why not)."""
    global taken
    if why:
        return -1, why
    try:
        cuda = sys.modules["torch"].cuda
        backend = getattr(cuda, "get_allocator_backend", None)
        if backend is not None and backend() != "native":
            return -1, "not torch's own allocator"
        if blocks(cuda) > BLOCKS:
            return -1, "more than %d blocks" % BLOCKS
        folder = os.path.dirname(path)
        free = os.statvfs(folder)
        room = int(SHARE * free.f_bavail * free.f_frsize)
        if min(most, room) < LEAST:
            return -1, "no memory to spare" if most < LEAST else "%s is full" % folder
        size = write(path, cuda.memory._snapshot, min(BYTES, most, room))
        written.append((path, time.monotonic()))
        taken += 1
        if taken == TAKES:
            end()
        return size, ""
    except Exception as error:
        return -1, said(error)


def blocks(cuda):
    """Blocks of all devices, in use and free in between."""

    def count(stats):
        return sum(stats.get(name, {}).get("all", {}).get("current", 0) for name in ("active", "inactive_split"))

    return sum(count(cuda.memory_stats_as_nested_dict(device)) for device in range(cuda.device_count()))


def write(path, snapshot, most):
    """What `snapshot` gives, as a whole or not at all; its bytes. The file is open for no longer than that takes."""
    import pickle

    snapshot = snapshot()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            bounded = Bounded(file, most)
            pickle.dump(snapshot, bounded, protocol=4)
        finally:
            os.close(file)  # where a file system tells late that it is full
    except BaseException:
        os.unlink(path)
        raise
    return bounded.size


def collect():
    """Takes away what nobody has fetched."""
    for one in list(written):
        path, since = one
        if not os.path.exists(path):
            written.remove(one)
        elif time.monotonic() - since > FETCHED_S:
            written.remove(one)
            os.unlink(path)


def said(error):
    return "%s: %s" % (type(error).__name__, error)
