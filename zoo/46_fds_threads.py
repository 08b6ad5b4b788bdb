"""Every validation opens a log pipe and starts a writer thread for each metric and never closes them: file descriptors
and threads grow, memory hardly does."""

#: leak = true
#: problem = "leak"
#: kind = "fds_threads"
#: process = "main"
#: phase = "validation"
#: growth = "4 pipes (8 file descriptors) and 4 threads per epoch (35 steps)"
#: rate_train_step = 0
#: holder = "board.writers (list of (thread, fd))"
#: object = "pipe, thread"
#: fix = "close_writers"
#: seed_doc = "other"
import os
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader
from zoolib import Blobs, Mlp, Zoo

z = Zoo()


class Board:
    """Hands each metric of a validation to a thread of its own, through a pipe."""

    def __init__(self):
        self.writers = []

    def open(self):
        for _ in range(int(4 * z.scale)):
            source, sink = os.pipe()
            thread = threading.Thread(target=self.drain, args=(source,), daemon=True)
            thread.start()
            self.writers.append((thread, sink))  # <- LEAK

    @staticmethod
    def drain(source):
        while os.read(source, 4096):
            pass
        os.close(source)

    def write(self, value):
        for _, sink in self.writers[-4:]:
            os.write(sink, b"%f\n" % value)

    def close(self):
        while self.writers:
            thread, sink = self.writers.pop()
            os.close(sink)
            thread.join()


data, vdata, board = Blobs(800, 256), Blobs(320, 256, seed=1), Board()
model = Mlp(256, 256)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
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
    with z.phase("validation", epoch), torch.no_grad():
        model.eval()
        board.open()
        for x, y in DataLoader(vdata, 32):
            board.write(float(nn.functional.cross_entropy(model(x), y)))
            if not z.step():
                break
        if not z.leak:
            board.close()
board.close()
