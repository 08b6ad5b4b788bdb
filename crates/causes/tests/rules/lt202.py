# Tensors kept where numbers would do.
import torch
from torch import nn

GRADIENTS = {}


class Fitter:
    def __init__(self, net: nn.Module):
        self.net = net
        self.curve = []
        self.inputs = []
        self.numbers = []
        self.last = []
        self.steps = 0

    def fit(self, loader, opt):
        for x in loader:
            self.one(x.to("cuda"), opt)

    def one(self, x, opt):
        loss = self.net(x).pow(2).mean()
        loss.backward()
        opt.step()
        self.steps += 1
        self.curve.append(loss.detach())  # LT202
        self.inputs.append(x.clone().cpu())  # LT202
        GRADIENTS[self.steps] = torch.cat([p.grad.flatten() for p in self.net.parameters()])  # LT202
        self.numbers.append(loss.item())
        self.numbers.append({"loss": float(loss), "step": self.steps})
        self.last.append(loss.detach())  # LT310 hint
        if len(self.last) > 20:
            self.last.pop(0)


def train(net: nn.Module, loader, opt, epochs):
    norms = []
    means = []
    for epoch in range(epochs):
        losses = []
        for x in loader:
            loss = net(x).mean()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            norms.append(loss.detach().clone())  # LT202
            losses.append(loss.detach())
            means.append((epoch, norm, loss.data))  # LT202
        print(torch.stack(losses).mean())
    return norms, means


def batches(loader):
    rows = []
    for x in loader:
        rows.append(torch.zeros(3))
    return rows


class Ring:
    def __init__(self, net: nn.Module):
        self.net = net
        self.saved = []

    def step(self, x):
        self.net(x).sum().backward()
        self.saved.append(x.detach())

    def take(self):
        saved, self.saved = self.saved, []
        return saved
