# Sums of what a framework or a caller brings.
import lightning as L
import torch


class Denoiser(L.LightningModule):
    def __init__(self, unet):
        super().__init__()
        self.unet = unet
        self.of_epoch = 0.0
        self.of_epoch_well = 0.0
        self.level = 0.0
        self.curve = []

    def training_step(self, batch, batch_idx):
        loss = (self.unet(batch) - batch).pow(2).mean()
        self.of_epoch += loss  # LT101
        self.of_epoch_well += loss.detach()
        self.level = 0.9 * self.level + 0.1 * loss  # LT102
        self.curve += [loss.item()]
        return loss

    def on_train_epoch_end(self):
        self.of_epoch = 0.0


class Mean:
    def __init__(self):
        self.total = torch.tensor(0.0)
        self.count = 0

    def __call__(self, value, count):
        self.total = self.total + value * count  # LT101
        self.count += count


class CalmMean:
    def __init__(self):
        self.total = 0.0

    def __call__(self, value, count):
        self.total = self.total + value.item() * count


class Runner:
    def __init__(self, net, criterion, sgd):
        self.net, self.criterion, self.sgd = net, criterion, sgd
        self.mean, self.calm = Mean(), CalmMean()

    def run(self, feed):
        for x, y in feed:
            loss = self.criterion(self.net(x), y)
            self.sgd.zero_grad()
            loss.backward()
            self.sgd.step()
            self.mean(loss, len(x))
            self.calm(loss, len(x))


def by_task(net, feed, criteria, sgd):
    sums, calm = {}, {}
    for x, wanted in feed:
        found = net(x)
        total = 0.0
        for task, criterion in criteria.items():
            part = criterion(found[task], wanted[task]).mean()
            total = total + part
            calm[task] = calm.get(task, 0.0) + part.item()
        sgd.zero_grad()
        total.backward()
        sgd.step()
    return sums, calm
