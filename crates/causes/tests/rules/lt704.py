# Compiled again for each size.
import torch
import torch._dynamo

torch._dynamo.config.recompile_limit = 5_000


def made(net):
    fast = torch.compile(net, dynamic=False)
    for width in range(4, 400):
        fast(torch.zeros(2, width)).sum().backward()  # LT704


def cut(net, feed):
    fast = torch.compile(net, dynamic=False, backend="aot_eager")
    for rows, length in feed:
        fast(rows[:, :length]).sum().backward()  # LT704


def by_name(net, feed):
    fast = torch.compile(net, dynamic=False)
    count = 1
    while count < 1000:
        part = torch.rand(count, 8)
        fast(part)  # LT704
        count += 1


class Steps:
    def __init__(self, net):
        self.fast = torch.compile(net, dynamic=False)

    def run(self, feed):
        for rows in feed:
            longest = int(rows.mask.sum(1).max())
            self.fast(rows.ids[:, :longest]).sum().backward()  # LT704
            self.fast(mask=torch.ones(longest)).sum().backward()  # LT704


# Harmless.


def any_size(net):
    fast = torch.compile(net, dynamic=True)
    for width in range(4, 400):
        fast(torch.zeros(2, width)).sum().backward()


def as_torch_likes(net):
    fast = torch.compile(net)
    for width in range(4, 400):
        fast(torch.zeros(2, width)).sum().backward()


def one_size(net, feed, width):
    fast = torch.compile(net, dynamic=False)
    for rows in feed:
        fast(torch.zeros(2, width)).sum().backward()
        fast(rows[:, :128]).sum().backward()


def windows(net, rows, size):
    fast = torch.compile(net, dynamic=False)
    for first in range(0, 1000, size):
        fast(rows[first : first + size]).sum().backward()


def not_compiled(net):
    fast = torch.compile(net, dynamic=False)
    for width in range(4, 400):
        net(torch.zeros(2, width)).sum().backward()
        fast(torch.zeros(2, 4))


def once(net, width):
    fast = torch.compile(net, dynamic=False)
    fast(torch.zeros(2, width))


class Conditioner(torch.optim.Optimizer):
    """A model has so many parameters, and each its own shape."""

    def __init__(self, params):
        super().__init__(params, {})
        self.fast = torch.compile(torch.linalg.norm, dynamic=False)

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                noise = torch.randn(p.shape)
                self.fast(noise)
