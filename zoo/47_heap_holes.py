"""Validation keeps a mask of every sample until its end, each a block of malloc's heap with a small survivor beside it: once
freed they are holes, which glibc gives back to nobody and the next validation fills again.  'fixed' puts the masks into
one array, which is mapped and goes back."""

#: leak = false
#: problem = "floor"
#: kind = "native_malloc"
#: process = "main"
#: phase = "validation"
#: growth = "0; from the first validation on 1024 blocks of 96 KB*scale stay resident, free inside the heap"
#: rate_train_step = 0
#: holder = "glibc's malloc; evaluator.scores keeps the blocks apart"
#: object = "free chunks of 96 KB between numpy.ndarray (128,) float64"
#: fix = "one_array_or_malloc_trim"
#: seed_doc = "other"
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from zoolib import Blobs, Mlp, Zoo

z = Zoo()
N = int(24_000 * z.scale)
data, vdata = Blobs(1920, 128), Blobs(1024, 128, seed=1)
model = Mlp(128, 256)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


class Evaluator:
    def __init__(self):
        self.scores = []

    @torch.no_grad()
    def run(self, loader):
        """Mean agreement of the masks with each other; the scores of this validation stay until the next one."""
        masks = [] if z.leak else np.empty((len(vdata), N), np.float32)
        scores = []
        for x, y in loader:
            for probability in model(x).softmax(1).max(1).values.numpy():
                mask = np.full(N, probability, np.float32)
                if z.leak:
                    masks.append(mask)  # <- NOT A LEAK (freed below, but it leaves a hole)
                else:
                    masks[len(scores)] = mask
                scores.append(np.full(128, probability))
            if not z.step():
                break
        self.scores = scores
        return float(np.mean([mask.mean() for mask in masks[: len(scores)]]))


evaluator = Evaluator()
for epoch in z.epochs():
    with z.phase("train", epoch):
        model.train()
        for x, y in DataLoader(data, 32, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            if not z.step(loss):
                break
    with z.phase("validation", epoch):
        model.eval()
        evaluator.run(DataLoader(vdata, 32))
