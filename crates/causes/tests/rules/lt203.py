# Histories of states.
import copy

import torch
import transformers
from torch import nn


def keep_all(net: nn.Module, epochs, fit):
    history = []
    for epoch in range(epochs):
        fit(net)
        history.append(copy.deepcopy(net.state_dict()))  # LT203
    return history


def by_epoch(net: nn.Module, epochs, fit):
    states = {}
    for epoch in range(epochs):
        fit(net)
        states[epoch] = {k: v.cpu().clone() for k, v in net.state_dict().items()}  # LT203
    return states


class Rounds:
    def __init__(self, net: nn.Module):
        self.net = net
        self.past = []
        self.best = None
        self.five = []

    def run(self, rounds, loader):
        for _ in range(rounds):
            self.one(loader)

    def one(self, loader):
        for x in loader:
            self.net(x).sum().backward()
        state = copy.deepcopy(self.net.state_dict())
        self.past.append(state)  # LT203
        self.past.append(("round", self.net.state_dict()))  # LT203
        self.best = copy.deepcopy(self.net.state_dict())
        self.five.append(state)  # LT310 hint
        if len(self.five) > 5:
            self.five.pop(0)


def scores(net, opt, epochs):
    kept = []
    for epoch in range(epochs):
        loss = net(epoch)
        loss.backward()
        kept += [opt.state_dict()]  # LT203


# Harmless: one for each of several models, a fixed few, or only the last.
def clients(nets):
    weights = []
    for net in nets:
        weights.append(copy.deepcopy(net.state_dict()))
    return weights


def parts(items):
    states = []
    for item, name in items:
        states.append((item.state_dict(), name))
    return states


def members(make):
    ensemble = []
    for seed in range(5):
        net = make(seed)
        ensemble.append(net.state_dict())
    return ensemble


def stages(net: nn.Module):
    three = []
    for stage in range(3):
        net(stage)
        three.append(copy.deepcopy(net.state_dict()))
    return three


def last_only(net: nn.Module, epochs):
    best = {}
    for epoch in range(epochs):
        best["model"] = copy.deepcopy(net.state_dict())
        torch.save(net.state_dict(), f"{epoch}.pt")
    return best


def windowed(net: nn.Module, epochs):
    window = []
    for epoch in range(epochs):
        window.append(copy.deepcopy(net.state_dict()))
        window = window[-3:]
    return window


class EveryEpoch(transformers.TrainerCallback):
    def __init__(self):
        self.all = []
        self.newest = None

    def on_epoch_end(self, args, state, control, model=None, **others):
        self.all.append({name: value.clone() for name, value in model.state_dict().items()})  # LT203
        self.newest = model.state_dict()


def whole_models(net: nn.Module, loader, optimizer, epochs):
    taken = []
    for epoch in range(epochs):
        for x in loader:
            loss = net(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        taken.append((epoch, copy.deepcopy(net).cpu().eval()))  # LT203
    return taken


def one_of_each(nets, loader):
    taken = []
    for net in nets:
        for x in loader:
            net(x)
        taken.append(copy.deepcopy(net))
    return taken


class Versions:
    def __init__(self):
        self.by_epoch = {}
        self.newest = {}

    def note(self, epoch, net):
        self.by_epoch[epoch] = {name: value.clone() for name, value in net.state_dict().items()}  # LT203
        self.newest["net"] = copy.deepcopy(net.state_dict())


def each_epoch(net: nn.Module, loader, optimizer):
    versions = Versions()
    for epoch in range(60):
        for x in loader:
            net(x).mean().backward()
            optimizer.step()
        versions.note(epoch, net)


def trained_at(client, net: nn.Module):
    for x in client:
        net(x).mean().backward()
    return {name: value.cpu().clone() for name, value in net.state_dict().items()}


def rounds_of(clients, net: nn.Module, rounds):
    all_rounds = []
    for _ in range(rounds):
        answers = []
        for client in clients:
            answers.append(trained_at(client, copy.deepcopy(net)))
        all_rounds.append(answers)  # LT203
        net.load_state_dict(answers[-1])
    return all_rounds
