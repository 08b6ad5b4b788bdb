"""The watched command is a client that hands its job to a server started before and waits; the trainer is the
server's child, outside the watched tree, and it leaks.  Start `41_job_server.py --serve SOCKET` first, then the
client with `--socket SOCKET`."""

#: leak = true
#: problem = "leak"
#: kind = "host_heap"
#: process = "outside:training"
#: phase = "both"
#: growth = "32*2048*4 B*scale per step (train and validation), in a process that is no child of the client"
#: rate_train_step = 262144
#: rate_val_step = 262144
#: holder = "metrics.predictions (list) in the server's child"
#: object = "torch.Tensor (32,2048) float32, no grad_fn"
#: fix = "keep_scalars"
#: seed_doc = "004_a41051a4819bd923.txt"
#: server = true
import json
import socket
import subprocess
import sys


def serve(path):
    """Take jobs one after the other: start each as a child, say when it has ended."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("listening", flush=True)
        while True:
            with listener.accept()[0] as client, client.makefile("rw") as talk:
                job = subprocess.Popen(json.loads(talk.readline()), stdout=subprocess.DEVNULL)
                talk.write(f"{job.wait()}\n")


def submit(path):
    """Send the server our own command line as a job and wait for its end: 'ssh', 'ray job submit' and the like."""
    job = [sys.executable, "-u", *sys.argv, "--inner"]
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        with server.makefile("rw") as talk:
            talk.write(json.dumps(job) + "\n")
            talk.flush()
            print("sent", flush=True)
            sys.exit(int(talk.readline()))


if "--serve" in sys.argv:
    serve(sys.argv[sys.argv.index("--serve") + 1])
if "--inner" not in sys.argv:
    if "--socket" not in sys.argv:
        sys.exit("start the server first (--serve SOCKET), then this with --socket SOCKET; zoo/run.py does both")
    submit(sys.argv[sys.argv.index("--socket") + 1])

import torch  # noqa: E402  the client and the server stay small
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from zoolib import Blobs, Zoo, nbytes  # noqa: E402

z = Zoo(extra=[("--inner", {"action": "store_true"}), ("--socket", {})])
W = int(2048 * z.scale)


class Metrics:
    def __init__(self):
        self.predictions = []

    def update(self, pred):
        if z.leak:
            self.predictions.append(pred)  # <- LEAK
            z.keep(nbytes(pred))
        else:
            self.predictions.append(pred.mean().item())


data, vdata = Blobs(1920, 128), Blobs(480, 128, seed=1)
enc, head = nn.Linear(128, W), nn.Linear(W, 10)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=1e-2)
metrics = Metrics()
for epoch in z.epochs():
    with z.phase("train", epoch):
        for x, y in DataLoader(data, 32, shuffle=True):
            opt.zero_grad()
            h = enc(x)
            loss = nn.functional.cross_entropy(head(h), y)
            loss.backward()
            opt.step()
            metrics.update(h.detach())
            if not z.step(loss):
                break
    with z.phase("validation", epoch), torch.no_grad():
        for x, _ in DataLoader(vdata, 32):
            metrics.update(enc(x))
            if not z.step():
                break
