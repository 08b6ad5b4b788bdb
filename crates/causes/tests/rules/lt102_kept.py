# Averages that begin with the first value, of parameters, and by class.
import torch
from torch import nn


def begun_with(net, feed, sgd, keep=0.98):
    level = None
    calm = None
    for x, y in feed:
        loss = nn.functional.mse_loss(net(x), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        level = loss if level is None else keep * level + (1 - keep) * loss  # LT102
        calm = loss.item() if calm is None else keep * calm + (1 - keep) * loss.item()
    return float(level), calm


class Level:
    def __init__(self, keep):
        self.keep = keep
        self.value = 0.0

    def update(self, x):
        self.value = self.keep * self.value + (1 - self.keep) * x  # LT102


class Step:
    def __init__(self, net, sgd):
        self.net, self.sgd = net, sgd
        self.level = Level(0.9)

    def step(self, x):
        loss = self.net(x).mean()
        self.sgd.zero_grad()
        loss.backward()
        self.sgd.step()
        self.level.update(loss)


class Average:
    def __init__(self, net):
        self.calm = {name: p.detach().clone() for name, p in net.named_parameters()}
        self.slow = {name: p.detach().clone() for name, p in net.named_parameters()}

    def update(self, net):
        for name, p in net.named_parameters():
            self.slow[name] = 0.99 * self.slow[name] + 0.01 * p  # LT102
            self.calm[name] = 0.99 * self.calm[name] + 0.01 * p.data


def averaged(net, feed, sgd):
    average = Average(net)
    for x in feed:
        net(x).sum().backward()
        sgd.step()
        average.update(net)


class Centers(nn.Module):
    def __init__(self, body, classes, width):
        super().__init__()
        self.body = body
        self.centers = torch.zeros(classes, width)
        self.calm = torch.zeros(classes, width)

    def forward(self, x, y):
        z = self.body(x)
        for c in y.unique():
            self.centers[c] = 0.9 * self.centers[c] + 0.1 * z[y == c].mean(0)  # LT102
            self.calm[c] = 0.9 * self.calm[c] + 0.1 * z[y == c].mean(0).detach()
        return torch.cdist(z, self.centers)
