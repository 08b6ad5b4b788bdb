# Objects that workers read.
import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset, random_split

WORKERS = 6


class Captions(Dataset):
    def __init__(self, file):
        with open(file) as text:
            self.entries = json.load(text)  # LT401

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, at):
        return self.entries[at]["caption"]


class Table(Dataset):
    def __init__(self, file):
        self.rows = pd.read_csv(file).to_dict("records")  # LT401

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.pick(at)["label"]

    def pick(self, at):
        return self.rows[at]


class Folder(Dataset):
    def __init__(self, root, ending=".npy"):
        files = sorted(Path(root).rglob(f"*{ending}"))
        self.files = [str(file) for file in files]  # LT401

    def __len__(self):
        return len(self.files)

    def __getitem__(self, at):
        return np.load(self.files[at])


class Spoken(Dataset):
    def __init__(self, index):
        self.turns = []  # LT401
        for line in index:
            speaker, words = line.split("\t")
            self.turns.append({"speaker": speaker, "words": words.split()})

    def __len__(self):
        return len(self.turns)

    def __getitem__(self, at):
        return len(self.turns[at]["words"])


class Pairs(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs  # LT401

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, at):
        return self.pairs[at]


def read(file):
    with open(file) as text:
        pairs = [(left, float(right)) for left, right in csv.reader(text)]
    return DataLoader(Pairs(pairs), num_workers=WORKERS)


def feeds(file, settings):
    first, second = random_split(Captions(file), [0.9, 0.1])
    yield DataLoader(first, 8, num_workers=4)
    yield DataLoader(Table(file), 8, num_workers=settings.workers)
    yield DataLoader(Folder(file), 8, False, None, None, 2)
    spoken = Spoken(open(file))
    yield DataLoader(spoken, 8, num_workers=2)


# Harmless.


class Arrays(Dataset):
    def __init__(self, file):
        with open(file) as text:
            entries = json.load(text)
        self.names = np.array([entry["name"] for entry in entries])
        self.rows = torch.tensor([entry["row"] for entry in entries])

    def __len__(self):
        return len(self.names)

    def __getitem__(self, at):
        return self.names[at], self.rows[at]


class Single(Dataset):
    def __init__(self, file):
        with open(file) as text:
            self.entries = json.load(text)

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, at):
        return self.entries[at]


class Tensors(Dataset):
    def __init__(self, files):
        self.parts = [torch.load(file) for file in files]
        self.more = []  # LT401 hint
        for file in files:
            self.more.append(np.load(file))

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, at):
        return self.parts[at], self.more[at]


class Few(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.names = ["cat", "dog"]
        self.views = [(angle, str(angle)) for angle in range(4)]

    def __len__(self):
        return 100

    def __getitem__(self, at):
        return self.names[at % 2], self.views[at % 4]


class Frame(Dataset):
    def __init__(self, file):
        self.frame = pd.read_csv(file)
        self.classes = sorted(self.frame["label"].unique())
        self.unread = json.load(open(file))

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, at):
        return self.frame.iloc[at]["label"]


def harmless(file):
    yield DataLoader(Arrays(file), num_workers=4)
    yield DataLoader(Single(file))
    yield DataLoader(Tensors([file]), num_workers=4)
    yield DataLoader(Few([]), num_workers=4)
    yield DataLoader(Frame(file), num_workers=4)
    yield DataLoader(Few([]), num_workers=0)


class Several(Dataset):
    def __init__(self, names):
        self.parts = {name: json.load(open(name)) for name in names}
        self.order = np.arange(len(names))

    def __len__(self):
        return 1000

    def __getitem__(self, key):
        name, at = key
        return self.parts[name][at]


def several(names):
    return DataLoader(Several(names), num_workers=2)


# Hints: the source does not show that there is a Python object for each sample.
class Unseen(Dataset):
    def __init__(self, file, tags):
        spans = torch.load(file)
        self.spans = []  # LT401 hint
        for tag in tags:
            self.spans.append(spans[tag])

    def __len__(self):
        return len(self.spans)

    def __getitem__(self, at):
        return self.spans[at]


class Scaled(Dataset):
    def __init__(self, rows, file):
        self.rows = np.load(rows)
        with open(file) as text:
            self.scales = json.load(text)  # LT401 hint

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        voice = "first"
        return self.rows[at] * self.scales[voice]


class Counted(Dataset):
    def __init__(self):
        self.names = [f"{at}.png" for at in range(50_000)]  # LT401

    def __len__(self):
        return 600

    def __getitem__(self, at):
        return len(self.names[int(np.random.rand() * 50_000)])


def hinted(file):
    yield DataLoader(Unseen(file, []), num_workers=4)
    yield DataLoader(Scaled(file, file), num_workers=4)
    yield DataLoader(Counted(), num_workers=4)


def listed(folder):
    found = []
    for path in Path(folder).rglob("*.png"):
        found.append((str(path), path.stem))
    return found


def arrays(folder):
    return np.load(Path(folder) / "all.npy")


class Listed(Dataset):
    def __init__(self, folder):
        self.pairs = listed(folder)  # LT401
        self.whole = arrays(folder)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i], self.whole[i]


LISTED = DataLoader(Listed("folder"), num_workers=WORKERS)


class Saved(Dataset):
    def __init__(self, path):
        with open(path, "rb") as file:
            self.rows = pickle.load(file)  # LT401
            self.numbers = torch.load(file)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return row["text"], self.numbers[i]


class Given(Dataset):
    def __init__(self, rows):
        self.rows = rows  # LT401

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]["text"]


class Windows(Dataset):
    def __init__(self, series):
        self.parts = [np.asarray(one[at : at + 8]) for one in series for at in range(len(one))]  # LT401
        self.files = [np.load(one) for one in series]  # LT401 hint

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i], self.files[i]


def rows_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


SAVED = DataLoader(Saved("rows.pkl"), num_workers=WORKERS)
GIVEN = DataLoader(Given(rows_of("rows.jsonl")), num_workers=WORKERS)
WINDOWS = DataLoader(Windows([np.ones(99)]), num_workers=WORKERS)
