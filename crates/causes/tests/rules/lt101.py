# Sums of losses. A line that must be found ends in its id; nothing else may be.
import torch
import torch.nn.functional as F
from torch import nn


def epoch(net, data, opt):
    net.train()
    running = 0
    for x, y in data:
        err = F.mse_loss(net(x), y)
        opt.zero_grad()
        err.backward()
        opt.step()
        running += err  # LT101
    return running / len(data)


class Fitter:
    def __init__(self, width):
        self.core = nn.Linear(width, 1)
        self.tally = 0.0
        self.parts = {"a": 0.0}

    def update(self, x, y):
        gap = (self.core(x) - y).abs().mean()
        gap.backward()
        self.tally = self.tally + gap  # LT101
        self.parts["a"] += gap * 0.5  # LT101

    def quiet(self, x, y):
        with torch.no_grad():
            gap = (self.core(x) - y).abs().mean()
            self.tally += gap
        self.parts["a"] += gap.item()


fitter = Fitter(3)
for _ in range(100):
    fitter.update(1, 2)
    fitter.quiet(1, 2)


def score(net: nn.Module, data):
    total = torch.zeros(1)
    for x in data:
        total += net(x).sum()  # LT101
    return total


def nested(net, sets):
    best = 0
    for s in sets:
        subtotal = 0
        for x in s:
            cost = net(x).mean()
            cost.backward()
            subtotal = cost + subtotal  # LT101
        best = max(best, float(subtotal))


# Harmless: the sum is what backward is called on.
def together(net: nn.Module, heads, data):
    for x in data:
        joint = 0
        for head in heads:
            joint += head(net(x)).mean()
        joint.backward()


def detached(net: nn.Module, data):
    count, seen = 0, 0.0
    for x in data:
        cost = net(x).mean()
        cost.backward()
        count += 1
        seen += cost.detach()
        seen += float(cost)
        seen = seen + cost.item()


@torch.no_grad()
def evaluated(net: nn.Module, data):
    net.eval()
    sum_of = 0
    for x in data:
        sum_of += net(x).mean()
    return sum_of


def hits(net: nn.Module, data):
    right = 0
    for x, y in data:
        right += (net(x).argmax(1) == y).sum()
    return right


def within(net: nn.Module, data):
    cost = 1
    for x in data:
        cost = 0
        cost = cost + net(x).mean()
        print(cost)


def unknown(make, data):
    amount = 0
    for x in data:
        amount += make(x)
    return amount


def accumulated(net: nn.Module, data, opt):
    total_cost = 0
    for i, x in enumerate(data):
        total_cost = total_cost + net(x).mean()
    final = total_cost / len(data)
    final.backward()


# Harmless: a part of one forward pass, which begins with a model's own output.
def embed(net: nn.Module, tables, ids):
    hidden = net(ids)
    for table in tables:
        hidden += net(table)
    return hidden


for net in []:
    net.parameters()
    epoch(net, [], None)
    nested(net, [])


# Hints: what is summed up over parts of one pass, and what comes beside the loss, a count mostly.
class Balanced:
    def __init__(self):
        self.inner = nn.BCEWithLogitsLoss()

    def __call__(self, levels, wanted):
        whole = torch.zeros(1)
        for i, level in enumerate(levels):
            whole += self.inner(level, wanted[i])  # LT101 hint
        return whole


def with_count(net: nn.Module, loader):
    seen = 0
    for batch in loader:
        cost, samples = net(batch)
        cost.backward()
        seen += samples  # LT101 hint


class Path:
    def __init__(self, score):
        self.score = score


class Search:
    def __init__(self, joint: nn.Module):
        self.joint = joint

    def best(self, frames):
        path = Path(score=0.0)
        for frame in frames:
            chance = torch.log(self.joint(frame))
            path.score += chance.max()  # LT101 hint
        return path


def of_loader(net: nn.Module, test_loader):
    missed = 0
    for x, y in test_loader:
        missed += F.mse_loss(net(x), y)  # LT101
    return missed


class Weighing(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.total, self.sum_of_all = 0.0, 0.0

    def forward(self, x):
        self.outs = []
        for layer in self.layers:
            x = layer(x)
            self.outs.append(x)
        self.weigh()
        return x

    def weigh(self):
        self.total = torch.zeros(1)
        for out in self.outs:
            self.total += out.mean()


def weighed(net: nn.Module, loader):
    weighing = Weighing([net])
    for batch in loader:
        weighing(batch).sum().backward()
