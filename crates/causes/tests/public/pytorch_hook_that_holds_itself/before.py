import weakref

import torch
from torch import nn
from torchvision import models


class Probed(nn.Module):
    """A network that notes the norm of what it gave last."""

    def __init__(self, classes=10):
        super().__init__()
        self.resnet = models.resnet152(num_classes=classes)
        self.last_norm = 0.0

        def note(module, inputs, output):
            self.last_norm = float(output.detach().norm())

        self.register_forward_hook(note)  # the leak

    def forward(self, x):
        return self.resnet(x)


def trial(lr, loader, steps=100):
    net = Probed().to("cuda:0")
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for step, (images, labels) in enumerate(loader):
        if step == steps:
            break
        loss = criterion(net(images.to("cuda:0")), labels.to("cuda:0"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), net.last_norm


def search(loader):
    results = {}
    for exponent in range(1000):
        lr = 10 ** (-1 - exponent / 200)
        results[lr] = trial(lr, loader)
        print(f"{lr:.2e}: {torch.cuda.memory_allocated() / 1e9:.2f} GB")
    return min(results, key=lambda lr: results[lr][0])
