# Containers of data that are replaced by their own copies on the device.
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
read = np.load("rows.npz")
rows = {name: torch.from_numpy(read[name]) for name in read.files}
rows = {name: row.to(device) for name, row in rows.items()}  # LT502
parts = TensorDataset(rows["x"], rows["y"])


def fit(root, device, net, sgd):
    splits = {name: torch.load(f"{root}/{name}.pt") for name in ("train", "val")}
    for name in splits:
        for key in splits[name]:
            splits[name][key] = splits[name][key].to(device)  # LT502
    for epoch in range(5):
        x, y = splits["train"]["x"], splits["train"]["y"]
        for at in range(0, len(x), 64):
            a, b = x[at : at + 64], y[at : at + 64]
            sgd.zero_grad()
            (net(a) - b).pow(2).mean().backward()
            sgd.step()


@dataclass
class Node:
    train: list
    val: list

    def to(self, device):
        self.train = [(x.to(device), y.to(device)) for x, y in self.train]  # LT502
        self.val = [(x.to(device), y.to(device)) for x, y in self.val]  # LT502
        return self


def visit(node: Node, net, device):
    node.to(device)
    for x, y in node.train:
        (net(x) - y).pow(2).mean().backward()


def rounds(nodes, net, device):
    for turn in range(100):
        for node in nodes:
            visit(node, net, device)


class Server:
    def __init__(self, shards, net, device):
        self.shards, self.net, self.device = shards, net, device

    def prepare(self, at):
        shard = self.shards[at]
        self.shards[at] = {part: [x.to(self.device) for x in xs] for part, xs in shard.items()}  # LT502
        return self.shards[at]

    def round(self, sampled, sgd):
        for at in sampled:
            for x in self.prepare(at)["train"]:
                self.net(x).sum().backward()
                sgd.step()


# Harmless: a batch, a model's state, an optimizer's, and what is used as a whole.
def batches(loader, net, device):
    for batch in loader:
        batch = {key: x.to(device) for key, x in batch.items()}
        net(batch["x"]).sum().backward()


def move(batch, device):
    batch = {key: x.to(device) for key, x in batch.items()}
    return batch


def restore(path, sgd, net, device):
    state = torch.load(path)
    weights = {key: x.to(device) for key, x in net.state_dict().items()}
    weights = {key: x.to(device) for key, x in weights.items()}
    for per in sgd.state.values():
        for key, x in per.items():
            per[key] = x.to(device)
    return state, weights


def whole(net, graph, device, sgd):
    graph = {"x": torch.ones(3), "edges": torch.ones(2)}
    graph = {key: x.to(device) for key, x in graph.items()}
    for epoch in range(100):
        sgd.zero_grad()
        net(graph["x"], graph["edges"]).sum().backward()
        sgd.step()
