"""Tensors of every kind, graphs that are kept, and torch's own word on each of them, as one line of JSON."""

import gc
import json
import sys

import torch

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
optimizer = torch.optim.Adam(model.parameters())
kept = []
for step in range(6):
    x = torch.randn(32, 64)
    y = model(x)
    loss = ((y - x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for step in range(3):  # outputs kept with their graphs, as lists of losses are
    x = torch.randn(32, 64)
    kept.append(((model(x) - x) ** 2).mean())
total = 0.0
for step in range(5):  # the chain of a loss that is summed with its graph
    total = total + model(torch.randn(16, 64)).pow(2).sum()
big = torch.zeros(1000, 1000, dtype=torch.float64)
small = big[3, 10:20]  # pins all of it
odd = [torch.zeros(2, 3, 4, 5, 6, 7, 8, dtype=torch.uint8).permute(6, 0, 1, 2, 3, 4, 5), torch.tensor(True), torch.zeros(0, 5)]
meta = torch.empty(7, 9, device="meta", dtype=torch.float16)
shared = [big.view(-1) for _ in range(10)]
frozen = torch.nn.Parameter(torch.ones(11), requires_grad=False)
del x, y, loss


def storage(t):
    s = t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()._untyped() if hasattr(t.storage(), "_untyped") else t.storage().untyped()
    return s._cdata, s.nbytes()


def say(t):
    key, size = storage(t)
    return {
        "python": id(t),
        "impl": t._cdata,
        "shape": list(t.shape),
        "strides": list(t.stride()),
        "offset": t.storage_offset(),
        "dtype": str(t.dtype)[6:],
        "device": str(t.device),
        "requires_grad": t.requires_grad,
        "grad_fn": t.grad_fn is not None,
        "grad": t.grad is not None if t.is_leaf else False,
        "storage": key,
        "bytes": size,
    }


def graph(t):
    """Nodes of a tensor's graph, and what they save that no variable has."""
    seen, todo, saved = {}, [t.grad_fn], {}
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        todo += [f for f, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_saved_"):
                value = getattr(node, name)
                for v in value if isinstance(value, (tuple, list)) else [value]:
                    if isinstance(v, torch.Tensor):
                        key, size = storage(v)
                        saved[key] = size
    return len(seen), saved


def held(tensors):
    """Those that some other object refers to. A graph's saved tensors have Python objects too, which nobody refers to."""
    wanted = {id(t) for t in tensors}
    found = set()
    for o in gc.get_objects():
        if o is not tensors:
            found.update(id(r) for r in gc.get_referents(o) if id(r) in wanted)
    return found


gc.collect()
tensors = [o for o in gc.get_objects() if isinstance(o, torch.Tensor)]
said = {"graphs": {}}
python = held(tensors)
mine = {storage(t)[0] for t in tensors if id(t) in python}
for name, t in [("total", total)] + [(f"kept{i}", k) for i, k in enumerate(kept)]:
    count, saved = graph(t)
    said["graphs"][name] = {"impl": t._cdata, "nodes": count, "saved": sum(n for k, n in saved.items() if k not in mine), "saved_storages": [k for k in saved if k not in mine]}
gc.collect()
# Only now: what a node saved becomes a Python object when it is looked at, and stays one.
tensors = [o for o in gc.get_objects() if isinstance(o, torch.Tensor)]
del t
python = held(tensors)
said["tensors"] = [dict(say(t), held=id(t) in python) for t in tensors]
said["small"] = small._cdata
said["torch"] = torch.__version__
del tensors, saved
gc.collect()
print(json.dumps(said), flush=True)
sys.stdin.read()
