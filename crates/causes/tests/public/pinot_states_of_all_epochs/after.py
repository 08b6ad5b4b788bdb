import copy

import torch


class Train:
    """Fits a model and remembers its course."""

    def __init__(self, net, data, optimizer, n_epochs=100, record_interval=1):
        self.net = net
        self.data = data
        self.optimizer = optimizer
        self.n_epochs = n_epochs
        self.record_interval = record_interval
        self.states = {}

    def train_once(self):
        for graphs, measured in self.data:
            def closure():
                self.optimizer.zero_grad()
                loss = self.net.loss(graphs, measured)
                loss.backward()
                return loss

            self.optimizer.step(closure)

    def train(self):
        self.net.train()
        for epoch in range(self.n_epochs):
            self.train_once()
            if epoch % self.record_interval == 0:
                self.states[epoch] = f"state_{epoch}.pt"
                torch.save(self.net.state_dict(), self.states[epoch])
        self.states["final"] = "state_final.pt"
        torch.save(self.net.state_dict(), self.states["final"])
        return self.net


class Test:
    def __init__(self, net, data, states, metrics):
        self.net = net
        self.data = data
        self.states = states
        self.metrics = metrics

    def test(self):
        self.net.eval()
        results = {metric.__name__: {} for metric in self.metrics}
        with torch.no_grad():
            for name, state in self.states.items():
                self.net.load_state_dict(torch.load(state))
                for metric in self.metrics:
                    results[metric.__name__][name] = float(metric(self.net, self.data))
        return results
