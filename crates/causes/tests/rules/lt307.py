# Caches by keys that never come again.
import functools
import time
import uuid

import torch
from torch import nn

SEEN = {}


class Net(nn.Module):
    def __init__(self, tool):
        super().__init__()
        self.core = nn.Linear(3, 3)
        self.tool = tool
        self.step = 0
        self.plans = {}
        self.shapes = {}
        self.few = {}
        self.numbers = {}
        self.dropped = {}

    def forward(self, x):
        self.step += 1
        self.plans[self.step] = self.tool.plan(x)  # LT307
        self.plans[id(x)] = self.tool.plan(x)  # LT307
        self.plans[(x.data_ptr(), 1)] = self.tool.plan(x)  # LT307
        SEEN[time.time()] = self.tool.plan(x)  # LT307
        SEEN[str(uuid.uuid4())] = self.tool.plan(x)  # LT307
        key = ("plan", time.time(), x.shape)
        self.plans[key] = self.tool.plan(x)  # LT307
        of_tool = (id(self.tool), 1)
        self.few[of_tool] = self.tool.plan(x)  # LT301 hint
        self.plans[f"step {self.step}"] = self.tool.plan(x)  # LT307
        shape = tuple(x.shape)
        self.few[shape] = self.tool.plan(x)  # LT301 hint
        self.numbers[self.step] = 1.5
        self.few[self.step % 10] = self.tool.plan(x)
        self.dropped[self.step] = self.tool.plan(x)
        if len(self.dropped) > 100:
            self.dropped.pop(next(iter(self.dropped)))
        return self.core(x)


# Harmless, as far as the source tells: the keys come again.
def named(net: Net, name, x):
    if name not in net.shapes:
        net.shapes[name] = net.tool.plan(x)
    local = {}
    local[id(x)] = net.tool.plan(x)
    return local


@functools.lru_cache(maxsize=None)  # LT307
def distances(left: torch.Tensor, right: torch.Tensor):
    return torch.cdist(left, right)


@functools.cache
def grid(width, height):
    return torch.ones(width, height)


@functools.lru_cache(maxsize=None)
def of_the_same(points: torch.Tensor):
    return torch.cdist(points, points)


def measured(net: Net, loader, sgd):
    anchors = torch.ones(3, 3)
    for left, right in loader:
        far = distances(left, right) + grid(3, 3) + of_the_same(anchors)
        net.core(far).sum().backward()
        sgd.step()


STAGED = {}


def staged(x, number):
    key = ("stage", number)
    if key not in STAGED:
        STAGED[key] = torch.ones(3) * number  # LT307
    return STAGED[key] + x


def in_stages(net: Net, loader, sgd):
    for number, x in enumerate(loader):
        net.core(staged(x, number)).sum().backward()
        sgd.step()
