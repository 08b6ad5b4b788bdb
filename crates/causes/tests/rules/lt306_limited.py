# Caches with a limit on methods of what is made again and again with a model of its own.
import functools
from functools import lru_cache

import torch
from torch import nn


class Speaker:
    def __init__(self, checkpoint):
        self.voice = torch.load(checkpoint, map_location="cuda")

    @lru_cache(maxsize=1)  # LT306
    def rate(self):
        return self.voice.rate


class Judge:
    def __init__(self, width):
        self.scorer = nn.Sequential(nn.Linear(width, width), nn.ReLU()).to("cuda")

    @lru_cache  # LT306
    def threshold(self, level):
        return level * 2

    def score(self, x):
        return self.scorer(x)


class Panel:
    def __init__(self, judge, seats):
        self.judge = judge
        self.seats = seats

    @functools.lru_cache(maxsize=4)  # LT306
    def weights(self):
        return [1 / self.seats] * self.seats


class Tower(nn.Module):
    pass


class Holder:
    def __init__(self, tower, name):
        self.tower = tower
        self.name = name

    @lru_cache(32)  # LT306
    def title(self):
        return self.name.title()


class Outer:
    def __init__(self, inner):
        self.inner = inner

    @lru_cache(maxsize=2)  # LT306
    def size(self):
        return 3


def speak(checkpoint, texts):
    speaker = Speaker(checkpoint)
    return [speaker.rate() * len(text) for text in texts]


def judged(x):
    judge = Judge(8)
    return float(judge.score(x).mean() > judge.threshold(1))


def seated(x):
    panel = Panel(Judge(4), 3)
    return panel.weights()


def named(x):
    tower = Tower()
    holder = Holder(tower, "north")
    return holder.title()


def wrapped(x):
    outer = Outer(Holder(Tower(), "south"))
    return outer.size()


def compare(checkpoints, x):
    for checkpoint in checkpoints:
        speak(checkpoint, ["a"])
    for _ in range(3):
        judged(x)
        seated(x)
        named(x)
    first = wrapped(x)
    return first + wrapped(x)


# Harmless.


class Small:
    def __init__(self, names):
        self.names = names

    @lru_cache(maxsize=1)
    def longest(self):
        return max(self.names, key=len)


class Only:
    """Made once."""

    def __init__(self, checkpoint):
        self.net = torch.load(checkpoint)

    @lru_cache(maxsize=8)
    def depth(self):
        return 3


class Shared:
    """All have the same model."""

    def __init__(self, net):
        self.net = net.to("cuda")

    @lru_cache(maxsize=8)
    def depth(self):
        return 3


class Kept:
    """Those who made it keep it themselves."""

    def __init__(self):
        self.net = nn.Linear(3, 3)

    @lru_cache(maxsize=8)
    def depth(self):
        return 3


class Attached:
    def __init__(self, width):
        self.net = nn.Linear(width, width)

    @functools.cached_property
    def depth(self):
        return 3

    def run(self, x):
        return self.net(x)


class Counted:
    """What it is given it does not keep."""

    def __init__(self, net):
        self.size = sum(parameter.numel() for parameter in net.parameters())

    @lru_cache(maxsize=8)
    def depth(self):
        return 3


def lengths(names):
    small = Small(names)
    return small.longest()


def shared(net):
    one = Shared(net)
    return one.depth()


def kept():
    one = Kept()
    one.depth()
    return one


def attached():
    one = Attached(3)
    return one.depth


def counted():
    one = Counted(nn.Linear(3, 3))
    return one.depth()


def harmless(checkpoint):
    only = Only(checkpoint)
    net = nn.Linear(2, 2)
    ensemble = []
    for _ in range(5):
        lengths(["a"])
        shared(net)
        ensemble.append(kept())
        attached()
        counted()
    return only.depth(), ensemble
