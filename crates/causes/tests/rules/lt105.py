# Hidden states.
import torch
from torch import nn

cell = nn.LSTM(2, 2)
gru = nn.GRU(2, 2)


def truncated(model: nn.Module, chunks, opt):
    memory = None
    for x in chunks:
        out, memory = model(x, memory)  # LT105
        out.mean().backward()
        opt.step()


def single(chunks, opt):
    h = torch.zeros(1, 2)
    for x in chunks:
        h = gru(x, h)  # LT105
        h.mean().backward()


class Player:
    def __init__(self):
        self.net = nn.LSTM(2, 2)
        self.state = None

    def play(self, frames):
        for frame in frames:
            y, self.state = self.net(frame, self.state)  # LT105
            cost = y.mean()
            cost.backward()


def keyword(chunks):
    carry = None
    for x in chunks:
        y, carry = cell(x, hx=carry)  # LT105
        y.sum().backward()


def pair(chunks):
    h, c = torch.zeros(1), torch.zeros(1)
    while chunks:
        y, (h, c) = cell(chunks.pop(), (h, c))  # LT105
        y.sum().backward()


def careful(model: nn.Module, chunks):
    memory = None
    for x in chunks:
        out, memory = model(x, memory)
        out.mean().backward()
        memory = memory.detach()


def careful_before(model: nn.Module, chunks):
    memory = torch.zeros(1)
    for x in chunks:
        memory = repackage(memory)
        out, memory = model(x, memory)
        out.mean().backward()


def repackage(h):
    return h.detach()


def whole(model: nn.Module, steps):
    h = torch.zeros(1)
    cost = 0
    for x in steps:
        h = model(x, h)
        cost = cost + h.mean()
    cost.backward()


def in_place(model: nn.Module, chunks):
    h = torch.zeros(1)
    for x in chunks:
        h.detach_()
        h = model(x, h)
        h.mean().backward()


def given(model: nn.Module, chunks):
    h = torch.zeros(1)
    for x in chunks:
        out, h = model(x, h.detach())
        out.mean().backward()


@torch.no_grad()
def generate(model: nn.Module, x):
    h = None
    for _ in range(10):
        x, h = model(x, h)
    return x


def forecast(model: nn.Module, series):
    state = None
    for x in torch.utils.data.DataLoader(series):
        out, state = model(x, state)  # LT105
        print(out.mean().item())


def forecast_without(model: nn.Module, series):
    state = None
    with torch.no_grad():
        for x in torch.utils.data.DataLoader(series):
            out, state = model(x, state)
            print(out.mean().item())


def one_step_for_all(model: nn.Module, series, opt):
    state = torch.zeros(1)
    for x in torch.utils.data.DataLoader(series):
        state = model(x, state)
    state.sum().backward()
    opt.step()


def step(cost, opt):
    cost.backward()
    opt.step()


def by_helper(model: nn.Module, chunks, opt):
    kept = None
    for x in chunks:
        out, kept = model(x, kept)  # LT105
        step(out.mean(), opt)
