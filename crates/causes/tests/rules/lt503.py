# Samples on the GPU.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

CARD = torch.device("cuda:1" if torch.cuda.is_available() else "cpu")


class Direct(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.from_numpy(self.rows[at]).cuda()  # LT503


class Global(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        row = torch.as_tensor(self.rows[at])
        return row.to(CARD, non_blocking=True)  # LT503


class Given(Dataset):
    def __init__(self, rows, where="cuda"):
        self.rows = rows
        self.where = where

    def __len__(self):
        return len(self.rows)

    def tensor(self, row):
        return torch.tensor(row, device=self.where)  # LT503

    def __getitem__(self, at):
        return self.tensor(self.rows[at])


class Flow(IterableDataset):
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        for row in self.source:
            yield torch.as_tensor(row).to("cuda")  # LT503


def collate(rows):
    return torch.stack(rows).cuda()  # LT503


def feeds(rows):
    yield DataLoader(Direct(rows), num_workers=2)
    yield DataLoader(rows, num_workers=2, collate_fn=collate)
    yield DataLoader(rows, num_workers=2, collate_fn=lambda some: torch.stack(some).to(CARD))  # LT503
    yield DataLoader(Given(rows), num_workers=2)


# Harmless.


class Kept(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.as_tensor(self.rows[at]).to(torch.float32)


class OnHost(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.device = torch.device("cpu")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.tensor(self.rows[at], device=self.device).to("cpu")


class Typed(Dataset):
    def __init__(self, rows, dtype):
        self.rows = rows
        self.dtype = dtype

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.as_tensor(self.rows[at]).to(self.dtype)


class Net(nn.Module):
    def __getitem__(self, at):
        return self.layers[at].cuda()


class Loop:
    def step(self, batch):
        return batch.cuda(non_blocking=True)

    def run(self, feed):
        for batch in feed:
            self.step(batch)


def stack(rows):
    return torch.stack(rows)


def harmless(rows):
    yield DataLoader(Kept(rows), num_workers=2, collate_fn=stack)
    yield DataLoader(OnHost(rows), num_workers=2)
    yield DataLoader(Typed(rows, torch.float16), num_workers=2, collate_fn=lambda some: np.stack(some))
