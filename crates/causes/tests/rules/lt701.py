# Gradients that stay as zeros.
import itertools

import torch
from torch import nn

KEEP = False


def plain(net, feed, sgd):
    for features, wanted in feed:
        sgd.zero_grad(set_to_none=False)  # LT701
        nn.functional.mse_loss(net(features), wanted).backward()
        sgd.step()


def by_place(net, feed, sgd):
    while True:
        for features in feed:
            net(features).sum().backward()
            sgd.step()
            net.zero_grad(False)  # LT701


def by_hand(net, feed, rate):
    for features in feed:
        net(features).sum().backward()
        with torch.no_grad():
            for weight in net.parameters():
                weight -= rate * weight.grad
                weight.grad.zero_()  # LT701


def named(net, feed):
    for features in feed:
        net(features).sum().backward()
        for name, weight in net.named_parameters():
            if weight.grad is not None:
                weight.grad.data.zero_()  # LT701


def wipe(*nets):
    for weight in itertools.chain(nets[0].parameters(), nets[1].parameters()):
        weight.grad.zero_()  # LT701


def adversaries(good, bad, feed):
    for features in feed:
        wipe(good, bad)
        (good(features) - bad(features)).sum().backward()


class Loop:
    def __init__(self, net):
        self.net = net
        self.weights = list(net.parameters())
        self.sgd = torch.optim.SGD(self.weights, lr=0.1)

    def run(self, feed):
        for features in feed:
            self.advance(features)

    def advance(self, features):
        self.sgd.zero_grad(set_to_none=KEEP)  # LT701
        self.net(features).sum().backward()
        for weight in self.weights:
            weight.grad.fill_(0)  # LT701


# Harmless.


def default(net, feed, sgd):
    for features in feed:
        sgd.zero_grad()
        net(features).sum().backward()
        sgd.step()


def dropped(net, feed, sgd):
    for features in feed:
        sgd.zero_grad(set_to_none=True)
        net(features).sum().backward()
        for weight in net.parameters():
            weight.grad = None


def once(net, features, sgd):
    sgd.zero_grad(set_to_none=False)
    net(features).sum().backward()
    for weight in net.parameters():
        weight.grad.zero_()


def attack(net, feed):
    for picture in feed:
        noise = torch.zeros_like(picture, requires_grad=True)
        for _ in range(40):
            net(picture + noise).sum().backward()
            noise.data += 0.01 * noise.grad.sign()
            noise.grad.zero_()


class Rule(torch.optim.Optimizer):
    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for weight in group["params"]:
                if set_to_none:
                    weight.grad = None
                else:
                    weight.grad.zero_()


def settings(net, feed, sgd, keep):
    for features in feed:
        sgd.zero_grad(set_to_none=not keep)
        net(features).sum().backward()
        buffer = torch.zeros(3)
        buffer.zero_()
        buffer.fill_(0)


def by_hand(weights, rate):
    with torch.no_grad():
        for weight in weights:
            weight -= rate * weight.grad
            weight.grad.zero_()  # LT701


def without_optimizer(net: nn.Module, feed):
    for features in feed:
        net(features).sum().backward()
        by_hand(list(net.parameters()), 0.1)
