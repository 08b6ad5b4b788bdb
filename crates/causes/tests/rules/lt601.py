# Circles that the collector has to find.
import functools
import weakref

import torch
from torch import nn


class Job:
    def __init__(self, images, owner):
        self.images = images
        self.owner = owner
        self.on_done = self.finish  # LT601

    def finish(self):
        return self.images.mean()


class Owner:
    def __init__(self, net: nn.Module):
        self.net = net
        self.on_done = self.report

    def report(self):
        pass

    def fit(self, batches):
        for images in batches:
            job = Job(images, self)
            self.net(job.images).mean().backward()
            job.on_done()


class Parent:
    def __init__(self, points):
        self.points = points
        self.view = View(self)  # LT601


class View:
    def __init__(self, parent):
        self.parent = parent


class WeakParent:
    def __init__(self, points):
        self.points = points
        self.view = WeakView(self)


class WeakView:
    def __init__(self, parent):
        self.parent = weakref.proxy(parent)


class Reader:
    def __init__(self, parent):
        self.size = len(parent.points)


class ReadOnly:
    def __init__(self, points):
        self.points = points
        self.view = Reader(self)


class Lazy:
    def __init__(self, features):
        self.features = features
        self.norm = lambda: self.features.norm()  # LT601


class Own:
    def __init__(self, features):
        self.features = features
        self.norm = lambda x: x.norm()


class Partial:
    def __init__(self, scores):
        self.scores = scores
        self.rank = functools.partial(self.top, 5)  # LT601

    def top(self, count):
        return self.scores.topk(count)


class Released:
    def __init__(self, scores):
        self.scores = scores
        self.rerank = self.top

    def top(self):
        return self.scores.topk(3)

    def close(self):
        self.rerank = None


class Computed:
    def __init__(self, scores):
        self.scores = scores
        self.best = self.top
        self.half = self.scores / 2

    @property
    def top(self):
        return self.scores.max()


class Settings:
    def __init__(self, rate):
        self.rate = rate
        self.step = self.advance

    def advance(self):
        self.rate *= 0.9


class Node:
    def __init__(self, values):
        self.values = values
        self.link = Link()
        self.link.node = self  # LT601


class Link:
    node = None


class Hooked(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.register_forward_hook(self.note)  # LT601

    def note(self, module, inputs, output):
        return output

    def forward(self, x):
        return self.body(x)


class HookedOnce(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.register_forward_hook(self.note)

    def note(self, module, inputs, output):
        return output


def train(net: nn.Module, loader, optimizer, epochs):
    settings = Settings(0.1)
    once = HookedOnce(4)
    for _ in range(epochs):
        for points in loader:
            out = net(points)
            Parent(points)
            WeakParent(points)
            ReadOnly(points)
            Own(out.detach())
            Lazy(out.detach())
            Partial(out.detach())
            released = Released(out.detach())
            Computed(out.detach())
            Node(torch.zeros(8))
            loss = once.body(out).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            released.close()
        settings.step()


def search(widths):
    for width in widths:
        model = Hooked(width)
        model(torch.zeros(2, width)).sum().backward()


class Padded(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.pad = self.left if causal else None
        self.fill = self.left

    def left(self, x):
        return x


class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(Padded(True))


class Watched(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.peak = 0.0

        def watch(module, inputs, output):
            self.peak = max(self.peak, float(output.detach().max()))

        self.register_forward_hook(watch)  # LT601

    def forward(self, x):
        return self.body(x)


class Gathered(nn.Module):
    """All of them are there at the end: none has to be found."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.register_forward_hook(self.note)

    def note(self, module, inputs, output):
        return output

    def forward(self, x):
        return self.body(x)


class Single(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.register_forward_hook(self.note)

    def note(self, module, inputs, output):
        return output

    def forward(self, x):
        return self.body(x)


def one_trial(rate, batches):
    net = Watched(8).cuda()
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for batch in batches:
        sgd.zero_grad()
        net(batch).sum().backward()
        sgd.step()
    return net.peak


def one_member(batches):
    member = Gathered(8)
    for batch in batches:
        member(batch).sum().backward()
    return member


def the_only_one(batches):
    net = Single(8)
    for batch in batches:
        net(batch).sum().backward()
    return float(net.body.bias.mean())


def trials(rates, batches):
    peaks = [0.0]
    for rate in rates:
        peaks.append(one_trial(rate, batches))
    members = []
    for _ in range(100):
        members.append(one_member(batches))
    return max(peaks), members, the_only_one(batches)
