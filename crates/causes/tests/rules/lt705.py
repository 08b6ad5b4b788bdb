# Traced in loops.
import torch
import torch.jit as jit
from torch import nn


def each_batch(net, feed, sgd):
    for picture in feed:
        fast = torch.jit.trace(net, picture)  # LT705
        fast(picture).sum().backward()
        sgd.step()


def each_epoch(net, feed, sgd, sample):
    for turn in range(200):
        for picture in feed:
            net(picture).sum().backward()
            sgd.step()
        jit.trace(net, sample).save(f"turn{turn}.pt")  # LT705


def lambdas(net, feed):
    for picture in feed:
        torch.jit.trace(lambda inner: net(inner).relu(), picture)(picture).sum().backward()  # LT705


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def forward(self, rows):
        body = torch.jit.trace(self.body, rows)  # LT705
        return body(rows)


def advance(net, rows):
    traced = torch.jit.trace(net, rows)  # LT705
    traced(rows).sum().backward()


def training(net, feed):
    for rows in feed:
        advance(net, rows)


def hints(net, feed):
    for rows in feed:
        net = torch.compile(net)  # the name changes with each round: wrapped again, not the same again
        step = torch.compile(advance)  # LT705 hint
        step(net, rows)
        net(rows).sum().backward()


# Harmless.


def before(net, feed, sample):
    fast = torch.jit.trace(net, sample)
    for rows in feed:
        fast(rows).sum().backward()


def per_layer(net, feed):
    for layer in net.children():
        torch.jit.trace(layer, torch.zeros(3))
    for rows in feed:
        net(rows).sum().backward()


def first_round(net, feed):
    fast = None
    for rows in feed:
        if fast is None:
            fast = torch.jit.trace(net, rows)
        fast(rows).sum().backward()


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.fast = None

    def forward(self, rows):
        if self.fast is None:
            self.fast = torch.jit.trace(self.body, rows)
        return self.fast(rows)


def modes(net, sample):
    for mode in ("default", "reduce-overhead"):
        torch.compile(net, mode=mode)(sample).sum().backward()


def exported(nets, sample):
    for each in nets:
        torch.jit.trace(each, sample).save("a.pt")


class Tracer:
    def trace(self, rows):
        return rows


def others(feed, net):
    tracer = Tracer()
    for rows in feed:
        tracer.trace(rows)
        net(rows).sum().backward()


def decorated(feed, net: nn.Module, sgd):
    for rows in feed:

        @torch.compile  # LT705 hint
        def step(part):
            return net(part).sum()

        def plain(part):
            return net(part).sum()

        (step(rows) + plain(rows)).backward()
        sgd.step()
