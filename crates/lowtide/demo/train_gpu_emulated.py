"""A small training run on the CPU that acts as if its tensors lay on a GPU, for `lowtide demo --gpu-emulated`.

There is no GPU and no CUDA in it. torch trains a perceptron on the CPU; a bookkeeper (`Card`) counts what the program keeps, each byte as
many, as PyTorch's caching allocator would, answers for `torch.cuda.memory_stats`, and tells the driver that lowtide emulates by
its control file. What is planted stands in the lines marked PLANTED; the third argument chooses it. A fourth one
chooses what the driver is like: `plain`; `eight` cards, of which this process has the sixth; `mig`, an instance of a divided card;
`silent`, which does not tell what a process has.
"""

import os
import signal
import sys
import time

import torch

FEATURES, HIDDEN, BATCH = 64, 128, 16
STEPS_PER_SECOND = 20.0
#: A byte on the CPU counts as so many on the card: real models are larger than this one.
SCALE = 16384
MIB = 1 << 20
TOTAL, CONTEXT = 16 << 30, 400 * MIB


def plain(used, others, at=0):
    """What the control file has of a card, by what this process and another one have of it."""
    yield f"card {at} total={TOTAL} name=Emulated_GPU uuid=EMULATED-{at}"
    yield f"process {at} pid={os.getpid()} used={used}"
    if others:
        yield f"process {at} pid=1 used={others}"


def eight(used, others):
    yield from (f"card {at} total={TOTAL} name=Emulated_GPU uuid=EMULATED-{at} used=0" for at in range(8) if at != 5)
    yield from plain(used, others, at=5)


def mig(used, others):
    yield from (f"mig 0 {part} total={TOTAL} name=Emulated_GPU uuid=EMULATED-0-{part}" for part in range(2))
    yield f"process 0 pid={os.getpid()} used={used} mig=1"


def silent(used, others):
    yield f"card 0 total={TOTAL} name=Emulated_GPU uuid=EMULATED-0 used={used + others}"
    yield f"process 0 pid={os.getpid()} used=none"


DRIVERS = {"plain": plain, "eight": eight, "mig": mig, "silent": silent}


class Card:
    """PyTorch's caching allocator on a card that is not there: blocks of 20 MiB that are never given back."""

    BLOCK = 20 * MIB

    def __init__(self, control, driver="plain"):
        self.control, self.driver = control, driver
        self.allocated = self.peak = self.reserved = self.split = 0
        self.outside, self.others = CONTEXT, 0
        self.memory = History()

    def holds(self, live, at_most, unusable=0):
        """So many bytes live now, and so many did in the last step; `unusable` are free and fit nothing that is asked for."""
        self.allocated, self.peak, self.split = live, max(self.peak, at_most), unusable
        needed = -(-(at_most + unusable) // self.BLOCK) * self.BLOCK
        self.reserved = max(self.reserved, needed)
        self.tell()

    def tell(self):
        lines = ["driver 0.0", *DRIVERS[self.driver](self.reserved + self.outside, self.others)]
        with open(self.control + ".draft", "w") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(self.control + ".draft", self.control)

    def gives(self, tensor):
        """A tensor that it gave out; notes who asked for it, where that is wanted."""
        self.memory.note(tensor, sys._getframe(1))
        return tensor

    # What the in-process part asks `torch.cuda` for.

    def is_initialized(self):
        return True

    def device_count(self):
        return 1

    def get_per_process_memory_fraction(self, device=None):
        return 1.0

    def host_memory_stats_as_nested_dict(self):
        return {}

    def memory_stats_as_nested_dict(self, device=None):
        def told(current, peak=0):
            return {"all": {"current": current, "peak": max(current, peak)}}

        return {
            "allocated_bytes": told(self.allocated, self.peak),
            "reserved_bytes": told(self.reserved),
            "active_bytes": told(self.allocated),
            "inactive_split_bytes": told(self.split),
            "num_alloc_retries": 0,
            "num_ooms": 0,
        }

    def __getattr__(self, name):
        return getattr(REAL_CUDA, name)


REAL_CUDA = torch.cuda
torch._C._cuda_isHistoryEnabled = lambda: False  # torch's own asks the driver


class History:
    """What the in-process part asks `torch.cuda.memory` for, with `lowtide run --gpu-history`."""

    def __init__(self):
        self.live = list  # gives the tensors that live
        self.stacks = None  # by address, once they are wanted

    def note(self, tensor, frame):
        if self.stacks is None:
            return
        stack = []
        while frame is not None:
            code = frame.f_code
            stack.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
            frame = frame.f_back
        self.stacks[tensor.data_ptr()] = stack

    def _record_memory_history(self, enabled="all", **_):
        self.stacks = {} if enabled else None

    def _snapshot(self):
        """As torch makes it: here each block has a segment of its own."""
        segments = []
        for tensor in self.live():
            at, size = tensor.data_ptr(), tensor.numel() * tensor.element_size() * SCALE
            block = {"address": at * SCALE, "size": size, "requested_size": size, "state": "active_allocated"}
            block["frames"] = (self.stacks or {}).get(at, [])
            segment = {"device": 0, "address": at * SCALE, "total_size": size, "allocated_size": size, "active_size": size}
            segment.update(requested_size=size, stream=0, segment_type="large", segment_pool_id=(0, 0), is_expandable=False)
            segments.append({**segment, "frames": [], "blocks": [block]})
        return {"segments": segments, "device_traces": [[]], "allocator_settings": {}}


class Trainer:
    def __init__(self, card, planted):
        self.card, self.planted = card, planted
        self.model = torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 2))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.outputs = []
        self.steps = 0
        card.memory.live = self.kept

    def step(self):
        points = torch.randn(BATCH, FEATURES)
        labels = (points.square().sum(1) > FEATURES).long()
        out = self.card.gives(self.model(points))
        loss = torch.nn.functional.cross_entropy(out, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.planted == "leak" and self.steps % 4 == 0:
            self.outputs.append(out.detach())  # PLANTED: the output of every fourth step is kept
        if self.planted == "outside":
            self.card.outside += MIB  # PLANTED: as a library does that makes a handle for every step
        if self.planted == "other":
            self.card.others += 2 * MIB  # PLANTED: as another program does on the same card
        self.count(points, out)

    def kept(self):
        states = [value for state in self.optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
        return [*self.model.parameters(), *states, *self.outputs]

    def count(self, *batch):
        kept = sum(tensor.numel() * tensor.element_size() for tensor in self.kept()) * SCALE
        working = sum(tensor.numel() * tensor.element_size() for tensor in [*batch, *self.model.parameters()]) * SCALE
        pieces = self.steps * MIB if self.planted == "fragmentation" else 0  # PLANTED: pieces that no later batch fits into
        self.card.holds(kept, kept + working, pieces)


def main(seconds, control, planted, driver="plain"):
    torch.manual_seed(5)
    torch.set_num_threads(1)
    card = Card(control, driver)
    trainer = Trainer(card, planted)
    trainer.step()
    torch.cuda = card
    end = time.monotonic() + seconds
    due = time.monotonic()
    while time.monotonic() < end:
        trainer.step()
        due += 1.0 / STEPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(float(sys.argv[1]), *sys.argv[2:])
