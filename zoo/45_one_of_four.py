"""One of four DataLoader workers leaks: the one whose shard holds the long clips keeps every decoded clip."""

#: leak = true
#: problem = "leak"
#: kind = "host_heap"
#: process = "child:dataloader_worker[2]"
#: phase = "train"
#: growth = "one batch of 16 clips * 32 KiB*scale per 4 train steps (all in worker 2)"
#: rate_train_step = 131072
#: holder = "dataset.decoded (list) in worker 2"
#: object = "numpy.ndarray (8192,) float32"
#: fix = "drop_decoded_clips"
#: seed_doc = "003_cd825023c1589bb1.txt"
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info
from zoolib import Blobs, Mlp, Zoo

z = Zoo()
N = int(8192 * z.scale)


class Clips(Dataset):
    def __init__(self):
        self.decoded, self.kept = [], 0

    def __len__(self):
        return 960

    def __getitem__(self, i):
        clip = np.full(N, i % 7, np.float32)
        worker = get_worker_info()
        if z.leak and worker and worker.id == 2:
            self.decoded.append(clip)  # <- LEAK
            self.kept += clip.nbytes
            if len(self.decoded) % 16 == 0:
                z.note("retained", role="worker", phase="train", retained=self.kept)
        return torch.from_numpy(clip[:256].copy()), i % 10


vdata, model = Blobs(240, 256, seed=1), Mlp(256, 128)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Clips(), 16, shuffle=True, num_workers=4, persistent_workers=True)
z.ready()
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
        for x, _ in DataLoader(vdata, 16):
            model(x)
            if not z.step():
                break
