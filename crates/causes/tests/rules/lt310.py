# Windows.
import collections
from collections import deque

import torch
from torch import nn

RECENT = deque(maxlen=64)


def note(x):
    RECENT.append(x.detach().clone())  # LT310 hint


class Buffer:
    def __init__(self, size):
        self.size = size
        self.items = []
        self.places = collections.deque([], 500)

    def push(self, item):
        if len(self.items) < self.size:
            self.items.append(item.clone())  # LT310 hint
        self.places.append(item.cpu())  # LT310 hint

    def push_number(self, item):
        if len(self.items) < self.size:
            self.items.append(item.item())


def fit(net: nn.Module, loader, optimizer, epochs):
    buffer = Buffer(1000)
    norms = deque(maxlen=100)
    means = deque(maxlen=10)
    window = []
    for _ in range(epochs):
        losses = []
        for x in loader:
            out = net(x)
            loss = out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0))
            optimizer.step()
            means.append(loss.item())
            losses.append(loss.item())
            note(x)
            buffer.push(x)
            buffer.push_number(loss)
            window.append(out.detach())  # LT310 hint
            if len(window) > 20:
                window.pop(0)


def once(names):
    seen = deque(maxlen=3)
    for name in names:
        seen.append(name)
    return seen


def setup():
    first = deque(maxlen=2)
    first.append(torch.zeros(3))
    return first
