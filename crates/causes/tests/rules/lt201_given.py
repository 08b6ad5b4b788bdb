# Evaluators that are given to who validates, targets beside what they belong to, and what each epoch leaves.
import numpy as np
import torch


class Scores:
    def __init__(self):
        self.boxes = []
        self.sure = []
        self.count = 0

    def update(self, found):
        for one in found:
            self.boxes.append(one["boxes"].cpu().numpy())  # LT201
            self.sure.append(float(one["score"]))
            self.count += 1


class ResetScores:
    def __init__(self):
        self.boxes = []

    def begin(self):
        self.boxes = []

    def add_all(self, found):
        for one in found:
            self.boxes.append(one["boxes"].cpu().numpy())


def validate(net, loader, scores, reset):
    reset.begin()
    net.eval()
    with torch.no_grad():
        for x, y in loader:
            found = net(x)
            scores.update(found)
            reset.add_all(found)


def fit(net, feed, loader, sgd, epochs):
    scores, reset = Scores(), ResetScores()
    scores = Scores()
    reset = ResetScores()
    for epoch in range(epochs):
        net.train()
        for x, y in feed:
            sgd.zero_grad()
            sum(net(x, y).values()).backward()
            sgd.step()
        validate(net, loader, scores, reset)


class Judge:
    def __init__(self, net, device):
        self.net, self.device = net, device
        self.said, self.right, self.names = [], [], []

    @torch.no_grad()
    def judge(self, loader):
        self.net.eval()
        for x, y in loader:
            self.said.append(self.net(x.to(self.device)).softmax(-1))  # LT201
            self.right.append(y)  # LT201
        return len(self.said)

    def fit(self, feed, loader, sgd, epochs):
        for epoch in range(epochs):
            for x, y in feed:
                self.net(x).sum().backward()
                sgd.step()
            self.judge(loader)


def by_epoch(net, feed, loader, sgd, epochs):
    outs, means = {}, []
    for epoch in range(epochs):
        for x, y in feed:
            net(x).sum().backward()
            sgd.step()
        net.eval()
        found = []
        with torch.no_grad():
            for x, y in loader:
                found.append(net(x).cpu())
        outs[epoch] = torch.cat(found)  # LT202
        means.append(torch.cat(found).mean().item())
        net.train()
    return outs, means


# Harmless: a number of numpy's is one.
def numbers(net, feed, sgd, epochs):
    kept = []
    for epoch in range(epochs):
        for x, y in feed:
            out = net(x)
            out.sum().backward()
            sgd.step()
            kept.append(out.detach().cpu().numpy().mean())
    return np.asarray(kept)
