#? cache: frame:train.py:main data .cache@train.py:Cached = dict
#? files: frame:train.py:main files .decoded@train.py:Files = dict
#? loads: frame:train.py:main loads .kept@train.py:Loads = dict
#? pairs: frame:train.py:main pairs .seen@train.py:Pairs = dict
#? views: frame:train.py:main views .views@train.py:Views = dict
#? moved: frame:train.py:main moved .kept@train.py:Moved = dict
#? table: frame:train.py:main table .rows@train.py:Table = dict
#? given: frame:train.py:main given .kept@train.py:Given = dict
import json
import random


class Cached:
    def __init__(self, n):
        self.n = n
        self.cache = {}

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i not in self.cache:
            self.cache[i] = read(i)  # <- cache bounded
        return self.cache[i]


class Files:
    def __init__(self, paths):
        self.paths = paths
        self.decoded = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        if path not in self.decoded:
            self.decoded[path] = read(path)  # <- files bounded
        return self.decoded[path]


class Loads:
    def __init__(self):
        self.kept = {}

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return self.read_one(index)

    def read_one(self, at):
        json.read_one(at)
        if at not in self.kept:
            self.kept[at] = read(at)  # <- loads bounded
        return self.kept[at]


class Pairs:
    def __init__(self):
        self.seen = {}

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        j = random.randrange(1000)
        self.seen[i, j] = read(i) + read(j)  # <- pairs
        return self.seen[i, j]


class Views:
    def __init__(self):
        self.views = {}
        self.epoch = 0

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        self.epoch += 1
        self.views[f"{self.epoch}/{i}"] = read(i)  # <- views
        return self.views[f"{self.epoch}/{i}"]


class Moved:
    def __init__(self):
        self.kept = {}
        self.calls = 0

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        i = i + self.calls
        self.calls += 1000
        self.kept[i] = read(i)  # <- moved
        return self.kept[i]


class Table:
    """No data set: who asks it decides how many rows there are."""

    def __init__(self):
        self.rows = {}

    def __getitem__(self, key):
        if key not in self.rows:
            self.rows[key] = read(key)  # <- table
        return self.rows[key]


class Given:
    def __init__(self):
        self.kept = {}

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return self.load(i)

    def load(self, name):
        self.kept[name] = read(name)  # <- given
        return self.kept[name]


def read(i):
    return bytes(1000)


def main():
    data, files, loads, pairs = Cached(1000), Files(["a"] * 1000), Loads(), Pairs()
    views, moved, table, given = Views(), Moved(), Table(), Given()
    for step in range(10**6):
        for each in (data, files, loads, pairs, views, moved):
            each[step % 1000]
        table[step]
        given[step % 1000]
        given.load(step)


main()
