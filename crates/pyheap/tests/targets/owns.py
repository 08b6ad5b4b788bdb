"""Holders that own what they hold, and some that do not. What goes when one is dropped, Python says itself."""

import ctypes
import gc
import json
import sys
import tracemalloc
import weakref
from collections import OrderedDict, deque

tracemalloc.start()


def block():
    return bytes(50_000)


def blocks(count):
    return [block() for _ in range(count)]


class Node:
    def __init__(self, data, before):
        self.data = data
        self.before = before


class Thing:
    def __init__(self):
        self.data = block()


class Slots:
    __slots__ = ("data", "more")

    def __init__(self):
        self.data = block()
        self.more = {"text": "x" * 5000, "numbers": [1.5 * n for n in range(50)]}


class Trainer:
    def __init__(self):
        # In the order of the alphabet, in which 3.14 keeps attributes that a class's own methods set: what both hold is met
        # in the first one first.
        self.history = [{"loss": 0.5 * n, "block": block()} for n in range(30)]
        self.picked = []


def closure():
    kept = blocks(5)
    return lambda: kept


def generate():
    kept = blocks(3)
    yield kept


# Its own, however it is made.
plain = blocks(30)
things = [Thing() for _ in range(20)]
slots = [Slots() for _ in range(20)]
ordered = OrderedDict((("key", n), block()) for n in range(20))
ring = deque((block() for _ in range(20)), maxlen=20)
mixed = [closure() for _ in range(4)] + [generate() for _ in range(4)] + [Thing().__init__ for _ in range(4)]
[next(each) for each in mixed[4:8]]
mixed += [slice(block(), None), frozenset({block()}), property(lambda self, kept=block(): kept), map(len, blocks(3)), iter(blocks(2))]
try:
    raise ValueError(block())
except ValueError as error:
    mixed.append(error)

# Two that hold the same.
one = blocks(20)
two = {index: each for index, each in enumerate(one)}

# Two that hold one another.
ring_a = {"blocks": blocks(10)}
ring_b = {"blocks": blocks(7), "other": ring_a}
ring_a["other"] = ring_b

# A chain.
chain = [None]
for _ in range(300):
    chain[0] = Node(bytes(2000), chain[0])

# Weak references hold nothing.
weakly = [Thing() for _ in range(20)]
index = weakref.WeakValueDictionary(enumerate(weakly))
told = [weakref.ref(each) for each in weakly]

# References that were never given back.
leaked = blocks(20)
for each in leaked[:5]:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
each = None

# A diamond.
shared = blocks(10)
diamond = {"left": list(shared), "right": list(shared)}
del shared

# One within another, and known by a name of its own.
outer = {"inner": blocks(10), "more": blocks(6)}
keeper = {"deep": {"deeper": [outer["inner"]]}}

# An object of which another attribute holds one item.
trainer = Trainer()
trainer.picked.append(trainer.history[3])

# Two of three.
three_a = blocks(12)
three_b, three_c = list(three_a), list(three_a)

# The list itself by two names.
named = blocks(10)
alias = named


def drop(*names):
    for name in names:
        globals().pop(name)


def empty(name):
    globals()[name].clear()


# Name of the case; the holder; how it lets go, and what then lets go as well; names of those others.
HERE = "module __main__ -> "
CASES = [
    ["plain", HERE + "plain: list", lambda: drop("plain"), None, []],
    ["things", HERE + "things: list", lambda: drop("things"), None, []],
    ["slots", HERE + "slots: list", lambda: drop("slots"), None, []],
    ["ordered", HERE + "ordered: OrderedDict", lambda: drop("ordered"), None, []],
    ["ring", HERE + "ring: deque", lambda: drop("ring"), None, []],
    ["mixed", HERE + "mixed: list", lambda: drop("mixed", "error") if "error" in globals() else drop("mixed"), None, []],
    ["one", HERE + "one: list", lambda: drop("one"), lambda: drop("two"), [HERE + "two: dict"]],
    ["cycle", HERE + "ring_a: dict", lambda: empty("ring_a"), None, []],
    ["chain", HERE + "chain: list", lambda: drop("chain"), None, []],
    ["weakly", HERE + "weakly: list", lambda: drop("weakly"), None, []],
    ["leaked", HERE + "leaked: list", lambda: drop("leaked"), None, []],
    ["diamond", HERE + "diamond: dict", lambda: drop("diamond"), None, []],
    ["outer", HERE + "outer: dict", lambda: drop("outer"), lambda: drop("keeper"), [HERE + "keeper: dict"]],
    [
        "history",
        HERE + "trainer: Trainer -> .history: list",
        lambda: trainer.history.clear(),
        lambda: trainer.picked.clear(),
        [HERE + "trainer: Trainer -> .picked: list"],
    ],
    ["three", HERE + "three_a: list", lambda: drop("three_a"), lambda: drop("three_b", "three_c"), []],
    ["named", HERE + "named: list", lambda: empty("named"), None, [HERE + "alias: list"]],
]


def main():
    # A running function and a class have the same.
    mine = blocks(20)
    Trainer.kept = {"list": list(mine[:8])}

    def let_go():
        nonlocal mine
        mine = None

    def let_go_too():
        Trainer.kept = None

    CASES.append(["local", "-> mine: list", let_go, let_go_too, ["Trainer: type -> .kept: dict"]])
    print(json.dumps({"version": sys.version.split()[0], "cases": [[case[0], case[1], case[4], case[3] is not None] for case in CASES]}), flush=True)
    steps = {}
    for case in CASES:
        steps[case[0]] = case[2]
        steps[case[0] + " too"] = case[3]
    for line in sys.stdin:
        step = steps[line.strip()]
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        step()
        gc.collect()
        print("freed", before - tracemalloc.get_traced_memory()[0], flush=True)
    return mine


main()
