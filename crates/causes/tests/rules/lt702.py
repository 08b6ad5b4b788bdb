# Optimizers of every round.
import torch
from accelerate import Accelerator
from torch import nn, optim
from torch.optim import AdamW


def each_epoch(net, feed):
    for turn in range(60):
        sgd = torch.optim.Adam(net.parameters(), lr=1e-3)  # LT702
        for rows in feed:
            net(rows).sum().backward()
            sgd.step()


def each_step(net, feed):
    for rows in feed:
        rule = AdamW(net.parameters())  # LT702
        net(rows).sum().backward()
        rule.step()


def one_epoch(net, feed):
    rule = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)  # LT702
    for rows in feed:
        net(rows).sum().backward()
        rule.step()


def training(net, feed):
    for turn in range(60):
        one_epoch(net, feed)


class Rounds:
    def __init__(self, net):
        self.net = net
        self.past = []

    def go(self, feed):
        for part in feed:
            self.past.append(optim.Adam(part.parameters()))  # LT702
            part(self.net).sum().backward()


def prepared(nets, feed):
    accelerator = Accelerator()
    for net in nets:
        net, rule = accelerator.prepare(net, AdamW(net.parameters()))  # LT702
        for rows in feed:
            accelerator.backward(net(rows).sum())
            rule.step()


# Harmless.


def before(net, feed):
    rule = optim.Adam(net.parameters())
    for turn in range(60):
        for rows in feed:
            net(rows).sum().backward()
            rule.step()


def folds(parts, feed):
    for part in parts:
        net = nn.Linear(3, 3)
        rule = optim.Adam(net.parameters())
        for rows in feed:
            net(rows).sum().backward()
            rule.step()


def tasks(net, feeds):
    for feed in feeds:
        rule = optim.Adam(net.parameters())
        for turn in range(60):
            for rows in feed:
                net(rows).sum().backward()
                rule.step()


def pictures(net, feed):
    for picture in feed:
        noise = torch.zeros_like(picture, requires_grad=True)
        rule = optim.Adam([noise])
        for _ in range(30):
            net(picture + noise).sum().backward()
            rule.step()


def unfrozen(net, feed):
    rule = None
    for turn in range(60):
        if turn == 10:
            rule = optim.Adam(net.parameters())
        for rows in feed:
            net(rows).sum().backward()
            if rule is not None:
                rule.step()


def stateless(net, feed):
    for turn in range(60):
        rule = optim.SGD(net.parameters(), lr=0.1 / (turn + 1))
        for rows in feed:
            net(rows).sum().backward()
            rule.step()


def sweep(make, feed, rates):
    losses = {}
    for rate in rates:
        net = make()
        rule = optim.Adam(net.parameters(), lr=rate)
        for rows in feed:
            loss = net(rows).sum()
            loss.backward()
            rule.step()
        losses[rate] = loss.item()
    return losses
