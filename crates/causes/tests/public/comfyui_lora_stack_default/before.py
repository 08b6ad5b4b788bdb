import re

import torch
from safetensors.torch import load_file

TAG = re.compile(r"<lora:([^:>]+):([0-9.]+)>")


def with_adapter(model, name, strength):
    """A copy of the model's weights with the adapter added."""
    weights = {key: value.clone() for key, value in model.items()}
    for key, delta in load_file(f"loras/{name}.safetensors").items():
        if key in weights:
            weights[key] += strength * delta.to(weights[key].dtype)
    return weights


def process_with_adapters(prompt, model, stack=[]):
    for name, strength in TAG.findall(prompt):
        model = with_adapter(model, name, float(strength))
        stack.append({"model": model, "name": name, "strength": float(strength)})  # the leak
    return TAG.sub("", prompt), model, stack


class ApplyAdapters:
    def __init__(self, base):
        self.base = base

    def apply(self, prompt):
        text, model, _ = process_with_adapters(prompt, self.base)
        return text, model


def sweep(base, prompts, generate):
    node = ApplyAdapters(base)
    scores = []
    for prompt in prompts:
        text, model = node.apply(prompt)
        with torch.inference_mode():
            scores.append(float(generate(model, text)))
    return scores
