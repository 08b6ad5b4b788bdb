# Hooks, in a file that removes none.
from torch import nn


def spy(module, inputs, output):
    return None


def gather(net: nn.Module, stream):
    handles = []
    for item in stream:
        handles.append(net.out.register_forward_hook(spy))  # LT304
        net(item)
    return handles


class Trial:
    def __init__(self, net: nn.Module):
        self.net = net
        self.grip = net.register_forward_hook(spy)

    def fit(self, stream):
        for item in stream:
            self.step(item)

    def step(self, item):
        self.grip = self.net.register_full_backward_hook(spy)  # LT304
        self.net(item).sum().backward()
