"""A seeded training that is busy in all the ways in which one can be, in steps that its standard input asks for.

Beside the loop: DataLoader workers forked anew for each chunk of steps, gloo threads, a thread that starts processes, one
that changes containers all the time, timer signals, and signals that come from outside and are counted. It says `chunk N`
after each chunk and at the end `result`, with a digest of weights, optimizer and losses.
"""

import hashlib
import os
import signal
import subprocess
import sys
import threading

import torch
import torch.distributed
from torch.utils.data import DataLoader, Dataset

CHUNKS = int(sys.argv[1])
ticks, told = 0, 0
over = threading.Event()
failures = []


class Samples(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(32, generator=generator), index % 4


def tick(_signal, _frame):
    global ticks
    ticks += 1


def tell(_signal, _frame):
    global told
    told += 1
    os.write(1, b"told %d\n" % told)


def kept(work):
    """Runs it until the end, and keeps what it raises."""

    def run():
        try:
            while not over.is_set():
                work()
        except BaseException as error:
            failures.append(repr(error))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def start_a_process():
    done = subprocess.run([sys.executable, "-Sc", "print(6 * 7)"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"42\n"), done
    over.wait(0.05)


class Churn:
    """Containers that grow and shrink, so that there is no moment at which nothing changes."""

    def __init__(self):
        self.lists, self.dicts = [[] for _ in range(50)], [{} for _ in range(50)]

    def __call__(self):
        for n, (one, other) in enumerate(zip(self.lists, self.dicts)):
            one.append((n, str(n)))
            other[len(other)] = [one]
            if len(one) > 200:
                one.clear()
                other.clear()
        over.wait(0.001)


def train():
    torch.manual_seed(11)
    torch.set_num_threads(2)
    model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(128, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    order = torch.Generator().manual_seed(5)
    loader = DataLoader(Samples(), batch_size=16, shuffle=True, num_workers=2, generator=order)
    losses = []
    for chunk in range(CHUNKS):
        assert sys.stdin.readline() == "go\n"
        for sample, label in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(sample), label)
            loss.backward()
            for parameter in model.parameters():
                torch.distributed.all_reduce(parameter.grad)
            optimizer.step()
            losses.append(loss.item())
        os.write(1, b"chunk %d\n" % chunk)
    digest = hashlib.sha256(repr(losses).encode())
    for value in [*model.parameters(), *(state["exp_avg_sq"] for state in optimizer.state.values())]:
        digest.update(value.detach().numpy().tobytes())
    return digest.hexdigest()


def main():
    signal.signal(signal.SIGALRM, tick)
    signal.signal(signal.SIGUSR1, tell)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    os.write(1, b"ready\n")
    threads = [kept(start_a_process), kept(Churn())]
    try:
        result = train()
        before = ticks
        while ticks == before:  # the timer still ticks
            over.wait(0.01)
    finally:
        over.set()
    for thread in threads:
        thread.join()
    os.write(1, b"result %s\n" % (" ".join(failures) or result).encode())
    sys.stdin.readline()
    signal.setitimer(signal.ITIMER_REAL, 0)  # an interpreter that ends takes its handlers away
    torch.distributed.destroy_process_group()


main()
