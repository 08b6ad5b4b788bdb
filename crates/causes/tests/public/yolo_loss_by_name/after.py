from collections import defaultdict

import torch
from torch.amp import GradScaler, autocast


class DetectorTrainer:
    def __init__(self, model, criterion, optimizer, device, progress):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.device = device
        self.progress = progress
        self.scaler = GradScaler()

    def one_batch(self, images, boxes):
        images, boxes = images.to(self.device), boxes.to(self.device)
        self.optimizer.zero_grad()
        with autocast("cuda"):
            predicted = self.model(images)
            loss, parts = self.criterion(predicted, boxes)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return parts

    def one_epoch(self, loader):
        self.model.train()
        sums = defaultdict(float)
        seen = 0
        for images, boxes in loader:
            parts = self.one_batch(images, boxes)
            size = len(images)
            seen += size
            for name, part in parts.items():
                sums[name] += part.item() * size
            self.progress.one_batch(size)
        return {name: value / seen for name, value in sums.items()}

    def solve(self, loader, epochs):
        for epoch in range(epochs):
            means = self.one_epoch(loader)
            self.progress.finish_epoch(epoch, means)


class BoxCriterion:
    def __call__(self, predicted, boxes):
        overlap = (predicted[..., :4] - boxes[..., :4]).abs().mean()
        classes = (predicted[..., 4:] - boxes[..., 4:]).pow(2).mean()
        return 7.5 * overlap + 0.5 * classes, {"box": overlap, "class": classes}
