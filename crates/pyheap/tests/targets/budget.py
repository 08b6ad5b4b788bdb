"""A training run that waits in the middle of a step, and what its components hold, in bytes."""

import json
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self):
        self.x = [torch.randn(3, 32, 32) for _ in range(500)]
        self.names = [bytes(4000) for _ in range(1000)]  # large: each in malloc's heap
        self.labels = [str(i) * 20 for i in range(5000)]  # small: in Python's arenas

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], i % 10


class Odd(torch.Tensor):
    """A parameter of it is no Parameter by its class."""


class Trainer:
    def __init__(self):
        self.odd = torch.nn.Parameter(torch.zeros(211, 100).as_subclass(Odd), requires_grad=False)
        self.listed = torch.nn.ParameterList([torch.randn(20, 300)])
        self.loose = [torch.zeros(300, 100, requires_grad=True)]
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32768, 64), torch.nn.Linear(64, 10)
        )
        self.optimizer = torch.optim.Adam(self.model.parameters())
        # A plain tensor that only the optimizer takes for a parameter.
        self.optimizer.add_param_group({"params": self.loose})
        self.state = [torch.zeros(70, 900)]
        self.loader = DataLoader(Pictures(), batch_size=16)
        self.kept = []

    def train(self):
        for i, (x, y) in enumerate(self.loader):
            out = self.model(x)
            loss = torch.nn.functional.cross_entropy(out, y) + 0 * self.loose[0].sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            # State of another shape, to which others refer, too.
            self.optimizer.state[self.loose[0]]["more"] = self.state
            if 3 <= i < 8:
                self.kept.append(self.model(x))
            if i == 8:
                self.say(x, y)

    def say(self, *batch):
        size = lambda tensors: sum(t.numel() * t.element_size() for t in tensors)  # noqa: E731
        parameters = [*self.model.parameters(), *self.loose, self.odd, *self.listed]
        state = [v for s in self.optimizer.state.values() for v in [*s.values(), *s.get("more", ())] if torch.is_tensor(v)]
        data = self.loader.dataset
        said = {
            "parameters": size(parameters),
            "gradients": size(p.grad for p in parameters if p.grad is not None),
            "optimizer": size(state),
            "buffers": size(self.model.buffers()),
            "data_tensors": size(data.x),
            "data_objects": sum(map(sys.getsizeof, data.names + data.labels)),
            "batch": size(batch),
            # The input of the normalisation, its output, the output of the first layer; of each output that is kept.
            "graph": len(self.kept) * 16 * (2 * 32 * 32 * 32 + 64) * 4,
        }
        del parameters, state, data, size
        print(json.dumps(said), flush=True)
        sys.stdin.read()


def main():
    Trainer().train()


main()
