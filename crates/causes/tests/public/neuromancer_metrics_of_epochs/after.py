import copy

import torch
from torch import nn


class Problem(nn.Module):
    """Nodes whose outputs come together in one weighted loss."""

    def __init__(self, nodes, loss):
        super().__init__()
        self.nodes = nn.ModuleList(nodes)
        self.loss = loss

    def forward(self, data):
        output = dict(data)
        for node in self.nodes:
            output.update(node(output))
        output["loss"] = self.loss(output)
        return {f"{data['name']}_{key}": value for key, value in output.items() if key != "name"}


class Trainer:
    def __init__(self, problem, train_data, dev_data, optimizer, epochs=1000, warmup=0):
        self.model = problem
        self.train_data = train_data
        self.dev_data = dev_data
        self.optimizer = optimizer
        self.epochs = epochs
        self.warmup = warmup
        self.train_metric, self.dev_metric, self.best = [], [], float("inf")

    def train(self):
        best_model = copy.deepcopy(self.model.state_dict())
        for epoch in range(self.epochs):
            self.model.train()
            losses = []
            for batch in self.train_data:
                output = self.model(batch)
                self.optimizer.zero_grad()
                output["train_loss"].backward()
                self.optimizer.step()
                losses.append(output["train_loss"].detach())
            self.train_metric.append(torch.mean(torch.stack(losses)).item())

            with torch.set_grad_enabled(False):
                self.model.eval()
                losses = [self.model(batch)["dev_loss"] for batch in self.dev_data]
                mean = torch.mean(torch.stack(losses))
                self.dev_metric.append(mean.item())
                if mean < self.best and epoch > self.warmup:
                    best_model = copy.deepcopy(self.model.state_dict())
                    self.best = mean.item()
        return best_model
