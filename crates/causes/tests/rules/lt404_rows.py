# What data sets write into the rows that they keep.
import copy
import json
from pathlib import Path

import cv2
import numpy as np
import torch
import torchaudio
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Scans(Dataset):
    def __init__(self, index):
        with open(index) as text:
            self.cases = json.load(text)

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = self.cases[number]
        case["volume"] = np.load(case["file"])  # LT404
        return case


class Birds(Dataset):
    def __init__(self, folder):
        self.calls = [{"path": path, "kind": path.parent.name} for path in Path(folder).rglob("*.wav")]

    def __len__(self):
        return len(self.calls)

    def __getitem__(self, number):
        wave, rate = torchaudio.load(self.calls[number]["path"])
        self.calls[number]["wave"] = torch.nn.functional.normalize(wave)  # LT404
        return self.calls[number], rate


def read_into(entry, root):
    picture = cv2.imread(str(root / entry["name"]))
    entry["pixels"] = picture  # LT404
    return entry


def gather(folder):
    found = []
    for path in sorted(Path(folder).iterdir()):
        found.append({"name": path.name})
    return list(found)


class Leaves(Dataset):
    def __init__(self, folder):
        self.root = Path(folder)
        self.entries = gather(folder)

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, number):
        entry = self.entries[number]
        return read_into(entry, self.root)


class Stream(IterableDataset):
    def __init__(self, records):
        self.records = sorted(records, key=len)

    def __iter__(self):
        for record in self.records:
            record["image"] = Image.open(record["path"]).convert("RGB")  # LT404
            yield record


class Asked(Dataset):
    def __init__(self, index):
        self.cases = json.loads(Path(index).read_text())  # LT401

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = self.cases[number]
        if "volume" not in case:
            case["volume"] = np.load(case["file"])  # LT404
        return case


def feeds(index):
    yield DataLoader(Scans(index))
    yield DataLoader(Birds(index))
    yield DataLoader(Leaves(index), num_workers=0)
    yield DataLoader(Stream([{"path": "a"}]), num_workers=1)
    yield DataLoader(Asked(index), num_workers=3)


# Harmless.


class Copied(Dataset):
    def __init__(self, index):
        with open(index) as text:
            self.cases = json.load(text)

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = dict(self.cases[number])
        case["volume"] = np.load(case["file"])
        return case


class CopiedLater(Dataset):
    def __init__(self, index):
        with open(index) as text:
            self.cases = json.load(text)

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = self.cases[number]
        case = copy.copy(case)
        case["volume"] = np.load(case["file"])
        return case


class MadeAnew(Dataset):
    """The rows of a library are made when they are asked for."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return len(self.table)

    def __getitem__(self, number):
        row = self.table[number]
        row["image"] = Image.open(row["path"]).convert("RGB")
        return row


class Counted(Dataset):
    def __init__(self, index):
        with open(index) as text:
            self.cases = json.load(text)

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = self.cases[number]
        case["uses"] = case.get("uses", 0) + 1
        return np.load(case["file"])


class GivenBack(Dataset):
    def __init__(self, index):
        with open(index) as text:
            self.cases = json.load(text)

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, number):
        case = self.cases[number]
        case["volume"] = np.load(case["file"])
        sample = torch.as_tensor(case["volume"] * case["scale"])
        del case["volume"]
        return sample


class Scaled(Dataset):
    """Each array takes the place of the one before it."""

    def __init__(self, rows):
        self.rows = [{"points": row} for row in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        row = self.rows[number]
        points = np.asarray(row["points"])
        row["points"] = np.ascontiguousarray(points)
        return row


class Parts(Dataset):
    def __init__(self, files):
        self.files = list(files)
        self.means = {"left": {}, "right": {}}

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        sample = np.load(self.files[number])
        side = "left" if number % 2 else "right"
        self.means[side]["last"] = np.asarray(sample)
        self.means["left"]["first"] = np.asarray(sample)
        return sample


class Filled(Dataset):
    """A tensor with a row for each sample: its numbers are overwritten."""

    def __init__(self, files):
        self.files = list(files)
        self.rows = torch.zeros(len(self.files), 8)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        row = self.rows[number]
        row[0] = torch.as_tensor(np.load(self.files[number])).sum()
        return row


def harmless(index):
    yield DataLoader(Copied(index))
    yield DataLoader(CopiedLater(index))
    yield DataLoader(MadeAnew(index), num_workers=2)
    yield DataLoader(Counted(index))
    yield DataLoader(GivenBack(index))
    yield DataLoader(Scaled(index))
    yield DataLoader(Parts(index))
    yield DataLoader(Filled(index))
