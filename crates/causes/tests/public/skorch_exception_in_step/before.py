import torch
from torch import nn


class BadBatch(Exception):
    pass


def train_step(net, optimizer, x, y):
    optimizer.zero_grad()
    predicted = net(x)
    loss = nn.functional.mse_loss(predicted, y)
    if not torch.isfinite(loss):
        raise BadBatch(f"loss is {loss.item()}")
    loss.backward()
    optimizer.step()
    return loss.item()


def fit(net, loader, epochs, lr=0.1):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    skipped = []
    for epoch in range(epochs):
        losses = []
        for x, y in loader:
            x, y = x.to("cuda"), y.to("cuda")
            try:
                losses.append(train_step(net, optimizer, x, y))
            except BadBatch as exc:
                skipped.append((epoch, exc))  # the leak
        allocated = torch.cuda.memory_allocated() / 1e6
        print(f"{epoch}: {sum(losses) / max(1, len(losses)):.4f}, {allocated:.1f} MB, skipped {len(skipped)}")


def main(loader):
    net = nn.Sequential(nn.Linear(20, 1000), nn.ReLU(), nn.Linear(1000, 1)).to("cuda")
    fit(net, loader, epochs=20)


if __name__ == "__main__":
    from data import noisy_loader

    main(noisy_loader())
