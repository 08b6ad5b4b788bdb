"""Graphs in parts of values, and handed on through several calls."""

from collections import defaultdict, namedtuple
from dataclasses import dataclass

import torch
from torch import nn

Transition = namedtuple("Transition", "before after")


@dataclass
class Figures:
    cost: object
    count: int


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0.0

    def add(self, value):
        self.total += value  # LT101

    def size(self, value):
        self.count += value


class Meters:
    def __init__(self):
        self.all = defaultdict(Meter)
        self.sizes = {}

    def note(self, figures, sizes):
        for key, value in figures.items():
            self.all[key].add(value)
        for key, value in sizes.items():
            if key not in self.sizes:
                self.sizes[key] = Meter()
            self.sizes[key].size(value)


def halves(figures):
    return {key: value / 2 for key, value in figures.items()}


class Step:
    def __init__(self, net: nn.Module, opt):
        self.net = net
        self.opt = opt
        self.meters = Meters()

    def costs(self, x):
        out = self.net(x)
        return {"far": out.pow(2).mean(), "near": out.abs().mean()}, {"far": len(x), "near": float(out.sum())}

    def take(self, x):
        costs, sizes = self.costs(x)
        cost = sum(costs.values())
        self.opt.zero_grad()
        cost.backward()
        self.opt.step()
        self.tell(costs, sizes)

    def tell(self, costs, sizes):
        self.meters.note(halves(costs), sizes)


def run(step, loader):
    for x in loader:
        step.take(x)


def evaluated(net: nn.Module, loader):
    outs, records, counts, texts, numbers, moves, tails = [], [], [], [], [], [], []
    for x in loader:
        out = {"score": net(x), "size": len(x)}
        outs.append(out["score"])  # LT103
        counts.append(out["size"])
        records.append(Figures(cost=out["score"], count=3))  # LT103
        first, (second, third) = several(net, x)
        moves.append(first)
        texts.append(third)
        tails.append(second)  # LT103
        numbers.append(number(out["score"]))
    return outs, records, counts, texts, numbers, moves, tails


def several(net: nn.Module, x):
    return len(x), (net(x), "text")


def number(value):
    if torch.is_tensor(value):
        return value.item()
    return value


def detached(outputs):
    for key in outputs:
        outputs[key] = outputs[key].detach()
    return outputs


def freed(net: nn.Module, loader):
    kept, last = [], []
    for x in loader:
        out = net(x)
        out = out.detach()
        kept.append(out)
        outputs = {"a": net(x)}
        last.append(detached(outputs))
    return kept, last


def outer(net: nn.Module, loader):
    with torch.no_grad():
        return inner(net, loader)


def inner(net: nn.Module, loader):
    kept = []
    for x in loader:
        kept.append(net(x))
    return kept
