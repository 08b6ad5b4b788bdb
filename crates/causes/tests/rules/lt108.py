# Buffers with a limit that keep graphs.
from collections import deque
import collections

import torch
from torch import nn


class Memory:
    def __init__(self, size, policy: nn.Module):
        self.policy = policy
        self.rows = deque(maxlen=size)
        self.pairs = collections.deque([], 50_000)
        self.tail = deque(maxlen=4)
        self.plain = deque(maxlen=size)
        self.rollout = deque(maxlen=size)
        self.bounded = []

    def play(self, states):
        for state in states:
            value = self.policy(state)
            self.rows.append(value)  # LT108
            self.pairs.append((state, value.log()))  # LT108
            self.bounded.append({"v": value})  # LT108
            if len(self.bounded) > 10_000:
                self.bounded.pop(0)
            self.tail.append(value)
            self.plain.append(value.detach())  # LT310 hint
            self.plain.append((state, value.item()))  # LT310 hint
            self.rollout.append(value)
        self.rollout.clear()


def explore(actor: nn.Module, env):
    buffer = deque(maxlen=100000)
    seen = deque(maxlen=100000)
    state = env.reset()
    while True:
        logits = actor(state)
        buffer.append((state, logits))  # LT108
        with torch.no_grad():
            seen.append(actor(state))  # LT310 hint
        state = env.step(logits.argmax())


def imagine(world: nn.Module, starts, limit):
    dreams = []
    for start in starts:
        if len(dreams) < limit:
            dreams.append(world(start))  # LT108
    return dreams


# Harmless: the window is what the loss is made of.
def windowed(net: nn.Module, xs, opt):
    recent = deque(maxlen=64)
    for x in xs:
        recent.append(net(x))
        loss = torch.stack(list(recent)).mean()
        loss.backward()
        opt.step()
        recent.clear()
