# Data sets that move all that they have.
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CARD = "cuda" if torch.cuda.is_available() else "cpu"


class Sounds(Dataset):
    def __init__(self, clips):
        self.clips = clips

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, at):
        return self.clips[at]

    def to(self, where):
        self.clips = [clip.to(where) for clip in self.clips]  # LT501
        return self


class Records(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, at):
        return self.records[at]

    def cuda(self):
        for record in self.records:
            record["pixels"] = record["pixels"].cuda()  # LT501


class AtOnce(Dataset):
    def __init__(self, file):
        rows = np.load(file)
        self.rows = torch.from_numpy(rows).float().to(CARD)  # LT501
        self.wanted = torch.load(file, map_location="cuda:0")  # LT501

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at], self.wanted[at]


class ByName(Dataset):
    def __init__(self, parts, where="cuda"):
        self.where = where
        self.parts = {name: part.to(self.where) for name, part in parts.items()}  # LT501

    def __len__(self):
        return 10

    def __getitem__(self, at):
        return self.parts["left"][at]


def train(net, clips, records):
    sounds = Sounds(clips)
    sounds.to(CARD)
    pictures = Records(records)
    pictures.cuda()
    for clip in DataLoader(sounds):
        net(clip).sum().backward()


# Harmless.


class Noted(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.where = "cpu"

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]

    def to(self, where):
        self.where = where
        return self


class OnHost(Dataset):
    def __init__(self, file):
        self.rows = torch.load(file, map_location="cpu")
        self.more = torch.from_numpy(np.load(file)).to(torch.float16)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at], self.more[at]


class WithStatistics(Dataset):
    """What is moved is no sample."""

    def __init__(self, rows):
        self.rows = rows
        self.mean = torch.zeros(3).cuda()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]


class Batch:
    """No data set."""

    def __init__(self, fields):
        self.fields = fields

    def __getitem__(self, name):
        return self.fields[name]

    def to(self, where):
        self.fields = {name: field.to(where) for name, field in self.fields.items()}
        return self


class Feed:
    def __init__(self, rows, where):
        self.rows = rows
        self.where = where

    def __iter__(self):
        for row in self.rows:
            yield row.to(self.where)


class Back(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]

    def release(self):
        self.rows = [row.to("cpu") for row in self.rows]
