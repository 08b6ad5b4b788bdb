#? inherited: instance:train.py:Sgd .kept = defaultdict
#? a: module:train.py a = list
#? b: module:train.py b .rows@train.py:Box = list
#? state: instance:train.py:Adam .state = defaultdict
#? merged: instance:train.py:Eval .tensors = list
from collections import defaultdict


def make():
    rows = []
    rows.append(0)  # <- a # <- b
    return rows


class Box:
    def __init__(self):
        self.rows = make()


class Adam:
    def __init__(self):
        self.state = defaultdict(dict)

    def step(self, params):
        for p in params:
            state = self.state[p]
            if not state:
                state["step"] = 0  # <- state
            self.state[p]["step"] += 1  # <- state


def concat(one, other):
    if one is None:
        return [other]
    return one + [other]


class Eval:
    def __init__(self):
        self.tensors = None
        self.arrays = None

    def add(self, x):
        self.tensors = concat(self.tensors, x)  # <- merged
        self.tensors.append(x)  # <- merged

    def flush(self, x):
        self.arrays = concat(self.arrays, x)
        self.arrays.append(x)


a, b, c = make(), Box(), make()
adam, ev = Adam(), Eval()
for i in range(10):
    a.append(i)  # <- a
    c.append(i)
    b.rows.append(i)  # <- b
    adam.step([i])
    ev.add(i)
    ev.flush(i)


class Sgd(Foreign):
    def step(self, params):
        for p in params:
            state = self.kept[p]
            if not state:
                state["step"] = 0  # <- inherited
