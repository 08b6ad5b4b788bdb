#? decoded: module:train.py decoded = dict
#? load: lru:train.py:load = dict
#? crops: module:train.py crops = dict
#? read: lru:train.py:read = dict
import functools
import random
from torch.utils.data import Dataset

decoded, crops = {}, {}


def decode(path):
    if path not in decoded:
        decoded[path] = open(path, "rb").read()  # <- decoded bounded
    return decoded[path]


def crop(path, at):
    key = (path, at)
    if key not in crops:
        crops[key] = decode(path)[at:]  # <- crops
    return crops[key]


@functools.lru_cache(maxsize=None)  # <- load bounded
def load(path, mode="r"):
    return open(path, mode).read()


@functools.lru_cache(maxsize=None)  # <- read
def read(path):
    return open(path).read()


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        return load(path, mode="rb"), crop(path, random.randrange(99)), read(path)


def main(data, log):
    for step in range(1000):
        data[step % 10]
        read(f"{log}/{step}.txt")


main(Files(["a", "b"]), "log")
