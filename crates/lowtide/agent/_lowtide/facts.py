"""Cheap facts from inside the process, taken beside marks. None of them may cost the run more than it notices."""

import gc
import mmap
import os
import sys
import time
from collections import deque

from .budget import Budget
from .ring import UNKNOWN

NOTHING = (0, -1, -1, -1, UNKNOWN, UNKNOWN, -1)
#: What is taken where nothing is: flags, facts, devices.
NONE = (0, NOTHING, ())
#: Facts beside steps may take this share of the time, and counts of blocks the same once more.
SHARE = 0.001
#: Counts of all objects may take this share of the time, and so much at the beginning. Seconds.
COUNTS, COUNT_S = 0.001, 0.02
#: A count refers to every object, and so writes to all their pages: it is not taken of more blocks of memory than these.
BLOCKS = 1_000_000
#: How many of the last facts tell the most that was free lately.
LATELY = 16
FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()


def structure(kind):
    """What mallinfo(3) gives, in fields of this kind."""
    import ctypes

    return type("MallInfo", (ctypes.Structure,), {"_fields_": [(name, getattr(ctypes, kind)) for name in FIELDS]})


def heap(libc=None):
    """A function that gives (used, free) of the C heap in bytes; -1 what cannot be known."""
    try:
        import ctypes

        # PyDLL keeps the GIL: letting it go may cost a turn of every other thread, and this takes microseconds.
        libc = libc or ctypes.PyDLL(None)
        new, old = getattr(libc, "mallinfo2", None), getattr(libc, "mallinfo", None)
    except (ImportError, OSError):  # a Python without ctypes, or that is linked statically
        return lambda: (-1, -1)
    if new is not None:
        new.restype = structure("c_size_t")
        return lambda: sizes(new())
    if old is not None:
        # Before glibc 2.33: the same in ints, which wrap at 4 GiB when read without a sign. Where all private memory is
        # less than that, nothing can have wrapped; else the heap is unknown.
        old.restype = structure("c_uint")
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

    def __init__(self, forked=False):
        now = time.monotonic()
        self.heap, self.free = heap(), deque(maxlen=LATELY)
        self.next_s = self.next_blocks_s = 0.0
        self.small, self.known = small_blocks(), -1
        self.boundaries, self.counts = Budget(now), Budget(now, COUNTS, COUNT_S, 1)
        self.forked = forked  # pages may be shared with a parent or a child

    def due(self, now_s):
        """Whether facts beside a step are within their budget."""
        return now_s >= self.next_s

    def take(self, boundary):
        """(flags, facts, devices). At boundaries also what costs more, within their own budget."""
        now = time.monotonic()
        if boundary and not self.boundaries.allows(now):
            return NONE
        # Of this thread: what others do meanwhile on the same processor is no cost of ours, and would silence us for long.
        start = time.thread_time()
        used, free = self.heap()
        self.free.append(free)
        flags = 2 | 4 | (1 if gc.isenabled() else 0)
        full, cuda = gc.get_stats()[2]["collections"] & UNKNOWN, devices()
        cost = time.thread_time() - start
        self.next_s = now + cost / SHARE
        if boundary:
            self.boundaries.spent(cost)
        blocks = self.blocks(now)
        facts = (full, used, free, self.objects(now) if boundary else -1, workers(), compiled(), blocks)
        return flags, facts, cuda

    def most_free(self):
        """The most bytes that were free inside the C heap when facts were last taken."""
        return max(self.free, default=0)

    def blocks(self, now):
        """Python's small blocks in use; -1 where they are not known. Counting them reads a word for each page of them, and
        writes nothing."""
        if self.small is None or now < self.next_blocks_s:
            return -1
        start = time.thread_time()
        self.known = self.small()
        self.next_blocks_s = now + (time.thread_time() - start) / SHARE
        return self.known

    def objects(self, now):
        """How many objects the collector tracks; -1 where it costs too much, or would copy pages that are shared."""
        if self.forked or not self.counts.allows(now):
            return -1
        if (sys.getallocatedblocks() if self.small is None else self.known) > BLOCKS:
            return -1
        start = time.thread_time()
        count = len(gc.get_objects())
        self.counts.spent(time.thread_time() - start)
        return count


def small_blocks():
    """A function that counts the blocks of Python's own allocator: of at most 512 bytes each, what is larger comes from the C heap.
    None where there is none, or where its blocks may have any size (mimalloc)."""
    mimalloc = "t" in getattr(sys, "abiflags", "") or os.environ.get("PYTHONMALLOC", "").startswith("mimalloc")
    return None if mimalloc else getattr(sys, "getallocatedblocks", None)


def devices():
    """(device, allocated, reserved, peak, more) of each device that this process has memory on; never starts CUDA."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return ()
    found = []
    # Another allocator than torch's own may start CUDA on a device in order to answer.
    backend = getattr(cuda, "get_allocator_backend", None)
    native = backend is None or backend() == "native"
    for i in range(cuda.device_count()) if native else (cuda.current_device(),):
        # One call for all: each of the functions `memory_...` makes this one.
        stats = cuda.memory_stats_as_nested_dict(i)
        allocated, reserved = (stats.get(name, {}).get("all", {}) for name in ("allocated_bytes", "reserved_bytes"))
        if reserved.get("peak"):  # others' devices on this machine are not this process's
            peak = allocated.get("peak", 0)
            found.append((i, allocated.get("current", 0), reserved.get("current", 0), peak, more(cuda, i, stats)))
    return found


def more(cuda, device, stats):
    """(share of the card that may be used in millionths, active, inactive in split segments, requested, retries, out of memory,
    in private pools, pinned host memory) of a device; what this torch does not tell is unknown."""

    def current(name):
        return stats.get(name, {}).get("all", {}).get("current", -1)

    def count(name):
        return min(stats.get(name, UNKNOWN), UNKNOWN)

    share = UNKNOWN
    try:
        share = int(cuda.get_per_process_memory_fraction(device) * 1e6)
    except Exception:  # an older torch, or an allocator that knows no shares
        pass
    sizes = current("active_bytes"), current("inactive_split_bytes"), current("requested_bytes")
    return (share, *sizes, count("num_alloc_retries"), count("num_ooms"), pools(stats), pinned(cuda))


def pools(stats):
    """Bytes reserved by pools of CUDA graphs and other pools of a program's own; -1 where torch does not tell."""
    found = stats.get("reserved_bytes_by_private_pools")
    if found is None:
        return -1

    def total(entry):
        if not isinstance(entry, dict):
            return int(entry)
        if "current" in entry:
            return int(entry["current"])
        return total(entry["all"]) if "all" in entry else sum(map(total, entry.values()))

    return total(found)


def pinned(cuda):
    """Bytes of host memory that torch's own allocator has pinned; -1 where torch does not tell."""
    try:
        held = cuda.host_memory_stats_as_nested_dict().get("allocated_bytes", {})
        return held.get("current", held.get("all", {}).get("current", -1))
    except Exception:  # an older torch
        return -1


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
        return UNKNOWN if counters is None else int(counters.get("stats", {}).get("unique_graphs", 0))
    except Exception:
        return UNKNOWN
