# Models that the program is given, and never says to be such: that `backward` is called on what they give proves them.
import collections

import torch
from torch import nn
from torch.nn import functional as F


def one_source(net, feed, sgd):
    outs, means = [], []
    for x, y in feed:
        out = net(x)
        loss = F.cross_entropy(out, y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        outs.append(out)  # LT103
        means.extend(out.mean(1))  # LT103
        means.extend(out.mean(1).tolist())
    return outs, means


def by_criterion(net, criterion, feed, sgd):
    seen = {}
    for at, (x, y) in enumerate(feed):
        out = net(x)
        sgd.zero_grad()
        criterion(out, y).backward()
        sgd.step()
        seen.update({at: out[0]})  # LT103
        seen.update({"last": out})
    return seen


class Fitter:
    def __init__(self, net, criterion, sgd):
        self.net, self.criterion, self.sgd = net, criterion, sgd
        self.held_out = []
        self.curve = collections.defaultdict(list)

    def train(self, feed):
        for x, y in feed:
            self.sgd.zero_grad()
            self.criterion(self.net(x), y).backward()
            self.sgd.step()

    def check(self, loader):
        for x, y in loader:
            self.held_out.append(self.criterion(self.net(x), y))  # LT103
            self.curve["loss"].append(self.criterion(self.net(x), y).item())

    @torch.no_grad()
    def check_well(self, loader):
        for x, y in loader:
            self.curve["well"].append(float(self.criterion(self.net(x), y)))


class Memory:
    def __init__(self):
        self.rows = []

    def push(self, row):
        self.rows.append(row)  # LT103

    def all(self):
        return torch.cat(self.rows)


def contrast(encoder, feed, sgd):
    memory = Memory()
    for x in feed:
        z = F.normalize(encoder(x), dim=-1)
        memory.push(z)
        loss = (z @ memory.all().detach().T).logsumexp(-1).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()


class Queue(nn.Module):
    def __init__(self, make, width, length):
        super().__init__()
        self.one, self.other = make(width), make(width)
        self.length = length
        self.keys = torch.randn(length, width)
        self.calm = torch.randn(length, width)

    def forward(self, x):
        q, k = self.one(x), self.other(x)
        near = q @ self.keys.clone().T
        self.keys = torch.cat([self.keys, k])[-self.length :]  # LT103
        self.calm = torch.cat([self.calm, k.detach()])[-self.length :]
        return near


def drift(net, feeds, rounds):
    moved, lengths = [], []
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    for turn in range(rounds):
        for x in feeds[turn]:
            net(x).sum().backward()
        moved.append({name: p - start[name] for name, p in net.named_parameters()})  # LT103
        lengths.append({name: p.grad.norm().item() for name, p in net.named_parameters()})
    return moved, lengths


def looked_at(net, accelerator, feed, loader, sgd):
    net, sgd = accelerator.prepare(net, sgd)
    print(sum(p.numel() for p in net.parameters()))
    for turn in range(10):
        for x in feed:
            accelerator.backward(net(x).mean())
            sgd.step()
            sgd.zero_grad()
        outs, sure = [], []
        for x, y in loader:
            out = net(x)
            outs.append(accelerator.gather_for_metrics((out, y)))  # LT103
            sure.append(accelerator.gather_for_metrics((out.argmax(-1), y)))


# Harmless: two models may have given the graph, and one of them is frozen, as far as anybody knows.
def head_alone(body, head, feed, sgd):
    kept = []
    for x, y in feed:
        inner = body(x)
        loss = F.cross_entropy(head(inner), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        kept.append(inner.argmax(-1))
    return kept


def frozen(net, teacher, feed, sgd):
    asked = {}
    for p in teacher.parameters():
        p.requires_grad = False
    for at, (x, y) in enumerate(feed):
        loss = F.mse_loss(net(x), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        asked["last"] = teacher(x)
    return asked


def of_one_step(net, feed, sgd):
    for parts in feed:
        losses = []
        for x, y in parts:
            losses.append(F.cross_entropy(net(x), y))
        sgd.zero_grad()
        torch.stack(losses).mean().backward()
        sgd.step()


class Level(nn.Module):
    def __init__(self, at, inner, head, heads):
        super().__init__()
        self.at, self.inner, self.head, self.heads = at, inner, head, heads

    def forward(self, x):
        out = self.inner(x)
        self.heads[self.at - 1] = self.head(out)  # LT301 hint
        return out


# The loss comes first; what else a function gives may be plain.
def beside_the_loss(net, losses, feed, sgd):
    rewards = []
    for x, y in feed:
        loss, reward = losses(net(x), y)
        sgd.zero_grad()
        loss.mean().backward()
        sgd.step()
        rewards.append(reward)
    return rewards
