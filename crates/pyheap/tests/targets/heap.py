"""A heap of all sorts, and its own count of it: writes a JSON line, and waits until its input ends."""

import array
import collections
import ctypes
import functools
import gc
import json
import sys
import threading


class Plain:
    def __init__(self, n):
        self.n = n
        self.name = "object %d of the heap" % n
        self.items = [n, n + 1]


class Slots:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left = {1: "one"}
        self.right = None


class Node(dict):
    pass


class Text(str):
    pass


def generate(n):
    kept = {n: [n]}
    for item in range(n):
        yield item, kept


@functools.lru_cache(maxsize=None)
def cached(n):
    return [n]


def build():
    keep = [Plain(n) for n in range(5000)]
    keep.append([Slots() for _ in range(1000)])
    keep.append([Node(a=n) for n in range(500)])
    keep.append([Text("text %d" % n) for n in range(500)])
    generators = [generate(n) for n in range(200)]
    for g in generators[:150]:
        next(g, None)
    keep.append(generators)
    keep.append([{("k", n): n * 1.5 for n in range(40)} for _ in range(300)])
    keep.append([set(range(n % 50)) for n in range(500)])
    keep.append([collections.deque(range(n), maxlen=1000) for n in range(0, 900, 7)])
    keep.append([collections.OrderedDict((str(n), n) for n in range(20)) for _ in range(100)])
    keep.append([bytearray(n * 10) for n in range(300)])
    keep.append([bytes(n) for n in range(300)])
    keep.append([10 ** n for n in range(300)])
    keep.append(["ü" * n + "%d" % n for n in range(300)])
    keep.append(["\U0001f600" * n for n in range(1, 300)])
    keep.append([array.array("d", range(n)) for n in range(300)])
    keep.append([lambda x, n=n: (x, n, keep) for n in range(500)])
    keep.append([collections.defaultdict(list, {n: [n]}) for n in range(200)])
    for n in range(1000):
        cached(n)
    return keep


KEEP = build()


def closure():
    """Every object that can be reached, by gc.get_referents from what gc knows and what modules hold."""
    gc.collect()
    gc.disable()
    ids = {}
    # 3.14 tracks it while it is empty, and its keys would be counted.
    ours = id(ids)
    todo = gc.get_objects()
    tracked = {id(o): type(o) for o in todo}
    mine = (id(todo), id(ids), id(tracked))
    while todo:
        batch, todo = todo, []
        for o in batch:
            if id(o) not in ids and id(o) != ours:
                ids[id(o)] = o
                todo.append(o)
        todo = gc.get_referents(*todo) if todo else []
        mine = mine + (id(todo), id(batch))
    return ids, tracked, mine


def count():
    ids, tracked, mine = closure()
    types = {}
    gcs = {}
    for o in ids.values():
        if id(o) in mine:
            continue
        row = types.setdefault(id(type(o)), [type(o).__module__ + "." + type(o).__qualname__, 0, 0, 0])
        row[1] += 1
        try:
            row[2] += sys.getsizeof(o)
        except Exception:
            pass
        if id(o) in tracked:
            row[3] += 1
    return types


types = count()
text = json.dumps({"types": types, "version": sys.version.split()[0]})
del types
gc.collect()
gc.disable()
sys.stdout.write(text + "\n")
sys.stdout.flush()
sys.stdin.read()
