# What a model calls for each batch.
import torch
from torch import nn

KEPT = []
SUMS = []


def keep(module, given, gave):
    KEPT.append(gave)  # LT103
    SUMS.append(gave.sum().item())


def fit(net, feed, sgd):
    net.body.register_forward_hook(keep)
    for x, y in feed:
        sgd.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        sgd.step()


class Watch:
    def __init__(self, net):
        self.seen, self.means, self.last = [], [], None
        self.handles = [part.register_forward_hook(self.look) for part in net.modules() if isinstance(part, nn.ReLU)]

    def look(self, module, given, gave):
        self.seen.append(gave.detach().clone())  # LT202
        self.means.append(gave.detach().mean().item())
        self.last = gave.detach()
