"""Who asked for the GPU memory that is allocated: what PyTorch's allocator notes where `lowtide run --gpu-history` wants it, and
snapshots of it that the recorder reads.

The allocator notes the Python stack of each block that lives, and keeps no list of what was before. A program that records
history itself has it as it likes: then there is no snapshot of ours, since nobody knows how large it would be.
"""

import io
import os
import sys

#: Each block becomes a dictionary in this process before it is written: of more there is no snapshot, and no file is larger.
BLOCKS, BYTES = 100_000, 64 << 20
#: Nor does it take more than this share of what is free where it goes.
SHARE = 0.25

why = "CUDA was not in use yet"  # there is no history; empty where there is


def begin():
    """Has history recorded, once CUDA is in use; whether that is still to be done. Never starts CUDA."""
    global why
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return True
    try:
        if programs_own(torch):
            why = OWN
            return False
        memory = cuda.memory
        record = memory._record_memory_history
        try:
            record("state", context="state", stacks="python", max_entries=1)
        except TypeError:  # torch before 2.1 knows none of these
            record(True)
        memory._record_memory_history = noted(record)
        why = ""
    except Exception as error:
        why = said(error)
    return False


OWN = "the program records history itself"


def programs_own(torch):
    """Whether the program records history itself; where torch does not tell, it is taken not to."""
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    try:
        return bool(enabled and enabled())
    except Exception:
        return False


def noted(record):
    """The function with which a program begins a recording of its own: from then on it is the program's."""

    def _record_memory_history(*args, **kwargs):
        global why
        why = OWN
        return record(*args, **kwargs)

    return _record_memory_history


class Bounded(io.BytesIO):
    """A file in memory that refuses to become larger than it may."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def write(self, data):
        if self.tell() + len(data) > self.most:
            raise OSError("larger than %d MiB" % (self.most >> 20))
        return super().write(data)


def take(path):
    """Writes a snapshot to a new file: (its bytes, -1 where there is none; why not)."""
    if why:
        return -1, why
    try:
        cuda = sys.modules["torch"].cuda
        backend = getattr(cuda, "get_allocator_backend", None)
        if backend is not None and backend() != "native":
            return -1, "not torch's own allocator"
        if blocks(cuda) > BLOCKS:
            return -1, "more than %d blocks" % BLOCKS
        import pickle

        free = os.statvfs(os.path.dirname(path))
        data = Bounded(min(BYTES, int(SHARE * free.f_bavail * free.f_frsize)))
        pickle.dump(cuda.memory._snapshot(), data, protocol=4)
        return write(path, data.getbuffer()), ""
    except Exception as error:
        return -1, said(error)


def blocks(cuda):
    """Blocks of all devices, in use and free in between."""

    def count(stats):
        return sum(stats.get(name, {}).get("all", {}).get("current", 0) for name in ("active", "inactive_split"))

    return sum(count(cuda.memory_stats_as_nested_dict(device)) for device in range(cuda.device_count()))


def write(path, data):
    """As a whole or not at all. The file is open for no longer than that takes."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    written = 0
    try:
        while written < len(data):
            written += os.write(file, data[written:])
    finally:
        os.close(file)
        if written < len(data):
            os.unlink(path)
    return written


def said(error):
    return "%s: %s" % (type(error).__name__, error)
