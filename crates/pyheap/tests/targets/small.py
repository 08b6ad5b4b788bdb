"""A small heap: some of each kind of container, then nothing."""

import collections
import functools
import json
import sys

KEEP = [[n, str(n), {n: [n]}, {n}, (n,), collections.deque(range(n)), lambda n=n: n] for n in range(100)]


@functools.lru_cache(maxsize=None)
def remember(n):
    return [n]


class Thing:
    def __init__(self, n):
        self.n = n


THINGS = [Thing(remember(n)) for n in range(100)]
sys.stdout.write(json.dumps({"version": sys.version.split()[0]}) + "\n")
sys.stdout.flush()
sys.stdin.read()
