# Buffers that are given what a network said.
import random

import torch


class Buffer:
    def __init__(self, capacity=100_000):
        self.capacity = capacity
        self.rows = []

    def add(self, *row):
        if len(self.rows) >= self.capacity:
            self.rows.pop(0)
        self.rows.append(row)  # LT108

    def draw(self, count):
        return [torch.stack(part) for part in zip(*random.sample(self.rows, count))]


class CalmBuffer:
    def __init__(self, capacity=100_000):
        self.capacity = capacity
        self.rows = []

    def note(self, *row):
        if len(self.rows) >= self.capacity:
            self.rows.pop(0)
        self.rows.append(row)  # LT310 hint


def play(world, net, sgd, steps):
    buffer, calm = Buffer(), CalmBuffer()
    seen = world.reset()
    for _ in range(steps):
        worth = net(seen)
        then, reward = world.step(worth.argmax(-1))
        buffer.add(seen, worth, reward, then)
        calm.note(seen, worth.detach(), reward, then)
        seen = then
        s, w, r, t = buffer.draw(64)
        loss = (net(s).amax(-1) - r - 0.9 * net(t).amax(-1).detach()).pow(2).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
