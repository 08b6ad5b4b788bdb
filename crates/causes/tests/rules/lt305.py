# Functions that keep what they use.
from functools import partial

from torch import nn

LATER = []


class Trainer:
    def __init__(self, net: nn.Module):
        self.net = net
        self.hooks = []
        self.fired = []
        self.names = []

    def fit(self, xs):
        for x in xs:
            self.step(x)

    def step(self, x):
        out = self.net(x)
        out.sum().backward()
        self.hooks.append(lambda: print(x.mean()))  # LT305
        self.names.append(lambda: self.net)  # LT301 hint
        self.fired.append(lambda: out.mean())

        def show():
            return out.shape

        LATER.append(show)  # LT305

    def fire(self):
        for each in self.fired:
            each()
        self.fired.clear()


def train(net: nn.Module, xs, epochs):
    jobs = []
    for epoch in range(epochs):
        for x in xs:
            loss = net(x).mean()
            loss.backward()
            jobs.append(lambda loss_now=epoch: loss + loss_now)  # LT305
            LATER.append((epoch, 1))
    return jobs


def each(net: nn.Module, batch):
    def score(other):
        return net(batch) - other

    LATER.append(score)  # LT305


def run(net: nn.Module, batches):
    for batch in batches:
        each(net, batch)
        net(batch)
        LATER.insert(0, lambda: batch)  # LT305
        plain()


def plain():
    LATER.append(print)  # LT301 hint


def fixed(names):
    table = []
    for name in names:
        table.append(lambda: name)
    return table


class Signals:
    def __init__(self):
        self.listeners = []
        self.once = []

    def listen(self, listener):
        self.listeners.append(listener)  # LT301 hint

    def listen_once(self, listener):
        self.once.append(listener)

    def fire(self):
        while self.once:
            self.once.pop()()


def print_nothing():
    pass


def listening(net: nn.Module, loader, optimizer, epochs):
    signals = Signals()
    for _ in range(epochs):
        for x in loader:
            loss = net(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            signals.listen(lambda: print(x.shape))  # LT305
            signals.listen_once(lambda: print(x.shape))
            signals.listen(print_nothing)
            signals.fire()
