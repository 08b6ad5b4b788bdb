"""A process whose memory has known parts: Python objects, arrays, native memory, holes, threads, a map of its own."""

import ctypes
import json
import mmap
import re
import sys
import threading
import time

MIB = 1 << 20
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def filled(size):
    p = libc.malloc(size)
    ctypes.memset(p, 1, size)
    return p


objects = [float(i) for i in range(1_000_000)]  # 30 MiB of blocks, 8 MiB of list
native = [filled(100_000) for _ in range(200)]  # 19 MiB in the heap
large = filled(64 * MIB)  # a map of its own
torn = [filled(50_000) for _ in range(1000)]  # 48 MiB, of which every second is freed
for p in torn[::2]:
    libc.free(p)
own = mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own.write(b"x" * (32 * MIB))
wait = threading.Event()


def deep(n):
    return deep(n - 1) if n else wait.wait()


def asleep(thread):
    return open(f"/proc/self/task/{thread.native_id}/stat").read().rsplit(") ", 1)[1][0] == "S"


threads = [threading.Thread(target=deep, args=(50,), daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
# A thread that is not in a call of the kernel does not tell where its stack is.
while not all(map(asleep, threads)):
    time.sleep(0.05)

status = open("/proc/self/status").read()
anon = int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) * 1024
print(json.dumps({"rss_anon": anon, "large": large, "own": 32 * MIB}), flush=True)
sys.stdin.read()
