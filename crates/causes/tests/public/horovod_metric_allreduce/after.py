import argparse

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torchvision import models


class Averaged:
    """A figure averaged over steps and workers."""

    def __init__(self, name):
        self.name = name
        self.total = torch.tensor(0.0)
        self.count = torch.tensor(0.0)

    def update(self, value):
        self.total += hvd.allreduce(value.detach().cpu(), name=self.name)
        self.count += 1

    @property
    def mean(self):
        return self.total / self.count


def train_epoch(epoch, net, loader, optimizer):
    net.train()
    train_loss = Averaged("train_loss")
    for step, (images, classes) in enumerate(loader):
        images, classes = images.cuda(), classes.cuda()
        optimizer.zero_grad()
        logits = net(images)
        loss = F.cross_entropy(logits, classes)
        loss.backward()
        optimizer.step()
        train_loss.update(loss)
        if step % 100 == 0 and hvd.rank() == 0:
            print(f"{epoch}/{step}: {train_loss.mean.item():.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--lr", type=float, default=0.0125)
    args = parser.parse_args()
    hvd.init()
    net = models.resnet50().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr * hvd.size(), momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=net.named_parameters())
    from data import imagenet_loader

    loader = imagenet_loader(hvd.rank(), hvd.size())
    for epoch in range(args.epochs):
        train_epoch(epoch, net, loader, optimizer)


if __name__ == "__main__":
    main()
