# Parts of tensors.
import torch
from torch import nn

SAMPLES = []


class Looker(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(8, 8)
        self.rows = []
        self.corner = []
        self.copies = []
        self.small = []

    def forward(self, x):
        with torch.no_grad():
            seen = self.core(x)
            self.rows.append(seen[0])  # LT204
            self.corner.append(seen[:, :1])  # LT204
            self.copies.append(seen.mean(1).cpu())  # LT202
            self.small.append(seen[0, 0].item())
        return self.core(x)


def loop(net: nn.Module, loader, opt):
    firsts = []
    for epoch in range(3):
        for x in loader:
            out = net(x)
            out.sum().backward()
            flat = out.detach()
            firsts.append(flat[:4])  # LT204
            SAMPLES.append((flat[0] * 2).sum().item())
            show(flat)
        opt.step()
    return firsts


def show(values):
    rows = torch.softmax(values, -1)
    SAMPLES.append(rows[-1])  # LT204
    SAMPLES.append(rows[1:3])  # LT204


def local(net: nn.Module, loader):
    parts = []
    with torch.no_grad():
        for x in loader:
            parts.append(net(x)[0])
    return parts


def strings(lines):
    for line in lines:
        SAMPLES.append(line.split()[0])


class Recent(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(8, 8)
        self.last = []
        self.one = {}

    @torch.no_grad()
    def forward(self, x):
        out = self.core(x)
        self.last.append(out[0])
        self.last = self.last[-8:]
        self.one["x"] = out[0]
        return out
