# A server that is given the states of its clients in every round.
import copy

import torch
from torch import nn


class Server:
    def __init__(self, net: nn.Module):
        self.net = net
        self.history = []
        self.norms = []
        self.last = None

    def merge(self, states):
        self.history.append(states)  # LT203
        self.norms.append(max(state["weight"].norm().item() for state in states))
        self.last = states
        self.net.load_state_dict({key: sum(state[key] for state in states) / len(states) for key in states[0]})


class Client:
    def __init__(self, feed):
        self.feed = feed

    def fit(self, shared):
        net = copy.deepcopy(shared)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in self.feed:
            sgd.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            sgd.step()
        return net.state_dict()


def federate(server: Server, clients: list[Client], rounds):
    for turn in range(rounds):
        server.merge([client.fit(server.net) for client in clients])
