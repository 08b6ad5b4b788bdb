"""A Dataset whose samples were moved to a device that is only played, and tensors that look alike and claim nothing."""

import json
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


class Pictures(torch.utils.data.Dataset):
    def __init__(self, mode):
        self.samples = [torch.randn(3, 32) for _ in range(40)]
        self.mode = mode

    def __len__(self):
        return len(self.samples)

    def to(self, device):
        # As the mode does it; a build of torch 1 without CUDA refuses to be asked for one there.
        meta = [torch.empty(sample.shape, device="meta") for sample in self.samples]
        self.samples = [FakeTensor(self.mode, sample, torch.device(device)) for sample in meta]


data = Pictures(FakeTensorMode())
data.to("cuda:1")
with data.mode:
    on_cpu = torch.empty(7)
on_meta = torch.empty(5, device="meta")
on_meta.note = torch.device("cuda:0")
print(json.dumps({"devices": [str(data.samples[0].device), str(on_cpu.device), str(on_meta.device)]}), flush=True)
sys.stdin.read()
