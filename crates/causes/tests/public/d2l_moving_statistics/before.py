import torch
from torch import nn


def normalised(X, gamma, beta, moving_mean, moving_var, training, eps=1e-5, momentum=0.9):
    if not training:
        X_hat = (X - moving_mean) / torch.sqrt(moving_var + eps)
    else:
        mean = X.mean(dim=(0, 2, 3), keepdim=True)
        var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        X_hat = (X - mean) / torch.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    Y = gamma * X_hat + beta
    return Y, moving_mean, moving_var  # the leak


class NormLayer(nn.Module):
    def __init__(self, channels):
        super().__init__()
        shape = (1, channels, 1, 1)
        self.gamma = nn.Parameter(torch.ones(shape))
        self.beta = nn.Parameter(torch.zeros(shape))
        self.moving_mean = torch.zeros(shape)
        self.moving_var = torch.ones(shape)

    def forward(self, X):
        if self.moving_mean.device != X.device:
            self.moving_mean = self.moving_mean.to(X.device)
            self.moving_var = self.moving_var.to(X.device)
        Y, self.moving_mean, self.moving_var = normalised(  # the leak
            X, self.gamma, self.beta, self.moving_mean, self.moving_var, self.training
        )
        return Y


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5), NormLayer(6), nn.Sigmoid(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5), NormLayer(16), nn.Sigmoid(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 10),
    )


def train(net, batches, epochs, lr, device):
    net.to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    loss = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for X, y in batches:
            X, y = X.to(device), y.to(device)
            optimizer.zero_grad()
            l = loss(net(X), y)
            l.backward()
            optimizer.step()
