"""Learns where this build of torch keeps the fields of a tensor, by making tensors and looking at its own memory.

Run by lowtide in a process of its own, with the interpreter and the paths of the process that is looked at. Prints one JSON
object: offsets in bytes. Nothing here is known beforehand except that the fields are there; every offset is the only one
that fits all the tensors made.
"""

import ctypes
import json
import os
import sys

sys.path[:0] = sys.argv[1:]
import torch  # noqa: E402


memory = os.open("/proc/self/mem", os.O_RDONLY)


def word(address, size=8):
    """What lies at an address; -1 where nothing does, for most words that are followed here are no pointers."""
    try:
        return int.from_bytes(os.pread(memory, size, address), "little")
    except (OSError, OverflowError):
        return -1


def only(offsets, what):
    offsets = sorted(offsets)
    if not offsets:
        raise SystemExit("lowtide: no place fits " + what)
    return offsets[0]


def fits(samples, reach, step=8, size=8):
    """Offsets at which every object holds its value: samples are (address, value)."""
    return [at for at in range(0, reach, step) if all(word(a + at, size) == v % (1 << 8 * size) for a, v in samples)]


def storage_of(t):
    return (t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage().untyped() if hasattr(t.storage(), "untyped") else t.storage()._untyped())


SHAPES = [(3, 5, 7), (11, 13, 17), (19, 23, 29)]
REACH = 256
base = [torch.zeros(1000 + 37 * i + a * b * c) for i, (a, b, c) in enumerate(SHAPES)]
view = [s[31 + 2 * i :][: a * b * c].view(a, b, c).permute(2, 0, 1) for i, (s, (a, b, c)) in enumerate(zip(base, SHAPES))]
impl = [(t, t._cdata) for t in view]
out = {"torch": torch.__version__, "python_impl": only(fits([(id(t), c) for t, c in impl], 64), "impl")}
out["storage"] = only(fits([(c, storage_of(t)._cdata) for t, c in impl], REACH), "storage")
out["pyobj"] = only(fits([(c, id(t)) for t, c in impl], REACH), "pyobj")
out["numel"] = only(fits([(c, t.numel()) for t, c in impl], REACH), "numel")
out["offset"] = only(fits([(c, t.storage_offset()) for t, c in impl], REACH), "offset")
for name in ("sizes", "strides"):
    value = (lambda t, i: t.shape[i]) if name == "sizes" else (lambda t, i: t.stride()[i])
    rows = [set(fits([(c, value(t, i)) for t, c in impl], REACH)) for i in range(3)]
    out[name] = only([at for at in rows[0] if at + 8 in rows[1] and at + 16 in rows[2]], name)
dims = [torch.zeros([1] * n) for n in (1, 2, 4, 5, 3)]
out["ndim"] = only([at for at in fits([(t._cdata, t.dim()) for t in dims], REACH) if at < out["sizes"]], "ndim")
deep = torch.zeros(1, 2, 3, 1, 2, 3, 1)
far = word(deep._cdata + out["sizes"])
out["far_sizes"] = [word(far + 8 * i) for i in range(7)] == list(deep.shape)

TYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()
CODES = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15]
typed = [(torch.zeros(2, dtype=getattr(torch, n)), code) for n, code in zip(TYPES, CODES)]
out["dtype"] = only(fits([(t._cdata, code) for t, code in typed], REACH, 2, 2), "dtype")
placed = [(torch.zeros(2), 0), (torch.zeros(2, device="meta"), 14), (torch.zeros(3), 0)]
out["device"] = only([at for at in fits([(t._cdata, code) for t, code in placed], REACH, 1, 1) if at > out["dtype"]], "device")

data = [(storage_of(t)._cdata, storage_of(t).data_ptr(), storage_of(t).nbytes()) for t in base]
out["data"] = only(fits([(s, p) for s, p, n in data], 128), "data")
out["nbytes"] = only(fits([(s, n) for s, p, n in data], 128), "nbytes")

leaf = [torch.ones(3 + i, requires_grad=True) for i in range(3)]
plain = [torch.ones(3, requires_grad=True).requires_grad_(False) for i in range(3)]
for t in leaf:
    (t * 2).sum().backward()
meta = [at for at in range(0, REACH, 8) if all(word(t._cdata + at) > 4096 for t in leaf) and all(word(t._cdata + at) == 0 for t in base)]
for at in meta:
    gradients = fits([(word(t._cdata + at), t.grad._cdata) for t in leaf], 128)
    if gradients:
        out["autograd"], out["grad"] = at, gradients[0]
        break
result = [t * 2 for t in leaf]
functions = [t.grad_fn for t in result]  # kept: the Python side of a node lives only as long as somebody has it
node = [word(id(f) + 16) for f in functions]
meta = [word(t._cdata + out["autograd"]) for t in result]
out["grad_fn"] = only(fits(list(zip(meta, node)), 128), "grad_fn")
flags = [(word(t._cdata + out["autograd"]), v) for t, v in [(t, 1) for t in leaf] + [(t, 0) for t in plain if word(t._cdata + out["autograd"])] + [(t, 0) for t in result]]
out["requires_grad"] = only([at for at in fits(flags, 192, 1, 1) if at > out["grad_fn"]], "requires_grad")

# A node's edges: a vector of pairs, the first of which points to the next node. The pairs grew smaller in time.
chain = [t.sum() + t.prod() for t in result]
last = [t.grad_fn for t in chain]
before = [[f for f, _ in f.next_functions] for f in last]
ends = [word(id(f) + 16) for f in last]
truth = [[word(id(f) + 16) for f in both] for both in before]
edges = []
for at in range(8, 256, 8):
    for stride in (16, 24):
        lists = [(word(n + at), word(n + at + 8)) for n in ends]
        if all(e - b == 2 * stride and [word(b), word(b + stride)] == both for (b, e), both in zip(lists, truth)):
            edges.append((at, stride))
out["edges"], out["edge_bytes"] = only(edges, "edges")
out["node_python"] = only(fits([(id(f), n) for f, n in zip(last, ends)], 32), "node of grad_fn")

libc = ctypes.CDLL(None)
libc.malloc_usable_size.restype = ctypes.c_size_t
size = [libc.malloc_usable_size(ctypes.c_void_p(p)) for p in (base[0]._cdata, data[0][0], meta[0])]
out["impl_bytes"], out["storage_bytes"], out["autograd_bytes"] = size
json.dump(out, sys.stdout)
