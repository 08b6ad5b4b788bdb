# Samples of several parts that are put together again on the device.
import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset

Frame = namedtuple("Frame", ["picture", "mark"])


class Turn(NamedTuple):
    words: torch.Tensor
    reply: torch.Tensor


@dataclass
class Scene:
    points: torch.Tensor
    colours: torch.Tensor


class Frames(Dataset):
    def __init__(self, frames):
        self.frames = [Frame(torch.tensor(picture), mark) for picture, mark in frames]

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, at):
        return self.frames[at]

    def to(self, where):
        self.frames = [Frame(frame.picture.to(where), frame.mark) for frame in self.frames]  # LT501
        return self


class Turns(Dataset):
    def __init__(self, turns):
        self.turns = [Turn(torch.tensor(words), torch.tensor(reply)) for words, reply in turns]

    def __len__(self):
        return len(self.turns)

    def __getitem__(self, at):
        return self.turns[at]

    def to(self, where):
        for at, turn in enumerate(self.turns):
            self.turns[at] = Turn(*[part.to(where) for part in turn])  # LT501
        return self


class Replies(Dataset):
    def __init__(self, turns):
        self.turns = list(turns)

    def __len__(self):
        return len(self.turns)

    def __getitem__(self, at):
        return self.turns[at]

    def cuda(self):
        self.turns = [turn._replace(reply=turn.reply.cuda()) for turn in self.turns]  # LT501
        return self


class Scenes(Dataset):
    def __init__(self, scenes):
        self.scenes = scenes

    def __len__(self):
        return len(self.scenes)

    def __getitem__(self, at):
        return self.scenes[at]

    def to(self, where):
        self.scenes = [dataclasses.replace(scene, points=scene.points.to(where)) for scene in self.scenes]  # LT501


class Tuples(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]

    def to(self, where):
        self.rows = [tuple(part.to(where) for part in row) for row in self.rows]  # LT501


def on_the_device(frames, turns, scenes):
    yield DataLoader(Frames(frames).to("cuda"))
    yield DataLoader(Turns(turns).to("cuda"))
    yield DataLoader(Replies(turns).cuda())
    moved = Scenes(scenes)
    moved.to("cuda")
    yield DataLoader(moved)
    rows = Tuples(turns)
    rows.to("cuda")
    yield DataLoader(rows)


# Harmless.


class Noted(Dataset):
    def __init__(self, frames):
        self.frames = [Frame(torch.tensor(picture), mark) for picture, mark in frames]
        self.where = "cpu"

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, at):
        return Frame(self.frames[at].picture.to(self.where), self.frames[at].mark)  # LT503 hint

    def to(self, where):
        self.where = where
        return self


class Renamed(Dataset):
    def __init__(self, turns):
        self.turns = list(turns)

    def __len__(self):
        return len(self.turns)

    def __getitem__(self, at):
        return self.turns[at]

    def to(self, where):
        self.turns = [turn._replace(reply=where) for turn in self.turns]
        return self


class One(Dataset):
    """A tensor beside the samples."""

    def __init__(self, rows):
        self.rows = rows
        self.mean = Frame(torch.zeros(3), 0)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]

    def to(self, where):
        self.mean = Frame(self.mean.picture.to(where), 0)
        return self


class Back(Dataset):
    def __init__(self, turns):
        self.turns = list(turns)

    def __len__(self):
        return len(self.turns)

    def __getitem__(self, at):
        return self.turns[at]

    def rest(self):
        self.turns = [Turn(turn.words.to("cpu"), turn.reply.cpu()) for turn in self.turns]
        return self


class Batch(NamedTuple):
    """A batch is what should be moved."""

    rows: torch.Tensor

    def to(self, where):
        return Batch(self.rows.to(where))


def elsewhere(frames, turns):
    yield DataLoader(Noted(frames).to("cuda"))
    yield DataLoader(Renamed(turns).to("cuda"))
    yield DataLoader(One(turns).to("cuda"))
    yield DataLoader(Back(turns).rest())
    for rows in DataLoader(turns):
        yield Batch(rows).to("cuda")
