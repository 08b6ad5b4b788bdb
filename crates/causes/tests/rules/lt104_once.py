# What is computed when it is first asked for, and kept with its graph.
import torch
from torch import nn
from transformers import CLIPModel


class Prompts:
    def __init__(self, name, tokens):
        self.clip = CLIPModel.from_pretrained(name)
        self.tokens = tokens
        self.found = None
        self.calm = None
        self.of_step = None

    def ask(self):
        if self.found is None:
            self.found = self.clip.get_text_features(self.tokens)  # LT104
        return self.found

    def ask_calm(self):
        if self.calm is None:
            with torch.no_grad():
                self.calm = self.clip.get_text_features(self.tokens)
        return self.calm

    def ask_for_step(self):
        if self.of_step is None:
            self.of_step = self.clip.get_text_features(self.tokens)
        return self.of_step

    def end_step(self):
        self.of_step = None


def tune(name, tokens, feed, sgd):
    prompts = Prompts(name, tokens)
    for x in feed:
        scale = prompts.ask() + prompts.ask_calm() + prompts.ask_for_step()
        (x @ scale.T).mean().backward()
        sgd.step()
        prompts.end_step()


class Table(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.make = nn.Linear(width, width)
        self.rows = None
        self.eval_rows = None

    def forward(self, x):
        if self.rows is None:
            self.rows = self.make(torch.eye(x.shape[-1]))  # LT104
        if not self.training:
            if self.eval_rows is None:
                self.eval_rows = self.make(torch.eye(x.shape[-1]))
        return x @ self.rows
