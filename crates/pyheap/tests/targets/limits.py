"""Containers with and without a most number of elements, each the attribute of a module."""

import collections
import functools
import json
import queue as queues
import sys


class Recent(collections.deque):
    pass


@functools.lru_cache(maxsize=700)
def some(n):
    return bytearray(100)


@functools.lru_cache(maxsize=None)
def every(n):
    return bytearray(100)


window = collections.deque((bytearray(100) for _ in range(30)), maxlen=500)
recent = Recent((bytearray(100) for _ in range(30)), 600)
queue = collections.deque(bytearray(100) for _ in range(30))


def filled(one):
    for _ in range(30):
        one.put(bytearray(100))
    return one


class Prefetcher:
    def __init__(self):
        self.ahead = filled(queues.Queue(maxsize=800))


first_out = filled(queues.LifoQueue(900))
prefetcher = Prefetcher()
endless = filled(queues.Queue())
listed = [bytearray(100) for _ in range(30)]
table = {n: bytearray(100) for n in range(30)}
for n in range(30):
    some(n)
    every(n)

print(json.dumps({"version": sys.version.split()[0]}), flush=True)
sys.stdin.read()
