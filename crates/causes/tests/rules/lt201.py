# What evaluations collect.
import lightning as L
import numpy as np
import torch
from torch import nn

ALL_SCORES = []


class Scorer(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(2, 2)
        self.found = []
        self.truth = []
        self.cleared = []
        self.renewed = []
        self.hits = []
        self.parts = []

    def validation_step(self, batch, batch_idx):
        x, y = batch
        guess = self.core(x).detach()
        self.found.append(guess)  # LT201
        self.truth.append(guess.cpu().numpy())  # LT201
        self.cleared.append(guess)
        self.renewed.append(guess)
        self.parts.append({"loss": self.core(x).mean()})  # LT201
        self.hits.append((guess.argmax(-1) == y).float().mean().item())

    def on_validation_epoch_end(self):
        print(torch.cat(self.found).mean(), self.truth, self.hits)
        self.cleared.clear()

    def on_validation_epoch_start(self):
        self.renewed = []


class Judge:
    def __init__(self, net: nn.Module, opt):
        self.net = net
        self.opt = opt
        self.masks = []
        self.table = {}

    def fit(self, days):
        for day in days:
            for x in day:
                self.net(x).sum().backward()
                self.opt.step()
            self.evaluate(day)
            self.local(day)
            self.given(day)

    @torch.inference_mode()
    def evaluate(self, batches):
        self.net.eval()
        for at, x in enumerate(batches):
            out = self.net(x)
            self.masks.append(out > 0.5)  # LT201
            self.masks.append(torch.sigmoid(out))  # LT201
            ALL_SCORES.append({"at": at, "out": out.cpu()})  # LT201
            self.table["last"] = out

    @torch.no_grad()
    def local(self, batches):
        kept = []
        for x in batches:
            kept.append(self.net(x).cpu())
        return torch.cat(kept)

    @torch.no_grad()
    def given(self, batches):
        numbers = {}
        for at, x in enumerate(batches):
            numbers[at] = float(self.net(x).mean())
            ALL_SCORES.append(round(numbers[at], 3))
        return numbers
