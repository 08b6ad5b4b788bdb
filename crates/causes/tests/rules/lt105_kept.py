# States that an object carries from one call to the next.
import torch
from torch import nn


class Stateful(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTM(width, width)
        self.state = None

    def forward(self, x):
        out, self.state = self.cell(x, self.state)  # LT105
        return out


class Truncated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTM(width, width)
        self.state = None

    def forward(self, x):
        out, self.state = self.cell(x, self.state)
        self.state = tuple(part.detach() for part in self.state)
        return out


class ByText(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.GRU(width, width)
        self.state = None

    def begin(self):
        self.state = None

    def forward(self, x):
        out, self.state = self.cell(x, self.state)
        return out


class Online:
    def __init__(self, width, sgd):
        self.net = nn.GRU(width, width)
        self.sgd = sgd
        self.memory = torch.zeros(1, 1, width)
        self.calm = torch.zeros(1, 1, width)

    def learn(self, x):
        out, self.memory = self.net(x, self.memory)  # LT105
        self.sgd.zero_grad()
        out.sum().backward(retain_graph=True)  # LT106
        self.sgd.step()

    def learn_well(self, x):
        out, self.calm = self.net(x, self.calm.detach())
        self.sgd.zero_grad()
        out.sum().backward()
        self.sgd.step()


def fit(stateful: Stateful, truncated: Truncated, text: ByText, feed):
    for x in feed:
        text.begin()
        (stateful(x) + truncated(x) + text(x)).sum().backward()
