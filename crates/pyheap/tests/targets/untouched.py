"""Arrays and tensors of which some were written in part."""

import json
import sys

import numpy as np
import torch

MIB = 1 << 20
part = np.zeros(64 * MIB, dtype=np.uint8)
part[: 10 * MIB] = 1
view = part[20 * MIB :]
whole = np.ones(48 * MIB, dtype=np.uint8)
bank = torch.empty(40 * MIB, dtype=torch.uint8)
bank[-5 * MIB :] = 1
shared = torch.empty(40 * MIB, dtype=torch.uint8).share_memory_()
small = [np.zeros(1000) for _ in range(100)]

print(json.dumps({"version": sys.version.split()[0]}), flush=True)
sys.stdin.read()
