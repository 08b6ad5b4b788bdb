#? named: instance:train.py:Trainer .batches = itertools.cycle
#? other: frame:train.py:evaluate pairs = itertools.cycle
#? split: frame:train.py:evaluate later = itertools._tee
#? plain: instance:train.py:Trainer .seen = list
import itertools
from itertools import cycle


class Trainer:
    def __init__(self, loader):
        self.batches = cycle(loader)  # <- named
        self.seen = []

    def step(self):
        batch = next(self.batches)
        self.seen.append(batch)  # <- plain


def evaluate(loader):
    pairs = itertools.cycle(zip(loader, loader))  # <- other
    now, later = itertools.tee(loader)  # <- split
    for _ in range(10):
        next(pairs), next(now)
    return later


trainer = Trainer(range(10))
for epoch in range(100):
    evaluate(range(10))
    for i in range(100):
        trainer.step()
