#? bank: instance:train.py:Queue .bank = value
#? rebuilt: instance:train.py:Queue .bank = Tensor
#? begun: instance:train.py:Queue .seen = Tensor
#? window: instance:train.py:Queue .last = Tensor
#? stats: instance:train.py:Loop .stats [] [] = list
#? async: frame:train.py:gather done = list
#? deep: instance:train.py:Loop .cfg [] = list
#? state: instance:train.py:Loop .state = dict
#? lazy: instance:train.py:Loop .late = list
#? cut: module:train.py frames = list
#? counter: module:train.py counts = Counter
import asyncio
from collections import Counter

import numpy as np
import torch

frames = []
counts = Counter()


class Queue(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.zeros(0))
        self.seen = None
        self.last = torch.zeros(0)

    def forward(self, x):
        self.bank = torch.cat([self.bank, x.detach()])  # <- bank # <- rebuilt
        self.seen = x if self.seen is None else torch.vstack((self.seen, x)).cpu()  # <- begun
        self.last = torch.cat([self.last, x])[-10:]  # <- window
        return x


class Loop:
    late: list

    def __init__(self, cfg):
        self.stats = {phase: {"loss": []} for phase in ("train", "val")}
        self.cfg = {"history": []}
        self.state = {**cfg}

    def log(self, phase, value):
        self.stats[phase]["loss"].append(value)  # <- stats
        history = self.cfg["history"]
        history += [value]  # <- deep
        self.state = {**self.state, value: phase}  # <- state
        if not hasattr(self, "late"):
            self.late = []
        self.late.append(value)  # <- lazy maybe


async def gather(queue):
    done = []
    async for item in queue:
        done.append(item)  # <- async
    return done


def shorten():
    frames[:] = frames[-10:]


loop = Loop({})
for step in range(10):
    loop.log("train", step)
    frames.append(np.zeros(step))  # <- cut bounded
    shorten()
    counts[step] += 1  # <- counter
    counts.update([step])  # <- counter
asyncio.run(gather(None))
