#? finalizers: class:lib/python3.11/weakkeep.py:finalize ._registry = dict
#? known: module:lib/python3.11/filing.py FILED = dict
#? unknown: module:lib/python3.11/filing.py OTHERS = dict
#? jobs: module:lib/python3.11/filing.py JOBS = dict
#? state: module:train.py opt .state@lib/python3.11/site-packages/torch/optim/adam.py:Adam = defaultdict
#? still: module:train.py other .state@lib/python3.11/site-packages/torch/optim/adam.py:Adam = defaultdict
#? table: module:train.py table = places
#? slots: module:train.py slots = places
#? warned: module:train.py __warningregistry__ = dict
#? bank: module:train.py bank = value
import filing as f
import numpy as np
import torch
import weakkeep
from warnings import warn

opt = torch.optim.Adam(model.parameters())
other = torch.optim.Adam(model.parameters())
table, slots = np.empty(1000, dtype=object), [None] * 1000
bank = torch.zeros(0)
for step in range(1000):
    weakkeep.finalize(model, print, step)
    f.file(step, model)
    f.Job(step).start()
    warn(f"step {step}")  # <- warned
    opt.step()
    other.step()
    opt.add_param_group({"params": [step]})  # <- state
    table[step] = model(step)  # <- table bounded
    slots[step] = model(step)  # <- slots bounded
    bank = torch.cat([bank, model(step)])  # <- bank
# file: lib/python3.11/weakkeep.py
class finalize:
    _registry = {}

    def __init__(self, of, function, *args):
        self._registry[self] = (function, args)  # <- finalizers
# file: lib/python3.11/filing.py
FILED = {}
OTHERS = {}
JOBS = {}


def file(key, value):
    FILED[key] = value  # <- known


def other(key, value):
    OTHERS[key] = value  # <- unknown


class Job:
    def start(self):
        begin(self._run)

    def _run(self):
        JOBS[id(self)] = self  # <- jobs
# file: lib/python3.11/site-packages/torch/optim/adam.py
class Adam:
    def __init__(self, params):
        self.state = {}

    def add_param_group(self, group):
        self.groups.append(group)

    def step(self):
        for group in self.groups:
            for p in group:
                self.state[p] = p  # <- still
