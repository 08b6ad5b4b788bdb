# Loaders of every epoch.
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data import DataLoader as Feed

OPTIONS = dict(num_workers=3, persistent_workers=True)


def inside(net, rows, sgd):
    for turn in range(90):
        for part in DataLoader(rows, batch_size=4, num_workers=2, persistent_workers=True):  # LT403
            net(part).sum().backward()
            sgd.step()


def by_options(net, rows):
    turn = 0
    while turn < 90:
        feed = Feed(rows, 8, **OPTIONS)  # LT403
        for part in feed:
            net(part).sum().backward()
        turn += 1


def fresh(rows, count):
    return DataLoader(rows, 8, num_workers=count, persistent_workers=True)  # LT403


def by_function(net, rows, count):
    for _ in range(90):
        for part in fresh(rows, count):
            net(part).sum().backward()


class Fitting:
    def __init__(self, net, rows):
        self.net, self.rows = net, rows
        self.old = []

    def feed(self):
        return DataLoader(self.rows, num_workers=6, persistent_workers=True)  # LT403

    def fit(self):
        for _ in range(90):
            for part in self.feed():
                self.net(part).sum().backward()

    def fit_and_keep(self):
        for _ in range(90):
            feed = iter(DataLoader(self.rows, num_workers=6))
            self.old.append(feed)  # LT403
            self.net(next(feed)).sum().backward()


def kept(net, rows):
    feeds = {}
    for turn in range(90):
        feeds[turn] = DataLoader(rows, num_workers=1)  # LT403
        for part in feeds[turn]:
            net(part).sum().backward()


# Harmless.


def before(net, rows):
    feed = DataLoader(rows, num_workers=2, persistent_workers=True)
    for _ in range(90):
        for part in feed:
            net(part).sum().backward()


def not_persistent(net, rows):
    for _ in range(90):
        for part in DataLoader(rows, num_workers=2):
            net(part).sum().backward()


def without_workers(net, rows):
    feeds = []
    for turn in range(90):
        feeds.append(DataLoader(rows))
        for part in feeds[-1]:
            net(part).sum().backward()


def per_fold(net, folds):
    for fold in folds:
        feed = DataLoader(TensorDataset(fold), num_workers=2, persistent_workers=True)
        for part in feed:
            net(part).sum().backward()


def two_splits(net, splits):
    feeds = {}
    for name in ("train", "check"):
        feeds[name] = DataLoader(splits[name], num_workers=2, persistent_workers=True)
    for part in feeds["train"]:
        net(part).sum().backward()


class Once:
    feed = None

    def get(self, rows):
        if self.feed is None:
            self.feed = DataLoader(rows, num_workers=2, persistent_workers=True)
        return self.feed

    def fit(self, net, rows):
        for _ in range(90):
            for part in self.get(rows):
                net(part).sum().backward()


def dropped(net, rows):
    last = []
    for _ in range(90):
        feed = iter(DataLoader(rows, num_workers=1))
        last.append(feed)
        net(next(feed)).sum().backward()
        last.clear()


def for_each_check(net, sets):
    checks = []
    for rows in sets:
        checks.append(DataLoader(rows, num_workers=2))
    return checks


class Checks:
    def __init__(self, net, rows):
        self.net, self.rows = net, rows
        self.feed = DataLoader(self.rows, num_workers=2, persistent_workers=True)

    def check(self):
        for part in DataLoader(self.rows, num_workers=2, persistent_workers=True):  # LT403
            self.net(part)
        for part in self.feed:
            self.net(part)

    def checks(self):
        for _ in range(90):
            self.check()
