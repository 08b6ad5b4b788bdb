"""A feature cache in the trainer fills slowly to its bound over some 1,200 train steps and then replaces its oldest
entries: minutes of steady growth that end.  'fixed' makes room for all of it at the start."""

#: leak = false
#: problem = "bounded"
#: kind = "host_heap"
#: process = "main"
#: phase = "train"
#: growth = "160 KiB*scale per train step until 1200 entries are held (188 MiB*scale), then 0"
#: rate_train_step = 0
#: holder = "cache.entries (dict) of the trainer"
#: object = "numpy.ndarray (40960,) float32"
#: fix = "preallocate"
#: seed_doc = "003_cd825023c1589bb1.txt"
#: live_seconds = 170
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from zoolib import Blobs, Mlp, Zoo

z = Zoo()
WIDTH, BOUND = int(40960 * z.scale), 1200


class FeatureCache:
    """Features of the last BOUND batches, by batch number."""

    def __init__(self):
        self.entries = {}
        if not z.leak:
            self.entries = dict(enumerate(np.ones((BOUND, WIDTH), np.float32)))

    def put(self, key, x):
        if len(self.entries) < BOUND:
            self.entries[key] = np.full(WIDTH, float(x[0, 0]), np.float32)  # <- NOT A LEAK (bounded cache)
        else:
            self.entries[key % BOUND][:] = float(x[0, 0])


data, vdata = Blobs(1920, 256), Blobs(480, 256, seed=1)
model, cache, step = Mlp(256, 256), FeatureCache(), 0
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in z.epochs():
    with z.phase("train", epoch):
        model.train()
        for x, y in DataLoader(data, 32, shuffle=True):
            cache.put(step, x)
            step += 1
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            if not z.step(loss):
                break
    with z.phase("validation", epoch), torch.no_grad():
        model.eval()
        for x, _ in DataLoader(vdata, 32):
            model(x)
            if not z.step():
                break
