import torch
from torch import nn
from torch.nn import functional as F


class FlowBatchNorm(nn.Module):
    """An invertible normalisation between the layers of a flow."""

    def __init__(self, features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        self.log_scale = nn.Parameter(torch.zeros(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.zeros(features))

    def forward(self, inputs):
        if self.training:
            mean, var = inputs.mean(0), inputs.var(0)
            self.running_mean.mul_(1 - self.momentum).add_(mean.detach() * self.momentum)
            self.running_var.mul_(1 - self.momentum).add_(var.detach() * self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.log_scale.exp()
        outputs = scale * (inputs - mean) / torch.sqrt(var + self.eps) + self.shift
        logabsdet = (self.log_scale - 0.5 * torch.log(var + self.eps)).sum()
        return outputs, logabsdet.expand(len(inputs))


class Flow(nn.Module):
    def __init__(self, features, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(features, features) for _ in range(layers))
        self.norms = nn.ModuleList(FlowBatchNorm(features) for _ in range(layers))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for linear, norm in zip(self.linears, self.norms):
            x, change = norm(F.leaky_relu(linear(x)))
            total = total + change
        return total - 0.5 * x.pow(2).sum(1)


def fit(flow, loader, epochs):
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in loader:
            loss = -flow.log_prob(batch).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
