import torch
from torch import nn


def to_detach(value, cpu=True):
    if isinstance(value, (list, tuple)):
        return [to_detach(part, cpu) for part in value]
    value = value.detach()
    return value.cpu() if cpu else value


class Learner:
    def __init__(self, model, loss_func, opt, device):
        self.model = model.to(device)
        self.loss_func = loss_func
        self.opt = opt
        self.device = device

    def on_device(self, *values):
        return [value.to(self.device) for value in values]

    def fit(self, epochs, loader):
        for _ in range(epochs):
            self.model.train()
            for xb, yb in loader:
                xb, yb = self.on_device(xb, yb)
                loss = self.loss_func(self.model(xb), yb)
                loss.backward()
                self.opt.step()
                self.opt.zero_grad()

    def get_preds(self, loader):
        self.model.eval()
        preds, targets = [], []
        with torch.no_grad():
            for xb, yb in loader:
                xb, yb = self.on_device(xb, yb)
                preds.append(to_detach(self.model(xb)))
                targets.append(to_detach(yb))
        return torch.cat(preds), torch.cat(targets)


def main(train_loader, test_loader):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 256), nn.ReLU(), nn.Linear(256, 37))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    learn = Learner(model, nn.CrossEntropyLoss(), opt, torch.device("cuda"))
    learn.fit(4, train_loader)
    preds, targets = learn.get_preds(test_loader)
    print((preds.argmax(1) == targets).float().mean())
