# Caches that are asked by trying, and objects of a module that functions use.
import torch
from torch import nn

OFFSETS = {}
WEIGHTS = {}


def offsets(rows):
    try:
        return OFFSETS[id(rows)]
    except KeyError:
        made = torch.arange(rows.shape[0]) * 2
        OFFSETS[id(rows)] = made  # LT307
        return made


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.tables = {}
        self.named = {}

    def table(self, rows):
        try:
            found = self.tables[rows.data_ptr()]
        except KeyError:
            found = self.tables[rows.data_ptr()] = rows * 2  # LT307
        return found

    def by_name(self, name):
        try:
            return self.named[name]
        except KeyError:
            self.named[name] = torch.ones(6)
            return self.named[name]

    def forward(self, rows):
        return self.body(self.table(rows)) + offsets(rows)[:, None] + self.by_name("bias")


class Known:
    def __init__(self, compute):
        self.compute = compute
        self.answers = {}

    def __call__(self, rows):
        key = id(rows)
        try:
            return self.answers[key]
        except KeyError:
            pass
        answer = self.compute(rows)
        self.answers[key] = answer  # LT307
        return answer


class Ranks:
    def __init__(self):
        self.of = {}

    def rank(self, rows):
        address = rows.data_ptr()
        if address not in self.of:
            self.of[address] = rows.argsort(-1)  # LT307
        return self.of[address]


class Recent:
    """Lets go of the oldest."""

    def __init__(self):
        self.of = {}

    def rank(self, rows):
        key = id(rows)
        if key not in self.of:
            self.of[key] = rows.argsort(-1)
            if len(self.of) > 4:
                self.of.pop(next(iter(self.of)))
        return self.of[key]


def lengths(rows):
    return rows.norm(dim=-1, keepdim=True)


known = Known(lengths)
ranks = Ranks()
recent = Recent()


def widths(layer):
    """The same layers each time."""
    key = id(layer)
    try:
        return WEIGHTS[key]
    except KeyError:
        WEIGHTS[key] = layer.weight.detach().norm()
        return WEIGHTS[key]


STEPS = {}


def once(rows, step):
    try:
        return STEPS[step]
    except KeyError:
        STEPS[step] = torch.zeros(4) + step  # LT307
        return STEPS[step]


def fit(net: Twice, feed, sgd):
    for step, rows in enumerate(feed):
        out = net(rows / known(rows)) + ranks.rank(rows) + recent.rank(rows) + once(rows, step)
        loss = out.mean() + widths(net.body)
        sgd.zero_grad()
        loss.backward()
        sgd.step()


# Harmless.


class Sizes:
    """Nothing that trains uses it."""

    def __init__(self):
        self.of = {}

    def size(self, rows):
        key = id(rows)
        self.of[key] = torch.zeros(3)
        return self.of[key]


sizes = Sizes()


def prepare(folders):
    for folder in folders:
        sizes.size(folder)


class PerPass:
    def __init__(self):
        self.of = {}

    def twice(self, rows):
        key = id(rows)
        try:
            return self.of[key]
        except KeyError:
            self.of[key] = rows * 2
            return self.of[key]

    def start(self):
        self.of.clear()


per_pass = PerPass()


def fit_by_pass(net: nn.Module, feed, sgd):
    for rows in feed:
        per_pass.start()
        net(per_pass.twice(rows)).mean().backward()
        sgd.step()


def in_its_call(net: nn.Module, feed, sgd):
    for rows in feed:
        own = {}
        try:
            twice = own[id(rows)]
        except KeyError:
            twice = own[id(rows)] = rows * 2
        net(twice).mean().backward()
        sgd.step()
