# Embeddings that are computed once.
import torch
from torch import nn


def tune(head: nn.Module, text_model: nn.Module, tokens, batches, device, opt):
    anchors = text_model(tokens)  # LT107
    for x in batches:
        score = head(x) @ anchors.to(device).T
        score.mean().backward()
        opt.step()


def tune_parts(head: nn.Module, text_model: nn.Module, prompts, batches, opt):
    vectors = [text_model(prompt) for prompt in prompts]  # LT107
    for at, x in enumerate(batches):
        out = head(x) + vectors[at].cuda()
        out.sum().backward()
        opt.step()


class Fit:
    def __init__(self, head: nn.Module, teacher: nn.Module, names):
        self.head = head
        self.targets = teacher(names)  # LT107
        self.by_name = {name: teacher(name) for name in names}  # LT107
        self.calm = teacher(names).detach()
        with torch.no_grad():
            self.frozen = teacher(names)

    def run(self, batches, device):
        for name, x in batches:
            gap = self.head(x) - self.targets.to(device)
            gap = gap - self.by_name[name].to(device) - self.calm.to(device) - self.frozen.to(device)
            gap.sum().backward()


prompt_net = nn.Linear(3, 3)
bank = prompt_net(torch.ones(3))  # LT107
for step in range(100):
    loss = (bank.to("cpu") * step).sum()
    loss.backward()


# Harmless: computed in each step, without gradients, or not moved in training.
def each(head: nn.Module, text_model: nn.Module, tokens, batches, device):
    for x in batches:
        anchors = text_model(tokens)
        (head(x) @ anchors.to(device)).mean().backward()


@torch.no_grad()
def embed(text_model: nn.Module, tokens):
    found = text_model(tokens)
    return found.to("cpu")


def detached(head: nn.Module, text_model: nn.Module, tokens, batches, device):
    anchors = text_model(tokens).detach()
    for x in batches:
        (head(x) @ anchors.to(device)).mean().backward()


def only_looked_at(text_model: nn.Module, tokens, batches, device):
    anchors = text_model(tokens)
    for x in batches:
        print((x @ anchors.to(device)).argmax())


def once(head: nn.Module, text_model: nn.Module, tokens, device):
    anchors = text_model(tokens)
    (head(tokens) @ anchors.to(device)).mean().backward()
