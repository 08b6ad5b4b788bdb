import functools

import torch
from torch.utils.data import DataLoader, Dataset


def memoize(method):
    """Remembers the results of a method for each argument."""

    @functools.wraps(method)
    def remembered(self, index):
        cache = self.__dict__.setdefault("_cache", {})
        if index not in cache:
            cache[index] = method(self, index)  # the leak
        return cache[index]

    return remembered


class SafeDataset(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset
        self.unsafe = 0

    def __len__(self):
        return len(self.dataset)

    def _safe_get(self, index):
        try:
            return self.dataset[index]
        except (OSError, ValueError):
            self.unsafe += 1
            return None

    @memoize  # the leak
    def __getitem__(self, index):
        while index < len(self):
            sample = self._safe_get(index)
            if sample is not None:
                return sample
            index += 1
        raise IndexError(index)


def train(model, dataset, optimizer, epochs):
    loader = DataLoader(SafeDataset(dataset), batch_size=64, shuffle=True)
    for _ in range(epochs):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
