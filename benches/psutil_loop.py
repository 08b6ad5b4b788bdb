#!/usr/bin/env python3
"""Read a process tree once a second with psutil, as a careful script would: `psutil_loop.py PID SECONDS OFFSET counters|all`.

`counters` reads RSS and its shared part (psutil cannot tell anonymous from the rest, nor file from shmem), threads and
file descriptors of each process, and the machine; `all` adds PSS, USS and swap of each process (`memory_full_info`,
which reads `smaps_rollup`). Prints the CPU milliseconds of each round as JSON.
"""

import json
import sys
import time

import psutil
from processes import sleep_until_second


def read(root: psutil.Process, full: bool) -> int:
    """One round; the number of processes."""
    count = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            with process.oneshot():
                if full:
                    process.memory_full_info()
                else:
                    process.memory_info()
                process.num_threads()
                process.num_fds()
            count += 1
        except psutil.NoSuchProcess:
            pass
    psutil.virtual_memory()
    psutil.swap_memory()
    psutil.disk_usage("/dev/shm")
    return count


def main() -> None:
    pid, seconds, offset, what = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    root = psutil.Process(pid)
    used, count = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sleep_until_second(offset)
        before = time.process_time()
        count = read(root, what == "all")
        used.append((time.process_time() - before) * 1e3)
    print(json.dumps({"cpu_ms": used, "rss": psutil.Process().memory_info().rss, "processes": count}))


if __name__ == "__main__":
    main()
