from functools import lru_cache

import torch
from torch import nn


class SinePositions(nn.Module):
    """Fixed position embeddings of a feature map."""

    def __init__(self, width=256, temperature=10_000):
        super().__init__()
        self.width = width
        self.temperature = temperature

    @lru_cache(maxsize=32)  # the leak
    def table(self, height, columns, device):  # the leak
        ys, xs = torch.meshgrid(torch.arange(height), torch.arange(columns), indexing="ij")
        omega = torch.arange(self.width // 4) / (self.width // 4)
        omega = 1.0 / self.temperature**omega
        parts = [ys.flatten()[:, None] * omega, xs.flatten()[:, None] * omega]
        table = torch.cat([f(part) for part in parts for f in (torch.sin, torch.cos)], dim=1)
        return table.unsqueeze(0).to(device)

    def forward(self, features):
        _, _, height, columns = features.shape
        return self.table(height, columns, features.device)


class Encoder(nn.Module):
    def __init__(self, width=256, layers=1):
        super().__init__()
        self.positions = SinePositions(width)
        layer = nn.TransformerEncoderLayer(width, nhead=8, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)

    def forward(self, features):
        tokens = features.flatten(2).transpose(1, 2) + self.positions(features)
        return self.layers(tokens)


def compare(widths, images):
    for width in widths:
        model = Encoder(width).to("cuda").eval()
        with torch.inference_mode():
            print(width, model(images[width]).mean().item())
        del model
        torch.cuda.empty_cache()
