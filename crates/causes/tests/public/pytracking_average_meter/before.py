import time
from collections import OrderedDict

import torch


class AverageMeter:
    def __init__(self):
        self.val = self.avg = self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n  # the leak
        self.count += n
        self.avg = self.sum / self.count


class TrackerTrainer:
    def __init__(self, actor, loaders, optimizer, print_interval=50):
        self.actor = actor
        self.loaders = loaders
        self.optimizer = optimizer
        self.print_interval = print_interval
        self.stats = OrderedDict({loader.name: {} for loader in loaders})

    def cycle_dataset(self, loader):
        self.actor.train()
        started = time.time()
        for index, data in enumerate(loader, 1):
            data = data.to("cuda:0")
            loss, stats = self.actor(data)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self._update_stats(stats, loader.batch_size, loader)
            if index % self.print_interval == 0:
                rate = index * loader.batch_size / (time.time() - started)
                shown = {name: float(meter.avg) for name, meter in self.stats[loader.name].items()}
                print(loader.name, index, f"{rate:.1f} per second", shown)

    def _update_stats(self, new_stats, batch_size, loader):
        for name, val in new_stats.items():
            meters = self.stats[loader.name]
            if name not in meters:
                meters[name] = AverageMeter()
            meters[name].update(val, batch_size)  # the leak


class BoxActor:
    def __init__(self, net, objective):
        self.net = net
        self.objective = objective

    def train(self):
        self.net.train()

    def __call__(self, data):
        iou = self.net(data["train_images"], data["test_images"], data["proposals"])
        loss = self.objective(iou, data["proposal_iou"])
        return loss, {"Loss/total": loss, "Loss/iou": loss}
