# What data sets keep of the samples that they gave.
import collections

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Memo(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.done = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        if at not in self.done:
            self.done[at] = np.load(self.paths[at])  # LT404
        return self.done[at]


class Trail(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.noise = []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        shift = np.random.rand(64)
        self.noise.append(shift)  # LT404
        return self.rows[at] + shift


class ByHelper(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.pixels = dict()

    def __len__(self):
        return len(self.paths)

    def read(self, path):
        pixels = np.load(path)
        self.pixels.setdefault(path, pixels)  # LT404
        return pixels

    def __getitem__(self, at):
        return self.read(self.paths[at])


class Stream(IterableDataset):
    def __init__(self, source):
        self.source = source
        self.past = collections.deque()

    def __iter__(self):
        for row in self.source:
            sample = torch.as_tensor(row)
            self.past.append(sample)  # LT404
            yield sample


class Plain:
    def __init__(self, paths):
        self.paths = paths
        self.kept = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        self.kept[self.paths[at]] = torch.load(self.paths[at])  # LT404
        return self.kept[self.paths[at]]


def feeds(paths):
    return DataLoader(Memo(paths), num_workers=4), DataLoader(Plain(paths), num_workers=2)


# Harmless.


class Limited(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.done = collections.OrderedDict()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        self.done[at] = np.load(self.paths[at])
        if len(self.done) > 100:
            self.done.popitem(last=False)
        return self.done[at]


class Recent(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.last = collections.deque(maxlen=3)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        self.last.append(np.load(self.paths[at]))
        return self.last[-1]


class Built(Dataset):
    def __init__(self, paths):
        self.rows = []  # LT401 hint
        for path in paths:
            self.rows.append(np.load(path))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        parts = []
        for row in self.rows[at]:
            parts.append(row)
        return np.stack(parts)


class Emptied(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.pending = []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        self.pending.append(np.array(self.rows[at]))
        out = np.stack(self.pending)
        self.pending.clear()
        return out


class Fixed(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.info = {}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        self.info["last"] = np.array(self.rows[at])
        return self.info["last"]


class Sequence:
    """No data set: nobody reads it by a loader."""

    def __init__(self):
        self.seen = {}

    def __getitem__(self, at):
        self.seen[at] = np.zeros(at)
        return self.seen[at]


class Replaced(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.parts = [None] * len(paths)
        self.broken = set()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        if self.parts[at] is None:
            self.parts[at] = np.load(self.paths[at % 8])
        return self.parts[at]


class Measured(Dataset):
    def __init__(self, paths, most):
        self.paths = paths
        self.most = most
        self.done = Sized()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        row = np.load(self.paths[at])
        if self.done is not None and self.done.bytes < self.most:
            self.done[at] = row
        return row


class Sized(dict):
    bytes = 0


class Tongues(IterableDataset):
    """A hint: one entry for each part, of which there may be few."""

    def __init__(self, tongues, sources):
        self.tongues = tongues
        self.sources = sources
        self.running = {}

    def __iter__(self):
        for tongue in self.tongues:
            self.running[tongue] = np.load(self.sources[tongue])  # LT404 hint
        yield from self.running.values()


def tongues(sources):
    return DataLoader(Tongues(list(sources), sources), num_workers=2)
