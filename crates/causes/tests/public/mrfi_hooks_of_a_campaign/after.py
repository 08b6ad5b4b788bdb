import torch
from torch import nn


class FaultInjector:
    """Flips values of activations as configured."""

    def __init__(self, model, rate):
        self.model = model
        self.rate = rate
        self.counts = {}
        self.handles = []
        self._add_hooks()

    def _add_hooks(self):
        for name, module in self.model.named_modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                self.counts[name] = 0
                self.handles.append(module.register_forward_hook(self._injection(name)))

    def _injection(self, name):
        def inject(module, inputs, output):
            mask = torch.rand_like(output) < self.rate
            self.counts[name] += int(mask.sum())
            return torch.where(mask, -output, output)

        return inject

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = seen = 0
    for images, labels in loader:
        right += (model(images.cuda()).argmax(1).cpu() == labels).sum().item()
        seen += len(labels)
    return right / seen


def campaign(model, loader, rates, repeats=100):
    results = []
    for rate in rates:
        for _ in range(repeats):
            injector = FaultInjector(model, rate)
            results.append((rate, accuracy(model, loader), sum(injector.counts.values())))
            injector.close()
    return results
