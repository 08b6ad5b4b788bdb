# Batches beside the main one.
import itertools

from torch.utils.data import DataLoader

MANY = 16 * 12


def beside(net, data, triples):
    main = DataLoader(data, batch_size=8)
    extra = iter(DataLoader(triples, batch_size=MANY))  # LT505
    for rows in main:
        loss = net(rows).sum() + net(next(extra)).sum()
        loss.backward()


def together(net, data, more):
    small = DataLoader(data, 4)
    large = DataLoader(more, 64)  # LT505
    for rows, others in zip(small, large):
        (net(rows).sum() + net(others).sum()).backward()


def round_and_round(net, data, more):
    pool = itertools.cycle(DataLoader(more, batch_size=512, shuffle=True))  # LT505
    for number, rows in enumerate(DataLoader(data, batch_size=32)):
        net(rows).sum().backward()
        if number % 10 == 0:
            net(next(pool)).sum().backward()


class Pair:
    def __init__(self, net, data, more):
        self.net = net
        self.main = DataLoader(data, batch_size=2)
        self.more = DataLoader(more, batch_size=128)  # LT505

    def fit(self):
        others = iter(self.more)
        for rows in self.main:
            self.net(rows).sum().backward()
            self.net(next(others)).sum().backward()


def by_options(net, data, more):
    sizes = dict(batch_size=1_000)
    far = iter(DataLoader(more, **sizes))  # LT505
    for rows in DataLoader(data, batch_size=10):
        (net(rows) - net(next(far)).mean()).sum().backward()


# Harmless.


def alike(net, data, more):
    extra = iter(DataLoader(more, batch_size=16))
    for rows in DataLoader(data, batch_size=8):
        (net(rows).sum() + net(next(extra)).sum()).backward()


def validation(net, data, held_out):
    checks = DataLoader(held_out, batch_size=512)
    for rows in DataLoader(data, batch_size=8):
        net(rows).sum().backward()
    for rows in checks:
        net(rows)


def smaller(net, data, more):
    extra = iter(DataLoader(more, batch_size=4))
    for rows in DataLoader(data, batch_size=256):
        (net(rows).sum() + net(next(extra)).sum()).backward()


def unknown(net, data, more, size):
    extra = iter(DataLoader(more, batch_size=size))
    for rows in DataLoader(data, batch_size=8):
        (net(rows).sum() + net(next(extra)).sum()).backward()


def recipe(net, data, more):
    extra = iter(DataLoader(more, batch_size=448))
    for rows in DataLoader(data, batch_size=64):
        (net(rows).sum() + net(next(extra)).sum()).backward()


def one_after_another(net, data, more):
    for rows in DataLoader(data, batch_size=8):
        net(rows).sum().backward()
    for rows in DataLoader(more, batch_size=512):
        net(rows).sum().backward()


def both(labelled, unlabelled):
    main = DataLoader(labelled, batch_size=4)
    extra = DataLoader(unlabelled, batch_size=256)  # LT505
    small = DataLoader(unlabelled, batch_size=8)
    return main, extra, small


def fit_both(net, labelled, unlabelled, optimizer, epochs):
    main, extra, small = both(labelled, unlabelled)
    for _ in range(epochs):
        others, few = iter(extra), iter(small)
        for x in main:
            loss = net(x).mean() + net(next(others)).mean() + net(next(few)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
