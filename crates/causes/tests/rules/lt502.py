# Data moved as a whole.
import torch
from torch.utils.data import DataLoader, TensorDataset

CARD = torch.device("cuda")


def scores(net, rows, size=32):
    found = []
    for first in range(0, len(rows), size):
        found.append(net(rows[first : first + size]).cpu())
    return torch.cat(found)


def fit(net, feed, held_out, turns):
    held_out = held_out.cuda()  # LT502
    for turn in range(turns):
        for rows in feed:
            net(rows.cuda()).sum().backward()
        print(scores(net, held_out).mean())


def by_hand(net, rows, wanted, size, sgd):
    on_card = rows.to(CARD)  # LT502
    while True:
        for first in range(0, len(rows), size):
            part = on_card[first : first + size]
            net(part).sum().backward()
            sgd.step()


def wrapped(rows, wanted):
    return DataLoader(TensorDataset(rows.to("cuda:0"), wanted.cuda()), 64)  # LT502


class Client:
    def __init__(self, parts):
        self.parts = parts
        self.here = {}

    def load(self, where):
        for name, part in self.parts.items():
            self.here[name] = part.to(where)  # LT502


class Site:
    def __init__(self, tables):
        self.tables = tables
        self.moved = None

    def visit(self, where):
        self.moved = {name: table.to(where) for name, table in self.tables.items()}  # LT502
        return self


def rounds(net, parts, where):
    clients = [Client(part) for part in parts]
    sites = [Site(part) for part in parts]
    for turn in range(100):
        clients[turn % len(clients)].load(where)
        for site in sites:
            net(site.visit(where).moved["train"]).sum().backward()


# Harmless.


def batches(net, rows, size):
    for first in range(0, len(rows), size):
        part = rows[first : first + size].cuda()
        net(part).sum().backward()


def one_batch(net, feed):
    for rows in feed:
        rows = rows.cuda()
        for first in range(0, len(rows), 8):
            net(rows[first : first + 8]).sum().backward()


def weights(net, table):
    table = table.cuda()
    return net(table[:10], table[10:])


def on_host(rows, wanted):
    return DataLoader(TensorDataset(rows.float(), wanted.to(torch.long)), 64)


class Polite:
    def __init__(self, parts):
        self.parts = parts
        self.here = {}

    def load(self, where):
        for name, part in self.parts.items():
            self.here[name] = part.to(where)

    def leave(self):
        self.here.clear()


class Fields:
    """A batch, made anew each time."""

    def __init__(self, fields):
        self.fields = fields

    def to(self, where):
        self.fields = {name: field.to(where) for name, field in self.fields.items()}
        return self


def polite(net, parts, where, feed):
    nodes = [Polite(part) for part in parts]
    for node in nodes:
        node.load(where)
        net(node.here["train"]).sum().backward()
        node.leave()
    for rows in feed:
        batch = Fields(rows).to(where)
        net(batch.fields["x"]).sum().backward()


def message(parts, sizes):
    joined = torch.cat(parts)
    joined = joined.to(CARD)
    torch.distributed.broadcast(joined, 0)
    offset, found = 0, []
    for size in sizes:
        part = joined[offset : offset + size]
        found.append(bytes(part.tolist()))
        offset += size
    return found
