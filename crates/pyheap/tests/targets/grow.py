"""A program that leaks in several ways, one round for each line that it reads."""

import collections
import ctypes
import functools
import gc
import importlib
import json
import sys
import weakref


class Node:
    def __init__(self, next):
        self.next = next
        self.data = bytearray(500)


class Store:
    def __init__(self):
        self.filed = []


class Cycle:
    def __init__(self):
        self.own, self.data = self, bytes(1000)


class Lost:
    def __init__(self):
        self.data = bytes(1000)


class Sample:
    def __init__(self, n):
        self.text = "sample %d" % n


class Trainer:
    def __init__(self):
        # All that there is, and what is worked out for each of them when it comes; what comes again and again, and has one each.
        self.samples = [Sample(n) for n in range(1200)]
        self.pairs = [("one %d" % n, "other %d" % n) for n in range(1200)]
        self.by_text, self.by_pair, self.by_sample = {}, {}, weakref.WeakKeyDictionary()
        self.every, self.for_every = [], {}
        self.rows = [[] for _ in range(1200)]
        self.for_rows = {}
        # Has a place for each, and they come one by one.
        self.ring, self.for_ring = [None] * 2000, {}
        self.users, self.by_user = ["user %d" % n for n in range(1200)], {}
        # Python has one object for each of these numbers.
        self.numbers, self.for_numbers = list(range(1000)), {}
        self.ids, self.for_ids = list(range(2000, 3200)), {}
        self.history = []
        self.by_key = collections.defaultdict(list)
        self.head = None
        self.text = ""
        self.raw = bytearray()
        self.steady = [0] * 1000
        self.nodes = [Store() for _ in range(12)]
        self.recent = collections.deque(maxlen=50)

    def step(self, n):
        self.history.append({"loss": n * 1.5, "text": "step %d" % n})
        self.by_key[n % 20].append(bytes(1000))
        self.head = Node(self.head)
        self.text = self.text + "x" * 1000
        self.raw += b"x" * 1000
        self.recent.append([n])
        self.steady[n % 1000] = n % 7
        self.nodes[n % 12].filed.append(bytes(1000))
        sample, pair = self.samples[(n - 1) % 1200], self.pairs[(n - 1) % 1200]
        self.by_text[sample.text] = bytes(1000)
        self.by_pair[pair[0]] = self.by_pair[pair[1]] = bytes(1000)
        self.by_sample[sample] = bytes(1000)
        self.for_numbers[n // 4] = bytes(2000)
        self.ring[n] = "place %d" % n
        self.for_ring[self.ring[n]] = bytes(1000)
        # A new one now and then, and what an old one has gets larger.
        user = self.users[n // 30]
        self.by_user[user] = bytes(500)
        self.by_user[self.users[0]] += bytes(2000)
        self.for_ids[self.ids[(n - 1) % 1200]] = bytes(1000)
        self.every.append("every %d" % n)
        self.for_every[self.every[-1]] = bytes(1000)
        self.rows[n % 1200].append("row %d" % n)
        self.for_rows[self.rows[n % 1200][-1]] = bytes(1000)
        remember(n)
        Cycle()
        # As a library does that forgets to give a reference back.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(Lost()))


@functools.lru_cache(maxsize=None)
def remember(n):
    return [n] * 100


def main():
    gc.disable()
    trainer = Trainer()
    n, whole = 0, ()
    late = iter(["colorsys", "quopri", "stringprep"])
    sys.stdout.write(json.dumps({"version": sys.version.split()[0]}) + "\n")
    sys.stdout.flush()
    while True:
        for _ in range(300):
            n += 1
            trainer.step(n)
            whole = (whole, bytes(1000))
        # As a library does that imports something of its own when it is first needed.
        importlib.import_module(next(late))
        sys.stdout.write("done\n")
        sys.stdout.flush()
        if not sys.stdin.readline():
            return


main()
