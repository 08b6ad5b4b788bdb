"""A training on the CPU beside fake tensors on `cuda:0` (FakeTensorMode), which a list keeps; it drives the fake driver's control file.

Exits with 77 where this torch cannot make such tensors.
"""

import os
import sys
import time

import torch

MIB = 1 << 20
CONTEXT, TEMPORARY, VALIDATION, FRAGMENTS = 400 * MIB, 96 * MIB, 160 * MIB, 8 * MIB


def fake(*shape):
    return torch.empty(*shape, device="cuda:0")


try:
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    with mode, torch.no_grad():
        fake(1)
except Exception:
    sys.exit(77)


class Net(torch.nn.Module):
    """32 MiB of gradient, 4 MiB of buffer."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(fake(1024, 8192), requires_grad=False)
        self.weight.grad = fake(1024, 8192)
        self.register_buffer("mean", fake(1024, 1024))


class Cuda:
    """What the in-process part asks `torch.cuda` for."""

    def __init__(self, net, kept):
        self.net, self.kept, self.real = net, kept, torch.cuda
        self.peak = self.reserved = 0

    def live(self):
        return sum(tensor.nbytes for tensor in [self.net.weight, self.net.weight.grad, self.net.mean, *self.kept])

    def needed(self, control, temporary):
        self.peak = max(self.peak, self.live() + temporary)
        self.reserved = max(self.reserved, -(-(self.peak + FRAGMENTS) // (20 * MIB)) * 20 * MIB)
        with open(control + ".draft", "w") as file:
            file.write(f"driver 550.54\ncard 0 total={16 << 30} name=Fake_H100\n")
            file.write(f"process 0 pid={os.getpid()} used={self.reserved + CONTEXT}\n")
        os.replace(control + ".draft", control)

    def is_initialized(self):
        return True

    def device_count(self):
        return 1

    def memory_stats_as_nested_dict(self, device=None):
        def told(now, peak=0):
            return {"all": {"current": now, "peak": max(now, peak)}}

        allocated, reserved = told(self.live(), self.peak), told(self.reserved)
        return {"allocated_bytes": allocated, "reserved_bytes": reserved, "inactive_split_bytes": told(FRAGMENTS)}

    def __getattr__(self, name):
        return getattr(self.real, name)


def main(control, seconds):
    torch.set_num_threads(1)
    on_cpu = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(on_cpu.parameters())
    kept = []
    with mode, torch.no_grad():
        net = Net()
    torch.cuda = Cuda(net, kept)
    end, steps = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        optimizer.zero_grad()
        on_cpu(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        with mode, torch.no_grad():
            kept.append(fake(256, 512))  # PLANTED
        torch.cuda.needed(control, TEMPORARY)
        time.sleep(0.05)
        steps += 1
        if steps % 100 == 0:
            on_cpu.eval()
            with torch.no_grad():
                for _ in range(4):
                    on_cpu(torch.randn(4, 8))
                    torch.cuda.needed(control, VALIDATION)
                    time.sleep(0.05)
            on_cpu.train()


main(sys.argv[1], float(sys.argv[2]))
