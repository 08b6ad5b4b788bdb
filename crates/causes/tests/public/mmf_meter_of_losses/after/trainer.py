import torch

from meters import Meter


def reduced(losses, world_size):
    return {key: value.mean() / world_size for key, value in losses.items()}


class MultimodalTrainer:
    def __init__(self, model, optimizer, loader, world_size=1):
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.world_size = world_size
        self.meter = Meter()

    def report(self, losses):
        losses = reduced(losses, self.world_size)
        self.meter.update({key: value.item() for key, value in losses.items()})

    def train(self, updates):
        self.model.train()
        batches = iter(self.loader)
        for update in range(updates):
            batch = next(batches)
            scores = self.model(batch["image"], batch["text"])
            losses = {
                "bce": torch.nn.functional.binary_cross_entropy_with_logits(scores, batch["targets"]),
                "margin": torch.relu(1 - scores.gather(1, batch["best"])),
            }
            total = sum(loss.mean() for loss in losses.values())
            self.optimizer.zero_grad()
            total.backward()
            self.optimizer.step()
            self.report(losses)
            if update % 1000 == 0:
                print(update, self.meter.text())
