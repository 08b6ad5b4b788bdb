"""Read a process tree from /proc: what the recorder and the live runs measure with, apart from lowtide."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

ROLLUP = {"Rss": "rss", "Pss": "pss", "Pss_Anon": "pss_anon", "Pss_File": "pss_file", "Pss_Shmem": "pss_shmem",
          "Anonymous": "anon", "Private_Clean": "private_clean", "Private_Dirty": "private_dirty"}  # fmt: skip
STATUS = {"VmRSS": "rss", "RssAnon": "anon", "RssFile": "rss_file", "RssShmem": "rss_shmem"}


class Place(NamedTuple):
    """Where a process is in the tree."""

    ppid: int
    depth: int
    minor_faults: int


def tree(root: int) -> dict[int, Place]:
    """The root and all its descendants, from one pass over /proc."""
    children: dict[int, list[int]] = {}
    faults: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue
        fields = stat[stat.rindex(b")") + 2 :].split()
        if fields[0] in (b"Z", b"X"):
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        faults[int(name)] = int(fields[7])
    found, todo = {}, [(root, 0, 0)]
    while todo:
        pid, ppid, depth = todo.pop()
        if pid in faults:
            found[pid] = Place(ppid, depth, faults[pid])
        todo += [(child, pid, depth + 1) for child in children.get(pid, [])]
    return found


def counters(pid: int) -> dict[str, int]:
    """The cheap counters of one process: rss, anon, rss_file, rss_shmem in bytes, threads, fds."""
    found = {"threads": 0, **dict.fromkeys(STATUS.values(), 0)}
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key in STATUS:
                found[STATUS[key]] = int(value.split()[0]) * 1024
            elif key == "Threads":
                found["threads"] = int(value)
    found["fds"] = len(os.listdir(f"/proc/{pid}/fd"))
    return found


def rollup(pid: int) -> dict[str, int]:
    """The costly counters of one process (smaps_rollup), in bytes."""
    found = dict.fromkeys(ROLLUP.values(), 0)
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key in ROLLUP:
                found[ROLLUP[key]] = int(value.split()[0]) * 1024
    return found


def everything(pid: int) -> dict[str, int]:
    """Cheap and costly counters of one process."""
    return {**counters(pid), **rollup(pid)}


def machine() -> dict[str, int]:
    """The machine, in bytes, by meminfo's names, and `dev_shm` used."""
    found = {}
    with open("/proc/meminfo") as file:
        for line in file:
            key, value = line.split()[:2]
            found[key[:-1]] = int(value) * 1024
    shm = os.statvfs("/dev/shm")
    found["dev_shm"] = (shm.f_blocks - shm.f_bfree) * shm.f_frsize
    return found


def read_all(pids: Iterable[int], read=counters) -> dict[int, dict[str, int]]:
    """`read` for every process that is still there."""
    found = {}
    for pid in pids:
        try:
            found[pid] = read(pid)
        except OSError:
            continue
    return found
