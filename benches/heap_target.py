"""A Python with a heap like a real program's: records of a data set, as dicts, lists, tuples, str, numbers and instances.

    python3 heap_target.py OBJECTS plain|torch

Says how many objects it made, then looks into itself as its standard input says (gc, objgraph, guppy, pympler, copy), and
answers with the milliseconds that it took, and those of the processor: one line of JSON each.
"""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

AGENT = Path(__file__).resolve().parent.parent / "crates/lowtide/agent"
EACH = 17  # objects of one record


class Box:
    """An instance as most are: a few attributes, no slots."""

    def __init__(self, owner: dict, label: str, score: float) -> None:
        self.owner = owner
        self.label = label
        self.score = score


class DataSet:
    """What holds the records, and two ways to find them again."""

    def __init__(self, count: int) -> None:
        draw = random.Random(7)
        self.labels = [f"label {n}" for n in range(100)]
        self.records = [self.record(draw, n) for n in range(count)]
        self.by_path = {record["path"]: record for record in self.records}
        self.shuffled = list(self.records)
        draw.shuffle(self.shuffled)  # neighbours in a list are seldom neighbours in memory

    def record(self, draw: random.Random, number: int) -> dict:
        """17 objects of its own: dict, path, id, size and two numbers in it, tags and two of them, two boxes with score and name, note."""
        record = {
            "id": 1_000_000 + number,
            "path": f"/data/train/{number:08d}.jpg",
            "size": (640.5 + draw.random(), 480.5 + draw.random()),
            "tags": [f"tag {draw.random()}", f"tag {draw.random()}"],
            "note": f"{number} " * draw.randrange(1, 20),
        }
        record["boxes"] = [Box(record, draw.choice(self.labels), draw.random()) for _ in range(2)]
        for box in record["boxes"]:
            box.name = f"box of {number}"
        return record


def torch_loop() -> object:
    """A model after a few steps, so that all that a training imports and makes is there."""
    import torch  # noqa: PLC0415  only where it is asked for

    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8)))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(32, 256)).square().mean().backward()
        optimizer.step()
    return model, optimizer


def with_gc() -> object:
    """What everybody writes: the collector's objects and `sys.getsizeof`, by type."""
    sizes: dict[type, list[int]] = {}
    for found in gc.get_objects():
        total = sizes.setdefault(type(found), [0, 0])
        total[0] += 1
        total[1] += sys.getsizeof(found)
    return sizes


def with_objgraph() -> object:
    import objgraph  # noqa: PLC0415

    return objgraph.most_common_types(limit=20)


def with_guppy() -> object:
    import guppy  # noqa: PLC0415

    return str(guppy.hpy().heap())


def with_pympler() -> object:
    from pympler import muppy, summary  # noqa: PLC0415

    return list(summary.format_(summary.summarize(muppy.get_objects()), limit=20))


def copied() -> float:
    """Milliseconds that this process stands still to copy itself for a recorder."""
    sys.path.insert(0, str(AGENT))
    from _lowtide import snapshot  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as recorder:
        recorder.bind(os.path.join(folder, f"{os.getpid()}.snapshot"))
        recorder.listen()
        start = time.perf_counter()
        copy = snapshot.take(folder)
        took = time.perf_counter() - start
        if copy < 0:
            raise RuntimeError("there was no copy to be had")
        recorder.accept()[0].close()
    while snapshot.copies:
        snapshot.collect()
        time.sleep(0.001)
    return took * 1000


WAYS = {"gc": with_gc, "objgraph": with_objgraph, "guppy": with_guppy, "pympler": with_pympler}


def main() -> None:
    kept = torch_loop() if sys.argv[2] == "torch" else None
    data = DataSet(int(sys.argv[1]) // EACH)
    for name in ("objgraph", "guppy", "pympler.muppy", "pympler.summary"):
        try:
            __import__(name)  # not part of what a look costs
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
    gc.collect()
    print(json.dumps({"records": len(data.records), "torch": kept is not None}), flush=True)
    for line in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        way = line.strip()
        took = copied() if way == "copy" else WAYS[way]()
        if way != "copy":
            took = (time.perf_counter() - start) * 1000
        print(json.dumps({"ms": took, "cpu": (time.process_time() - cpu) * 1000}), flush=True)


if __name__ == "__main__":
    main()
