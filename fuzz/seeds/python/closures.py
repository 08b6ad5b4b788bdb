#? cell: closure:train.py:make.<locals>.add seen = list
#? hooks: instance:train.py:Trainer .callbacks = list
#? non: closure:train.py:counter.<locals>.tick names = list
#? default: default:train.py:collect into = list
#? any_default: default:train.py:remember = dict
#? part: module:train.py partial_rows = list
import functools


def make():
    seen = []

    def add(x):
        seen.append(x)  # <- cell

    return add


def counter():
    names = []

    def tick(x):
        nonlocal names
        names = names + [x]  # <- non

    return tick


def collect(x, into=[]):
    into.append(x)  # <- default
    return len(into)


def remember(key, value, table={}):
    table[key] = value  # <- any_default


def write(rows, x):
    rows.append(x)  # <- part


class Trainer:
    def __init__(self):
        self.callbacks = []

    def watch(self, batch):
        self.callbacks.append(lambda: batch.mean())  # <- hooks


add, tick, trainer = make(), counter(), Trainer()
partial_rows = []
put = functools.partial(write, partial_rows)
for i in range(10):
    add(i)
    tick(i)
    collect(i)
    remember(i, i)
    trainer.watch(i)
    put(i)
