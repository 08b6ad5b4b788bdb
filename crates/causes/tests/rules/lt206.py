# Evaluations.
import contextlib

import torch
from torch import nn


def accuracy(net, loader):
    net.eval()
    right = 0
    for x, y in loader:
        right += (net(x).argmax(1) == y).sum().item()  # LT206
    return right


class Runner:
    def __init__(self, net):
        self.net = net

    def validate(self, loader):
        self.net.eval()
        scores = []
        for x in loader:
            if x is not None:
                scores.append(float(self.net(x).mean()))  # LT206
        self.net.train()
        return scores

    def quiet(self, loader):
        self.net.eval()
        with torch.no_grad():
            for x in loader:
                print(self.net(x).mean().item())

    def called(self, loader):
        self.net.eval()
        for x in loader:
            print(self.net(x).mean().item())

    @torch.inference_mode()
    def outer(self, loader):
        self.called(loader)


def every_epoch(model, train_set, val_set, opt):
    for epoch in range(10):
        model.train()
        for x in train_set:
            model(x)
        model.eval()
        worst = 0.0
        for x in val_set:
            worst = max(worst, model(x).max().item())  # LT206


def generator_of_scores(scorer, images):
    scorer = scorer.to("cuda")
    scorer.eval()
    while images:
        yield scorer(images.pop()).item()  # LT206


def main(loader):
    teacher = nn.Linear(2, 2)
    teacher.eval()
    for x in loader:
        y = teacher(x)  # LT206
        print(y.shape)


# Harmless: gradients are wanted, or off.
def attack(net, loader):
    net.eval()
    for x in loader:
        x.requires_grad_()
        net(x).sum().backward()


def saliency(net, loader):
    net.eval()
    for x in loader:
        yield torch.autograd.grad(net(x).sum(), x)


def frozen_student(teacher, student, loader, opt):
    teacher.eval()
    for x in loader:
        loss = (teacher(x) - student(x)).pow(2).mean()
        loss.backward()
        opt.step()


def switched(net, loader, on):
    net.eval()
    with torch.set_grad_enabled(on):
        for x in loader:
            print(net(x))


def by_context(net, loader, off):
    net.eval()
    context = torch.no_grad() if off else contextlib.nullcontext()
    with context:
        for x in loader:
            print(net(x))


def and_back(net, loader):
    net.eval()
    net.train()
    for x in loader:
        print(net(x))


def one(net, x):
    net.eval()
    return net(x)


@torch.no_grad()
def decorated(net, loader):
    net.eval()
    for x in loader:
        print(net(x))


class Frozen(nn.Module):
    def forward(self, x):
        for rate, layer in zip([0, 1], self.parts):
            layer.norm.eval()
            x = layer.norm(x)
        return x


def few(model, x):
    model.eval()
    for turn in range(3):
        model(x)
