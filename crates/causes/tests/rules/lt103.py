# Outputs kept.
import collections

import lightning as L
import torch
from torch import nn

ARCHIVE = {}


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(2, 2)
        self.kept = []
        self.cleared = []
        self.recent = collections.deque(maxlen=4)

    def training_step(self, batch, batch_idx):
        z = self.enc(batch)
        self.kept.append(z)  # LT103
        self.kept.append({"z": z, "n": batch_idx})  # LT103
        self.kept.append((z.detach(), batch_idx))
        self.kept.append(z.item())
        self.cleared.append(z)
        self.recent.append(z)
        return z.mean()

    def on_train_epoch_end(self):
        self.cleared.clear()

    @torch.no_grad()
    def look(self, batch):
        self.kept.append(self(batch))


def run(model: nn.Module, loader, opt):
    curve = []
    numbers = []
    losses = []
    for step, x in enumerate(loader):
        out = model(x)
        loss = out.pow(2).mean()
        loss.backward()
        opt.step()
        curve.append(loss)  # LT103
        ARCHIVE[step] = out[0]  # LT103
        ARCHIVE["last"] = out
        numbers.append(loss.item())
        numbers.append(loss.detach().cpu())
        numbers.append(out.argmax(-1))
        fresh = []
        fresh.append(out)
    for x in loader:
        losses.append(model(x).mean())
    torch.stack(losses).mean().backward()
    total = sum(losses)
    total.backward()
    return curve


def collect(model: nn.Module, loader):
    outs = []
    for x in loader:
        outs.insert(0, model(x))  # LT103
    return outs


def views(tensors):
    parts = []
    for t in tensors:
        parts.append(t * 2)
    return parts


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.head = nn.Linear(2, 2)
        self.seen = []

    def forward(self, x):
        states = ()
        parts = []
        for layer in self.layers:
            x = self.head(x)
            parts.append(x)
            states += (x,)
            self.seen.append(x)  # LT103
        return parts, states
