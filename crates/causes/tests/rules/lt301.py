# Containers that other rules are not about: hints.
from torch import nn

EVENTS = []


class Loop:
    def __init__(self, net: nn.Module, watch):
        self.net = net
        self.watch = watch
        self.records = []
        self.by_name = {}
        self.window = []
        self.flushed = []
        self.counts = {}

    def fit(self, xs):
        for at, x in enumerate(xs):
            self.step(at, x)
            note(x)

    def step(self, at, x):
        self.net(x).sum().backward()
        self.records.append(self.watch.snapshot())  # LT301 hint
        self.by_name[at] = self.watch.describe(x)  # LT301 hint
        self.records += [self.watch]  # LT301 hint
        self.window.append(self.watch.snapshot())
        self.window = self.window[-10:]
        self.flushed.append(self.watch.snapshot())
        self.counts["all"] = self.watch.snapshot()
        self.records.append(at + 1.5)  # LT301 hint

    def flush(self):
        self.flushed.clear()


def note(x):
    EVENTS.append(make(x))  # LT301 hint
    EVENTS.append("step")
    EVENTS.append(len(x))


def make(x):
    return [x, object()]


def local(xs):
    found = []
    for x in xs:
        found.append(make(x))
    return found


class Report:
    def __init__(self):
        self.lines = []

    def add_all(self, lines):
        for line in lines:
            self.lines.append(make(line))
