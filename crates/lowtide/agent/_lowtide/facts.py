"""Cheap facts from inside the process, taken beside marks. None of them may cost the run more than it notices."""

import ctypes
import gc
import mmap
import sys
import time

from .ring import UNKNOWN

NOTHING = (0, -1, -1, -1, UNKNOWN, UNKNOWN)
#: Facts beside steps may take this share of the time, and a count of objects this long. Seconds.
SHARE = 0.002
COUNT_S = 0.005


class MallInfo2(ctypes.Structure):
    """mallinfo2(3), glibc 2.33 and newer."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


class MallInfo(ctypes.Structure):
    """mallinfo(3), all others: the same in ints, which wrap."""

    _fields_ = [(name, ctypes.c_uint) for name, _ in MallInfo2._fields_]


def heap(libc=None):
    """A function that gives (used, free) of the C heap in bytes; -1 what cannot be known."""
    try:
        libc = libc or ctypes.CDLL(None)
    except OSError:
        return lambda: (-1, -1)
    new, old = getattr(libc, "mallinfo2", None), getattr(libc, "mallinfo", None)
    if new is not None:
        new.restype = MallInfo2
        return lambda: sizes(new())
    if old is not None:
        old.restype = MallInfo
        # Where all private memory is less than what the ints hold, nothing can have wrapped.
        return lambda: sizes(old()) if data_size() <= UNKNOWN else (-1, -1)
    return lambda: (-1, -1)


def sizes(info):
    return info.uordblks + info.hblkhd, info.fordblks


def data_size():
    """Bytes of private writable memory: `data` of /proc/self/statm, proc(5)."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return UNKNOWN + 1


class Facts:
    """What can be had in this process."""

    def __init__(self):
        self.next_s = self.count_cost_s = 0.0
        self.heap = heap()

    def due(self, now_s):
        """Whether facts beside a step are within their budget."""
        return now_s >= self.next_s

    def take(self, boundary):
        """(flags, facts, devices). At boundaries also what costs more."""
        # Of this thread: what others do meanwhile on the same processor is no cost of ours, and would silence us for long.
        start = time.thread_time()
        objects = -1
        used, free = self.heap()
        if boundary and self.count_cost_s < COUNT_S:
            began = time.thread_time()
            objects = len(gc.get_objects())
            self.count_cost_s = time.thread_time() - began
        flags = 2 | 4 | (1 if gc.isenabled() else 0)
        facts = (gc.get_stats()[2]["collections"] & UNKNOWN, used, free, objects, workers(), compiled())
        cuda = devices()
        self.next_s = time.monotonic() + (time.thread_time() - start) / SHARE
        return flags, facts, cuda


def devices():
    """(device, allocated, reserved, peak) of each device that torch has memory on; never starts CUDA."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return []
    return [
        (i, cuda.memory_allocated(i), reserved, cuda.max_memory_allocated(i))
        for i, reserved in ((i, cuda.memory_reserved(i)) for i in range(cuda.device_count()))
        if reserved or cuda.max_memory_reserved(i)  # the others' devices on this machine are not this process's
    ]


def workers():
    """Children that multiprocessing started and that are not known to have ended."""
    process = sys.modules.get("multiprocessing.process")
    children = getattr(process, "_children", None)
    return UNKNOWN if children is None else len(children)


def compiled():
    """Frames that torch.compile has compiled so far."""
    utils = sys.modules.get("torch._dynamo.utils")
    counters = getattr(utils, "counters", None)
    try:
        return UNKNOWN if counters is None else int(counters["stats"].get("unique_graphs", 0))
    except Exception:
        return UNKNOWN
