# Running averages.
import torch
from torch import nn


class Centre(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(2, 2)
        self.mean = torch.zeros(2)
        self.slow = None

    def forward(self, x):
        z = self.proj(x)
        self.mean = 0.9 * self.mean + 0.1 * z.mean(0)  # LT102
        self.slow = self.slow.lerp(z.mean(0), 0.1)  # LT102
        return z

    def calm(self, x):
        z = self.proj(x)
        self.mean = 0.9 * self.mean + 0.1 * z.mean(0).detach()
        with torch.no_grad():
            self.mean = 0.9 * self.mean + 0.1 * z.mean(0)
        return z


smooth = None
model = Centre()
fast = torch.zeros(1)
for step in range(10):
    loss = model(step).mean()
    loss.backward()
    smooth = loss if smooth is None else smooth
    smooth = smooth * 0.98 + loss * 0.02  # LT102
    fast = loss / 10 + fast * 9 / 10  # LT102
    value = loss.item()
    fine = 0.0
    fine = 0.9 * fine + 0.1 * value
    model.calm(step)


def smooth_all(net: nn.Module, data, decay):
    state = {}
    ema = 0
    for x in data:
        ema = decay * ema + (1 - decay) * net(x).norm()  # LT102
        plain = decay * ema.detach() + 1
    return plain


def number(net: nn.Module, data):
    avg = 0.0
    for x in data:
        avg = 0.9 * avg + 0.1 * float(net(x).mean())
    return avg


def moment(data):
    m = torch.zeros(1)
    for x in data:
        m = 0.9 * m + 0.1 * x
    return m


@torch.inference_mode()
def stats(net: nn.Module, data):
    m = 0
    for x in data:
        m = 0.9 * m + 0.1 * net(x)
    return m


def used(net: nn.Module, data):
    m = 0
    for x in data:
        m = 0.9 * m + 0.1 * net(x).mean()
    m.backward()


class Whitening(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))
        self.register_buffer("apart", torch.zeros(width))
        self.register_buffer("bare", torch.zeros(width))
        self.limits = torch.zeros(width)
        self.mixed = torch.zeros(width)

    def forward(self, x):
        self.centre.mul_(0.9).add_(x.mean(0) * 0.1)  # LT102
        self.spread.lerp_(x.var(0), 0.1)  # LT102
        self.apart.lerp_(x.detach().mean(0), 0.1)
        self.bare.data.mul_(0.9).add_(x.mean(0))
        y, self.limits = self.clamped(x, self.limits)  # LT102
        self.keep(x.amax(0))
        with torch.no_grad():
            self.mixed.lerp_(x.mean(0), 0.1)
        return y

    def keep(self, most):
        self.mixed = 0.9 * self.mixed + 0.1 * most  # LT102

    @staticmethod
    def clamped(x, limits):
        limits = 0.9 * limits + 0.1 * x.abs().amax(0)
        return torch.clamp(x, max=limits.detach()), limits


class Smooth:
    def __init__(self):
        self.value = 0.0
        self.plain = 0.0

    def push(self, value):
        self.value = 0.9 * self.value + 0.1 * value  # LT102

    def push_plain(self, value):
        self.plain = 0.9 * self.plain + 0.1 * value


def step_of(net: nn.Module, x):
    cost = net(x).pow(2).mean()
    return cost, {"cost": cost, "count": len(x)}


def smoothly(net: nn.Module, xs):
    smooth = Smooth()
    for x in xs:
        cost, parts = step_of(net, x)
        cost.backward()
        smooth.push(parts["cost"])
        smooth.push_plain(parts["count"])
