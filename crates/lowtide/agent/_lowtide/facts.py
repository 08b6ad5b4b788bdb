"""Cheap facts from inside the process, taken beside marks. None of them may cost the run more than it notices."""

import ctypes
import gc
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


class Facts:
    """What can be had in this process."""

    def __init__(self):
        self.heap = None
        self.next_s = self.count_cost_s = 0.0
        try:
            libc = ctypes.CDLL(None)
            # The older mallinfo counts in ints that wrap at 2 GiB: worse than nothing.
            self.heap = libc.mallinfo2
            self.heap.restype = MallInfo2
        except (OSError, AttributeError):
            pass

    def due(self, now_s):
        """Whether facts beside a step are within their budget."""
        return now_s >= self.next_s

    def take(self, boundary):
        """(flags, facts). At boundaries also what costs more."""
        start = time.perf_counter()
        used = free = objects = -1
        if self.heap is not None:
            info = self.heap()
            used, free = info.uordblks + info.hblkhd, info.fordblks
        if boundary and self.count_cost_s < COUNT_S:
            began = time.perf_counter()
            objects = len(gc.get_objects())
            self.count_cost_s = time.perf_counter() - began
        flags = 2 | 4 | (1 if gc.isenabled() else 0)
        facts = (gc.get_stats()[2]["collections"] & UNKNOWN, used, free, objects, workers(), compiled())
        end = time.perf_counter()
        self.next_s = end + (end - start) / SHARE
        return flags, facts


def devices():
    """(device, allocated, reserved, peak) of each device that torch has memory on; never starts CUDA."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return []
    return [
        (i, cuda.memory_allocated(i), cuda.memory_reserved(i), cuda.max_memory_allocated(i)) for i in range(cuda.device_count())
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
