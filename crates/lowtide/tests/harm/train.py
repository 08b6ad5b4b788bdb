"""A seeded training that is busy in all the ways in which one can be, in chunks of steps that its standard input asks for.

Beside the loop: DataLoader workers forked anew for each chunk, gloo threads that talk to a second rank, a thread that starts
processes, one that changes containers all the time, timer signals, signals that are answered one by one, and queued signals whose
numbers and order are checked. It says `chunk N` after each chunk, at the end `result` with a digest of weights, optimizer and
losses, and `queued N` with what came of the queued signals.
"""

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading

QUEUED = signal.SIGRTMIN
# Before any thread starts: the one that waits for them shall be the only one that gets them.
signal.pthread_sigmask(signal.SIG_BLOCK, [QUEUED])

import torch  # noqa: E402
import torch.distributed  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

CHUNKS, SAMPLES, BATCH = int(sys.argv[1]), 64, 16
WIDTHS = (32, 128, 4)
WEIGHTS = WIDTHS[0] * WIDTHS[1] + WIDTHS[1] + WIDTHS[1] * WIDTHS[2] + WIDTHS[2]
ticks, told = 0, 0
over = threading.Event()
failures = []


class Samples(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(WIDTHS[0], generator=generator), index % WIDTHS[2]


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


def take_queued_signals():
    """They are numbered from 1 on, and 0 is the last; the number lies where `si_status` does (sigaction(2))."""
    taken = 0
    while number := signal.sigwaitinfo([QUEUED]).si_status:
        taken += 1
        if number != taken:
            failures.append(f"queued signal {number} came as number {taken}")
            taken = number
    os.write(1, b"queued %d\n" % taken)


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


def join(store, rank):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)


def second_rank(store):
    """Adds nothing to the gradients, but has to be asked for it at each step. Ends with the first one."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    join(store, 1)
    for _ in range(CHUNKS * (SAMPLES // BATCH)):
        torch.distributed.all_reduce(torch.zeros(WEIGHTS))
    torch.distributed.destroy_process_group()


def train():
    torch.manual_seed(11)
    torch.set_num_threads(2)
    hidden = torch.nn.Sequential(torch.nn.Linear(*WIDTHS[:2]), torch.nn.ReLU(), torch.nn.Dropout(0.1))
    model = torch.nn.Sequential(hidden, torch.nn.Linear(*WIDTHS[1:]))
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    order = torch.Generator().manual_seed(5)
    loader = DataLoader(Samples(), batch_size=BATCH, shuffle=True, num_workers=2, generator=order)
    losses = []
    for chunk in range(CHUNKS):
        assert sys.stdin.readline() == "go\n"
        for sample, label in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(sample), label)
            loss.backward()
            sums = torch.cat([parameter.grad.flatten() for parameter in parameters])
            torch.distributed.all_reduce(sums)
            for parameter, part in zip(parameters, sums.split([parameter.numel() for parameter in parameters])):
                parameter.grad.copy_(part.view_as(parameter))
            optimizer.step()
            losses.append(loss.item())
        os.write(1, b"chunk %d\n" % chunk)
    digest = hashlib.sha256(repr(losses).encode())
    for value in [*parameters, *(state["exp_avg_sq"] for state in optimizer.state.values())]:
        digest.update(value.detach().numpy().tobytes())
    return digest.hexdigest()


def main(store):
    second = os.fork()
    if second == 0:
        second_rank(store)
        os._exit(0)
    join(store, 0)
    signal.signal(signal.SIGALRM, tick)
    signal.signal(signal.SIGUSR1, tell)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    os.write(1, b"ready\n")
    threads = [kept(start_a_process), kept(Churn()), threading.Thread(target=take_queued_signals, daemon=True)]
    threads[-1].start()
    try:
        result = train()
        before = ticks
        while ticks == before:  # the timer still ticks
            over.wait(0.01)
    finally:
        over.set()
    os.write(1, b"result %s\n" % result.encode())
    for thread in threads:
        thread.join()
    torch.distributed.destroy_process_group()
    if os.waitpid(second, 0)[1] != 0:
        failures.append("the second rank failed")
    os.write(1, b"whole %s\n" % "; ".join(failures).encode())
    sys.stdin.readline()
    signal.setitimer(signal.ITIMER_REAL, 0)  # an interpreter that ends takes its handlers away


with tempfile.TemporaryDirectory() as folder:
    main(os.path.join(folder, "store"))
