#!/usr/bin/env python3
"""A transformer trained as reports train theirs, with remedies for memory on or off.

`remedy_loop.py STEPS [--gc N] [--set-to-none] [--no-workers]`: collect garbage every N steps, drop gradients instead of
writing zeros, load data in the process itself instead of in two workers.
"""

import argparse
import gc

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    """Made-up sentences of 64 tokens; making one takes some work, as reading one does."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(index)
        return torch.randint(0, 2000, (64,), generator=generator)


class Model(nn.Module):
    """Two encoder layers and a head that says which token it is."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(128, 2000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embedding(tokens)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--gc", type=int, default=0)
    parser.add_argument("--set-to-none", action="store_true")
    parser.add_argument("--no-workers", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model().train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    loader = DataLoader(Sentences(), batch_size=8, num_workers=0 if args.no_workers else 2)
    for step, tokens in enumerate(loader, 1):
        optimizer.zero_grad(set_to_none=args.set_to_none)
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        if args.gc and step % args.gc == 0:
            gc.collect()
        if step == args.steps:
            break


if __name__ == "__main__":
    main()
