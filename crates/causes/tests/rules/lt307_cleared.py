# Caches that a method empties, which is called or not.
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.at = 0
        self.features = {}
        self.rows = []
        self.cleared = []
        self.counts = []

    def forward(self, x):
        y = self.body(x)
        self.at += 1
        self.features[self.at] = y.detach()  # LT307 hint
        self.rows.append(y.detach())  # LT307 hint
        self.cleared.append(y.detach())
        self.counts.append(len(y))
        return y

    def forget(self):
        self.features.clear()
        self.rows = []

    def clear(self):
        self.cleared.clear()

    def drop_counts(self):
        self.counts = []


def train(layer: Layer, loader, optimizer, epochs):
    for _ in range(epochs):
        for x in loader:
            loss = layer(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        layer.clear()
