# Shared memory that is held.
from multiprocessing.shared_memory import SharedMemory

import torch
from torch.utils.data import DataLoader


def labels(net, data):
    wanted, found = [], []
    for rows, label in DataLoader(data, 16, num_workers=4):
        found.append(net(rows).argmax(1).cpu())
        wanted.append(label)  # LT405
    return wanted, found


def whole(data, workers):
    feed = DataLoader(data, num_workers=workers)
    parts = {}
    for number, batch in enumerate(feed):
        parts[number] = batch  # LT405
    return parts


def field(data):
    feed = DataLoader(data, num_workers=2)
    names = []
    for batch in feed:
        names.append(batch["image_id"])  # LT405
    return torch.cat(names)


class Blackboard:
    def __init__(self):
        self.blocks = []
        self.tensors = []

    def write(self, values):
        block = SharedMemory(create=True, size=4096)
        self.blocks.append(block)  # LT405
        self.tensors.append(values.share_memory_())  # LT405


def publish(feed):
    board = Blackboard()
    for rows in feed:
        board.write(rows)


# Harmless.


def copied(net, data):
    wanted = []
    for rows, label in DataLoader(data, 16, num_workers=4):
        wanted.append(label.clone())
        net(rows)
    return wanted


def pinned(net, data):
    wanted = []
    for rows, label in DataLoader(data, 16, num_workers=4, pin_memory=True):
        wanted.append(label)
        net(rows)
    return wanted


def in_process(net, data):
    wanted = []
    for rows, label in DataLoader(data, 16):
        wanted.append(label)
        net(rows)
    return wanted


def moved(net, data):
    wanted = []
    for rows, label in DataLoader(data, 16, num_workers=4):
        label = label.cuda()
        wanted.append(label)
        net(rows)
    return wanted


def round_by_round(net, data):
    for rows, label in DataLoader(data, 16, num_workers=4):
        parts = []
        parts.append(rows)
        net(torch.cat(parts))


class Reused:
    def __init__(self):
        self.blocks = []

    def write(self):
        self.blocks.append(SharedMemory(create=True, size=4096))

    def close(self):
        while self.blocks:
            self.blocks.pop().unlink()


def reuse(feed):
    board = Reused()
    for _ in feed:
        board.write()
        board.close()


class One:
    def __init__(self):
        self.blocks = []

    def write(self, value):
        if not self.blocks:
            self.blocks.append(SharedMemory(create=True, size=4096))
        self.blocks[0].buf[0] = value


def one_block(feed):
    board = One()
    for _ in feed:
        board.write(1)
