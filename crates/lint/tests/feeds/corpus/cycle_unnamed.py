#? unnamed: frame:train.py:train = itertools.cycle
import itertools


def train(loader):
    for step, batch in enumerate(itertools.cycle(loader)):  # <- unnamed
        print(step, batch)


train(range(10))
