# Embeddings that are moved when they are made, and used with their graph in a training.
import torch
from torch import nn


def embed(text_model: nn.Module, prompts):
    return {prompt: text_model(prompt).mean(1) for prompt in prompts}


def embed_calmly(text_model: nn.Module, prompts):
    with torch.no_grad():
        return {prompt: text_model(prompt).mean(1) for prompt in prompts}


def tune(head, text_model: nn.Module, prompts, feed, device, sgd):
    found = embed(text_model, prompts)
    found = {prompt: one.to(device) for prompt, one in found.items()}  # LT107
    calm = {prompt: one.to(device) for prompt, one in embed_calmly(text_model, prompts).items()}
    for x, prompt in feed:
        gap = head(x, found[prompt]) - calm[prompt]
        sgd.zero_grad()
        gap.mean().backward()
        sgd.step()


class Head(nn.Module):
    def __init__(self, text_model: nn.Module, names, device):
        super().__init__()
        rows, calm = [], []
        for name in names:
            rows.append(text_model(name).squeeze(0))
            calm.append(text_model(name).squeeze(0).detach())
        self.rows = torch.stack(rows).to(device)  # LT107
        self.calm = torch.stack(calm).to(device)
        self.unused = torch.stack(rows).to(device)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.scale * x @ (self.rows + self.calm).T


class Edges(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.ones(1, 1, 3, 3))

    def move(self, device):
        self.kernel = self.kernel.to(device)

    def forward(self, x):
        return nn.functional.conv2d(x, self.kernel)


def typed(make, feed, kind, sgd):
    net = make()
    net = net.to(kind)
    print(sum(p.numel() for p in net.parameters()))
    for x in feed:
        net(x).sum().backward()
        sgd.step()
