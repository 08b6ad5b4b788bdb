"""Tensors that share storages, and graphs that keep some. What goes when a holder is dropped, the kernel says."""

import ctypes
import gc
import json
import sys

import torch

MIB = 1 << 20
# What is large is given back to the kernel as soon as it is free (M_MMAP_THRESHOLD).
ctypes.CDLL(None).mallopt(-3, MIB)


def rss():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def big(mib=8):
    return torch.ones(mib * MIB // 4)


# Their own.
plain = [big() for _ in range(4)]
# Views of the same storages in another holder.
whole = [big() for _ in range(4)]
views = {n: each[:10] for n, each in enumerate(whole)}
# What a graph saves that another holder has.
inputs = [big() for _ in range(3)]
weight = torch.ones(2 * MIB, requires_grad=True)
outputs = {"deep": {"outputs": [(weight * each).sum() for each in inputs]}}
# The graphs' own.
losses = [((weight * 2.0).exp() * big()).sum() for _ in range(3)]


def drop(name):
    globals().pop(name)


# Name of the case; the holder; who lets go then; who else is named.
HERE = "module __main__ -> "
CASES = [
    ["plain", HERE + "plain: list", None, []],
    ["whole", HERE + "whole: list", "views", [HERE + "views: dict"]],
    ["inputs", HERE + "inputs: list", "outputs", [HERE + "outputs: dict"]],
    ["losses", HERE + "losses: list", None, []],
]
print(json.dumps({"version": "torch " + torch.__version__, "cases": [[case[0], case[1], case[3], case[2] is not None] for case in CASES]}), flush=True)
for line in sys.stdin:
    name, *too = line.split()
    if too:
        name = next(case[2] for case in CASES if case[0] == name)
    each = None
    gc.collect()
    before = rss()
    drop(name)
    gc.collect()
    print("freed", before - rss(), flush=True)
