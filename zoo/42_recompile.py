"""torch.compile meets a new sequence length every 20 train steps and compiles the model once more for each; the
compiled code, its guards and graphs stay in the compile cache, whose limit was raised.  'fixed' compiles once with
dynamic shapes.  Needs torch 2."""

#: leak = true
#: problem = "leak"
#: kind = "python_objects"
#: process = "main"
#: phase = "train"
#: growth = "about 1.3 MB per compilation (torch 2.15, backend aot_eager, 12 layers), one in 20 train steps"
#: rate_train_step = 65000
#: holder = "torch._dynamo's cache entries on the code object of Net.forward, __compiled_fn_* among the module's variables"
#: object = "compiled code, guards and FX graphs"
#: fix = "dynamic_shapes"
#: seed_doc = "004_a41051a4819bd923.txt"
#: live_seconds = 50
import sys

import torch
from torch import nn
from zoolib import SKIP, Zoo

if not hasattr(torch, "compile"):
    print(f"skip: torch.compile needs torch 2, this is {torch.__version__}")
    sys.exit(SKIP)

# aot_eager captures, traces and guards as inductor does, and needs no C++ compiler; with inductor each compilation
# takes seconds and keeps about 3.7 MB.
z = Zoo(extra=[("--backend", {"default": "aot_eager"})])
for name in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit", "accumulated_recompile_limit"):
    if hasattr(torch._dynamo.config, name):
        setattr(torch._dynamo.config, name, 100_000)  # what users do after reading "recompile limit reached"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())])
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean(0))


model = Net()
compiled = torch.compile(model, backend=z.args.backend, dynamic=not z.leak)
compiled(torch.randn(7, 64)).sum().backward()  # the compiler's own import and first use belong to the start-up
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
step = 0
for epoch in z.epochs():
    with z.phase("train", epoch):
        model.train()
        for _ in range(60):
            opt.zero_grad()
            out = compiled(torch.randn(8 + step // 20, 64))  # <- LEAK
            loss = nn.functional.cross_entropy(out[None], torch.tensor([step % 10]))
            loss.backward()
            opt.step()
            step += 1
            if not z.step(loss):
                break
    with z.phase("validation", epoch), torch.no_grad():
        for _ in range(15):
            model(torch.randn(32, 64))
            if not z.step():
                break
