"""A heap with a history, and what malloc itself says of it.

Allocates through the C library: sizes of all classes, from several threads (several arenas), frees part of it in an
order that leaves holes, fills thread caches and fast bins, and prints malloc's own numbers as JSON. Then waits.
"""

import ctypes
import json
import os
import random
import sys
import tempfile
import threading

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]


class Info(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


libc.mallinfo2.restype = Info
keep = []
done = threading.Event()
ready = threading.Barrier(5)


def work(seed, count):
    r = random.Random(seed)
    mine = [libc.malloc(r.choice([24, 40, 100, 200, 1000, 5000, 40000])) for _ in range(count)]
    for i in r.sample(range(count), count // 2):
        libc.free(mine[i])
        mine[i] = None
    keep.append(mine)


def thread(seed):
    work(seed, 3000)
    ready.wait()
    done.wait()


for i in range(4):
    threading.Thread(target=thread, args=(i,), daemon=True).start()
work(99, 20000)
ready.wait()
large = [libc.malloc(n) for n in (200_000, 1_000_000, 50_000_000)]
path = os.path.join(tempfile.mkdtemp(), "info.xml")
f = libc.fopen(path.encode(), b"w")
libc.malloc_info(0, f)
libc.fclose(f)
xml = open(path).read()
info = libc.mallinfo2()
print(json.dumps({"info": {n: getattr(info, n) for n, _ in Info._fields_}, "xml": xml}), flush=True)
sys.stdin.read()
