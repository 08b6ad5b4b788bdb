"""Two models that get new parameters, one round for each line that is read: the one keeps them, the other puts them in the old ones' place."""

import json
import sys

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict()
        self.head = nn.Linear(8, 8)


def train(model, optimizer):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


keeps, replaces = Model(), Model()
of_keeps, of_replaces = torch.optim.Adam(keeps.parameters()), torch.optim.Adam(replaces.parameters())
sys.stdout.write(json.dumps({"version": sys.version.split()[0], "torch": torch.__version__}) + "\n")
while True:
    for _ in range(20):
        keeps.parts[str(len(keeps.parts))] = part = nn.Linear(8, 8)
        of_keeps.add_param_group({"params": part.parameters()})
        train(keeps, of_keeps)
        replaces.head = nn.Linear(8, 8)
        of_replaces.add_param_group({"params": replaces.head.parameters()})
        train(replaces, of_replaces)
    sys.stdout.write("done\n")
    sys.stdout.flush()
    if not sys.stdin.readline():
        break
