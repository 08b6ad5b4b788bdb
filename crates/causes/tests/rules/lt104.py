# Caches of what a model gave, graph and all.
import torch
from torch import nn

TOKENS = {}


def token(net: nn.Module, word):
    if word not in TOKENS:
        TOKENS[word] = net(word)  # LT104
    return TOKENS[word]


def words(net: nn.Module, corpus):
    for sentence in corpus:
        for word in sentence:
            token(net, word)
            looked_up(net, word)


def looked_up(net: nn.Module, word):
    hit = TOKENS.get(word)
    if hit is None:
        hit = TOKENS[word] = net(word).mean()  # LT104
    return hit


class Prompts(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(4, 4)
        self.known = {}
        self.frozen = {}
        self.flags = {}
        self.short = {}

    def forward(self, x, name):
        if name in self.known:
            return self.known[name]
        out = self.core(x)
        self.known[name] = out  # LT104
        return out

    def pooled(self, x, name):
        if name not in self.known:
            self.known[name] = (self.core(x), name)  # LT104
        return self.known[name][0]

    # Harmless: nothing with a graph is kept, or only as long as a step.
    def still(self, x, name):
        if name not in self.frozen:
            with torch.no_grad():
                self.frozen[name] = self.core(x)
        return self.frozen[name]

    def detached(self, x, name):
        if name not in self.flags:
            self.flags[name] = self.core(x).detach()
        return self.flags[name]

    def within(self, x, name):
        table = {}
        if name not in table:
            table[name] = self.core(x)
        return table[name]

    def shorter(self, x, name):
        if name not in self.short:
            self.short[name] = self.core(x)
        return self.short[name]

    def on_step_end(self):
        self.short.clear()


def epochs(model: Prompts, encoder: nn.Module, pairs):
    made = {}
    for _ in range(10):
        for key, x in pairs:
            if key not in made:
                made[key] = encoder(x)  # LT104
            loss = model(made[key], key).sum()
            loss.backward()
            model.pooled(x, key)
            model.still(x, key)
            model.detached(x, key)
            model.within(x, key)
            model.shorter(x, key)
            model.on_step_end()


def numbers(net: nn.Module, pairs):
    scores = {}
    for key, x in pairs:
        if key not in scores:
            scores[key] = net(x).sum().item()
    return scores
