"""The DataLoader starts four workers anew in every epoch; each builds a 16 MiB buffer and ends with the epoch: births
and deaths, no growth.  'fixed' keeps the workers."""

#: leak = false
#: problem = "none"
#: kind = "child_process"
#: process = "child:dataloader_worker[*]"
#: phase = "train"
#: growth = "4 * (16 MiB*scale + copied pages) that come with each epoch and go with it"
#: rate_train_step = 0
#: holder = "the workers of one epoch, bytearray 'scratch' in each"
#: object = "bytearray"
#: fix = "persistent_workers"
#: seed_doc = "002_1ba70e6ca3a26ff9.txt"
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from zoolib import Blobs, Mlp, Zoo

z = Zoo()
N = int(16 * 2**20 * z.scale)


class Buffered(Dataset):
    def __init__(self):
        self.scratch = None

    def __len__(self):
        return 1920

    def __getitem__(self, i):
        if self.scratch is None:
            self.scratch = bytearray(b"s") * N  # <- NOT A LEAK (ends with its worker)
        return torch.full((256,), self.scratch[i % N] / 256), i % 10


vdata, model = Blobs(480, 256, seed=1), Mlp(256, 256)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Buffered(), 32, shuffle=True, num_workers=4, persistent_workers=not z.leak)
for epoch in z.epochs():
    with z.phase("train", epoch):
        model.train()
        for x, y in loader:
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
