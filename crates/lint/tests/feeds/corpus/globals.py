#? seen: module:train.py SEEN = list
#? by_epoch: module:train.py BY_EPOCH = dict
#? nested: module:train.py BY_EPOCH [] = list
#? ids: module:train.py ids = set
#? total: module:train.py total = list
#? never: module:train.py NEVER = list
#? joined: module:train.py joined = tensor
import torch

SEEN = []
BY_EPOCH = {}
NEVER = [1, 2, 3]
ids = set()
total = []
joined = torch.zeros(0)


def remember(sample):
    SEEN.append(sample)  # <- seen


def note(epoch, value):
    if epoch not in BY_EPOCH:
        BY_EPOCH[epoch] = []  # <- by_epoch
    BY_EPOCH[epoch].append(value)  # <- nested


def widen(more):
    global total, joined
    total = total + list(more)  # <- total
    joined = torch.cat([joined, torch.tensor(more)])  # <- joined


for epoch in range(10):
    for step in range(100):
        remember(step)
        note(epoch, step)
        widen([step])
        ids.add(step)  # <- ids
        ids |= {epoch}  # <- ids
