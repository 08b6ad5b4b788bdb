"""What the recorder may ask this process for; it is done at the next mark, and once."""

import mmap
import os
import time

from . import history
from .facts import structure

SNAPSHOT, TRIM, HISTORY = 1, 2, 3
#: What malloc_trim takes, seconds per free block and per free byte (measured with glibc 2.36), and the most that is worth it.
BLOCK_S, BYTE_S, MOST_S = 2.5e-6, 0.13e-9, 0.25

snapshot = None  # the module, once it was needed


def answer(kind, path=b""):
    """Does it: (what came of it, -1 where it cannot be done; nanoseconds that it took; bytes free in the C heap before it; why it
    cannot be done, where that is known)."""
    start = time.monotonic_ns()
    value, free, why = -1, -1, ""
    if kind == TRIM:
        value, free = trim()
    elif kind == SNAPSHOT:
        value = copy()
    elif kind == HISTORY:
        value, why = history.take(path)
    return value, time.monotonic_ns() - start, free, why


def copy():
    """Makes a copy of this process that the recorder reads: its pid."""
    global snapshot
    try:
        from . import snapshot

        return snapshot.take(os.environ["LOWTIDE_MARKS"])
    except (OSError, AttributeError, KeyError, ValueError):
        return -1


def collect():
    """What earlier answers left to do."""
    if snapshot is not None:
        snapshot.collect()


def trim():
    """Has the C library give free memory back to the kernel. (The anonymous bytes that went, those that were free.)"""
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = structure("c_size_t")
        info = libc.mallinfo2()
        if info.ordblks * BLOCK_S + info.fordblks * BYTE_S > MOST_S:
            return -1, info.fordblks
        before = anonymous()
        libc.malloc_trim(ctypes.c_size_t(0))
        return max(before - anonymous(), 0), info.fordblks
    except (ImportError, OSError, AttributeError, ValueError, IndexError):
        return -1, -1


def anonymous():
    """Resident bytes that are no file's: statm of proc(5), resident less shared."""
    with open("/proc/self/statm", "rb") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * mmap.PAGESIZE
