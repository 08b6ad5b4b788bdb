import logging
import time

import torch
from torch.utils.data import DataLoader


class AverageMeters:
    """Mean and last value of several quantities at once."""

    def __init__(self, names):
        self.names = names
        self.reset()

    def reset(self):
        self._last = [0 for _ in self.names]
        self._sum = [0 for _ in self.names]
        self._count = [0 for _ in self.names]

    def update(self, values):
        for i, value in enumerate(values):
            self._last[i] = value
            self._sum[i] += value
            self._count[i] += 1

    def avg(self, i):
        return self._sum[i] / max(1, self._count[i])


class CompletionRunner:
    def __init__(self, config, model, chamfer, optimizer):
        self.config = config
        self.model = model
        self.chamfer = chamfer
        self.optimizer = optimizer
        self.losses = AverageMeters(["coarse", "refined"])

    def train_step(self, items):
        _, (partial, complete) = items
        partial, complete = partial.cuda(), complete.cuda()
        coarse, refined = self.model(partial)
        coarse_loss = self.chamfer(coarse, complete).mean()
        refined_loss = self.chamfer(refined, complete).mean()
        self.losses.update([coarse_loss.item() * 1000, refined_loss.item() * 1000])
        self.optimizer.zero_grad()
        (coarse_loss + refined_loss).backward()
        self.optimizer.step()

    def run(self, data):
        loader = DataLoader(data, batch_size=self.config.batch, shuffle=True, num_workers=4)
        for epoch in range(self.config.epochs):
            started = time.time()
            self.model.train()
            for items in loader:
                self.train_step(items)
            logging.info("epoch %d %.1f s coarse %.4f", epoch, time.time() - started, self.losses.avg(0))
            torch.save(self.model.state_dict(), self.config.checkpoint)
