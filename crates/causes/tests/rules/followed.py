"""Values and keepers that are told by what is somewhere else: a caller, a counter, a function's result, a parameter of a model."""

import os
import threading

import numpy as np
import torch
from torch import nn


class Trail:
    def __init__(self):
        self.seen, self.sizes = [], []

    def add(self, value):
        self.seen.append(value)  # LT202

    def size(self, value):
        self.sizes.append(value)


class Weights:
    def __init__(self):
        self.rows = []

    def after_step(self, loss):
        self.rows.append(np.full(1000, float(loss)))  # LT202


class Noise:
    def __init__(self):
        self.drawn = []

    def draw(self):
        self.drawn.append(np.random.rand(100, 4))  # LT202

    def one(self):
        return np.random.rand()


class Clock:
    def __init__(self):
        self.ticks = 0

    def tick(self):
        self.ticks += 1


class Wires:
    def __init__(self):
        self.ends, self.short = [], []

    def open(self):
        source, sink = os.pipe()
        thread = threading.Thread(target=os.read, args=(source, 1), daemon=True)
        self.ends.append((thread, sink))  # LT706

    def open_and_close(self):
        self.short.append(os.pipe())
        while self.short:
            for end in self.short.pop():
                os.close(end)

    def close(self):
        while self.ends:
            _, sink = self.ends.pop()
            os.close(sink)


# Harmless: made anew for each epoch.
class Epoch:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)


# Harmless: cut by itself.
class Window:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)
        self.values = self.values[-10:]


class Prompted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def features(self, x):
        return torch.relu(self.body(x))

    def forward(self, x):
        return self.head(self.features(x))


def both(net, x):
    out = net(x)
    return out, len(x)


def loss_of(net: nn.Module, x, y):
    return nn.functional.cross_entropy(net(x), y)


net = Prompted()
shift = nn.Parameter(torch.zeros(8))
optimizer = torch.optim.Adam([*net.parameters(), shift])
trail, weights, noise, window, clock, wires = Trail(), Weights(), Noise(), Window(), Clock(), Wires()
shifted, everything, counts, parameters, by_tick = [], [], [], [], {}


def note(value):
    words = [np.random.rand() * value for _ in range(100)]
    by_tick[clock.ticks] = {"value": value, "words": words}  # LT307


for epoch in range(1000):
    of_epoch, feats, rolled = Epoch(), [], []
    for x, y in torch.load("batches.pt"):
        optimizer.zero_grad()
        loss = loss_of(net, x, y)
        loss.backward()
        optimizer.step()
        shifted.append(torch.tanh(x + shift))  # LT103
        everything.append(loss_of(net, x, y))  # LT103
        feats.append(net.features(x))  # LT103
        counts.append(both(net, x)[1])  # LT301 hint
        parameters.append(shift)  # LT301 hint
        trail.add(net.features(x).detach())
        trail.size(len(x))
        weights.after_step(loss.item())
        noise.draw()
        of_epoch.add(net.features(x).detach())
        window.add(net.features(x).detach())
        clock.tick()
        note(loss.item())
        wires.open()
        wires.open_and_close()
    # Harmless: the graphs of one rollout, for one loss.
    optimizer.zero_grad()
    for x, y in torch.load("batches.pt"):
        rolled.append(loss_of(net, x, y))
    torch.stack(rolled).mean().backward()
    optimizer.step()
wires.close()
