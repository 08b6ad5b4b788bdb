#!/usr/bin/env python3
"""Makes memory snapshots as PyTorch's caching allocator would, in every generation of their format, without a GPU.

An allocator is played (rounding to 512 bytes, segments of 2 MiB, 20 MiB or the request's own size, blocks that are split and joined),
and a training that leaks on purpose runs on it. `generate.py FOLDER` writes the fixtures of the tests and, with PyTorch's own
`_memory_viz.py` (`--viz`), the sums that these must have; `generate.py --large FILE --gigabytes 1` writes one for the bench.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import pickle
import random
import sys
from collections import Counter
from pathlib import Path

KIB, MIB = 1024, 1024 * 1024
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"
#: The generations: what each one added, by the version of torch that a snapshot of it may come from.
GENERATIONS = ("1.13", "2.0", "2.1", "2.4", "2.9", "2.15")
#: Frames above the program's own: what a step goes through, the innermost first.
NATIVE = [("??", 0, "torch::unwind::unwind()"), ("??", 0, "torch::CapturedTraceback::gather(bool, bool, bool)")] + [
    ("??", 0, f"at::_ops::{name}::call(at::Tensor const&)") for name in ("empty_memory_format", "addmm", "linear", "relu", "conv2d")
]
BACKWARD = [*NATIVE[:4], ("??", 0, "torch::autograd::AddmmBackward0::apply()"), ("??", 0, "torch::autograd::Engine::thread_main()")]


class Allocator:
    """PyTorch's caching allocator, as far as a snapshot shows it."""

    def __init__(self, generation: str, capacity: int, seed: int) -> None:
        self.generation, self.capacity = GENERATIONS.index(generation), capacity
        self.random, self.now, self.next = random.Random(seed), 1_700_000_000_000_000, 0x7F00_0000_0000
        self.segments: list[dict] = []
        self.trace: list[dict] = []
        self.live: dict[int, tuple[dict, dict]] = {}
        self.dicts: dict[tuple, dict] = {}

    def frames(self, stack: list[tuple]) -> list[dict]:
        """A list of its own, of dictionaries that are shared: so does torch."""
        return [self.dicts.setdefault(f, {"filename": f[0], "line": f[1], "name": f[2]}) for f in stack]

    def note(self, action: str, stack: list[tuple] | None, **rest: object) -> list[dict] | None:
        self.now += self.random.randrange(1, 4000)
        frames = None if stack is None else self.frames(stack)
        if self.generation < 1:
            return frames
        event = {"action": action, **rest}
        if frames is not None:
            event["frames"] = frames
        if self.generation >= 3:
            event["time_us"] = self.now
        if self.generation >= 4:
            event["compile_context"] = "N/A"
            event["user_metadata"] = ""
        if self.generation >= 5:
            event["pool_id"] = (0, 0)
        self.trace.append(event)
        return frames

    def reserved(self) -> int:
        return sum(segment["total_size"] for segment in self.segments)

    def segment_for(self, size: int, small: bool, pool: tuple, stream: int, stack: list[tuple] | None) -> tuple[dict, dict] | None:
        total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved() + total > self.capacity:
            return None
        segment = {"device": 0, "address": self.next, "total_size": total, "stream": stream, "segment_type": "small" if small else "large"}
        segment["pool"], segment["blocks"] = pool, [{"address": self.next, "size": total, "state": "inactive", "past": []}]
        self.next += total + 32 * MIB
        self.segments.append(segment)
        self.note("segment_alloc", stack, addr=segment["address"], size=total, stream=stream)
        return segment, segment["blocks"][0]

    def alloc(self, requested: int, stack: list[tuple] | None, pool: tuple = (0, 0), stream: int = 0) -> int | None:
        size = max(512, -(-requested // 512) * 512)
        small = size <= MIB
        kind = "small" if small else "large"
        fit = None
        for segment in self.segments:
            if segment["segment_type"] == kind and segment["pool"] == pool and segment["stream"] == stream:
                for block in segment["blocks"]:
                    if block["state"] == "inactive" and block["size"] >= size and (fit is None or block["size"] < fit[1]["size"]):
                        fit = (segment, block)
        if fit is None:
            fit = self.segment_for(size, small, pool, stream, stack)
            if fit is None:
                self.note("oom", stack, device_free=self.capacity - self.reserved(), size=requested, stream=stream)
                return None
        segment, block = fit
        if block["size"] - size >= (512 if small else MIB):
            at = segment["blocks"].index(block)
            rest = {"address": block["address"] + size, "size": block["size"] - size, "state": "inactive", "past": []}
            segment["blocks"].insert(at + 1, rest)
            block["size"] = size
        frames = self.note("alloc", stack, addr=block["address"], size=requested, stream=stream)
        block.update(state="active_allocated", requested=requested, frames=frames)
        block["past"] = [(block["address"], requested, frames)]
        self.live[block["address"]] = (segment, block)
        return block["address"]

    def free(self, address: int, stack: list[tuple] | None, completed: bool = True) -> None:
        segment, block = self.live.pop(address)
        self.note("free_requested", stack, addr=address, size=block["requested"], stream=segment["stream"])
        block["state"] = "active_pending_free"
        if not completed:
            return
        self.note("free_completed", stack, addr=address, size=block["requested"], stream=segment["stream"])
        block["state"] = "inactive"
        blocks = segment["blocks"]
        at = blocks.index(block)
        for other in (at + 1, at - 1):
            if 0 <= other < len(blocks) and blocks[other] is not block and blocks[other]["state"] == "inactive":
                kept, gone = (block, blocks[other]) if other > at else (blocks[other], block)
                kept["size"] += gone["size"]
                kept["past"] = kept["past"] + gone["past"]
                blocks.remove(gone)
                block = kept
                at = blocks.index(block)

    def snapshot(self) -> object:
        segments = [self.written(segment) for segment in self.segments]
        if self.generation == 0:
            return segments
        self.note("snapshot", None, addr=0, size=0, stream=0)
        whole: dict[str, object] = {"segments": segments, "device_traces": [list(self.trace), []]}
        if self.generation >= 3:
            settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0}
            whole["allocator_settings"] = {**settings, "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0}}
        if self.generation >= 4:
            whole["external_annotations"] = [{"name": "epoch", "device": -1, "stage": "start"}]
        if self.generation >= 5:
            whole["host_segments"], whole["host_traces"] = [], []
        return whole

    def written(self, segment: dict) -> dict:
        blocks = [self.written_block(block) for block in segment["blocks"]]
        size = lambda *states: sum(block["size"] for block in segment["blocks"] if block["state"] in states)  # noqa: E731
        names = ("device", "address", "total_size", "stream", "segment_type")
        out = {name: segment[name] for name in names if self.generation or name != "stream"}
        if self.generation == 0:
            out["stream"] = segment["stream"]
        out["allocated_size"], out["active_size"] = size("active_allocated"), size("active_allocated", "active_pending_free")
        if self.generation >= 2:
            out["requested_size"] = sum(b["requested"] for b in segment["blocks"] if b["state"] == "active_allocated")
        if self.generation >= 3:
            out["segment_pool_id"], out["is_expandable"] = segment["pool"], False
        if self.generation >= 5:
            out["registered"] = True
        out["blocks"] = blocks
        return out

    def written_block(self, block: dict) -> dict:
        out = {"size": block["size"], "state": block["state"]}
        if self.generation < 2:
            past = [{"addr": addr, "real_size": size, "frames": frames} for addr, size, frames in block["past"]]
            if self.generation == 1:
                past = [{name: value for name, value in one.items() if value is not None} for one in past]
            else:
                past = [{**one, "frames": one["frames"] or []} for one in past]
            if past:
                out["history"] = past
            return out
        inactive = block["state"] == "inactive"
        out["address"] = block["address"]
        out["requested_size"] = 0 if inactive else block["requested"]
        out["frames"] = [] if inactive else block["frames"] or []
        return out


class Expandable(Allocator):
    """The same with `expandable_segments:True`: a segment for each stream and size that grows in place, by granules of 2 or 20 MiB.
    A snapshot shows each stretch that is mapped as a segment."""

    def segment_for(self, size: int, small: bool, pool: tuple, stream: int, stack: list[tuple] | None) -> tuple[dict, dict] | None:
        kind, granule = ("small", 2 * MIB) if small else ("large", 20 * MIB)
        same = [s for s in self.segments if (s["segment_type"], s["pool"], s["stream"]) == (kind, pool, stream)]
        if same:
            segment = same[0]
        else:
            segment = {"device": 0, "address": self.next, "total_size": 0, "stream": stream, "segment_type": kind, "pool": pool, "blocks": []}
            self.next += 2 * self.capacity
        blocks = segment["blocks"]
        # What is free at the end is a part of what is asked for.
        tail = blocks[-1] if blocks and blocks[-1]["state"] == "inactive" else None
        more = -(-(size - (tail["size"] if tail else 0)) // granule) * granule
        if self.reserved() + more > self.capacity:
            return None
        end = blocks[-1]["address"] + blocks[-1]["size"] if blocks else segment["address"]
        self.note("segment_map", stack, addr=end, size=more, stream=stream)
        if tail:
            tail["size"] += more
        else:
            tail = {"address": end, "size": more, "state": "inactive", "past": []}
            blocks.append(tail)
        segment["total_size"] += more
        if not same:
            self.segments.append(segment)
        return segment, tail

    def empty_cache(self, stack: list[tuple] | None) -> None:
        """Gives back every granule that is free as a whole, in segments that are in use, too."""
        for segment in self.segments:
            granule = 2 * MIB if segment["segment_type"] == "small" else 20 * MIB
            for block in [b for b in segment["blocks"] if b["state"] == "inactive"]:
                first = -(-(block["address"] - segment["address"]) // granule) * granule + segment["address"]
                last = (block["address"] + block["size"] - segment["address"]) // granule * granule + segment["address"]
                if first >= last:
                    continue
                self.note("segment_unmap", stack, addr=first, size=last - first, stream=segment["stream"])
                parts = [(block["address"], first, "inactive"), (first, last, "unmapped"), (last, block["address"] + block["size"], "inactive")]
                at = segment["blocks"].index(block)
                segment["blocks"][at : at + 1] = [
                    {"address": begin, "size": end - begin, "state": state, "past": []} for begin, end, state in parts if begin < end
                ]
                segment["total_size"] -= last - first

    def stretches(self) -> list[dict]:
        found = []
        for segment in self.segments:
            mapped: list[dict] = []
            for block in [*segment["blocks"], {"state": "unmapped"}]:
                if block["state"] != "unmapped":
                    mapped.append(block)
                elif mapped:
                    size = sum(one["size"] for one in mapped)
                    found.append({**segment, "address": mapped[0]["address"], "total_size": size, "blocks": mapped})
                    mapped = []
        return found

    def snapshot(self) -> object:
        whole, self.segments = self.segments, self.stretches()
        data = super().snapshot()
        self.segments = whole
        data["allocator_settings"]["expandable_segments"] = True
        for segment in data["segments"]:
            segment["is_expandable"] = True
        return data


def stack_of(function: str, line: int, depth: int) -> list[tuple]:
    inside = [(TORCH + "nn/modules/module.py", 1700 + i, "_call_impl") for i in range(depth)]
    return [*NATIVE, *inside, ("/home/user/train.py", line, function), ("/home/user/train.py", 99, "main"), ("/home/user/train.py", 120, "<module>")]


def train(allocator: Allocator, steps: int, depth: int, leak: int = 300 * KIB + 1, largest: int = 24 * MIB, recorded: bool = True) -> list[int]:
    """A model, activations that come and go, gradients by backward, and a line that keeps an output of each step."""
    dice = allocator.random
    model = None if not recorded else stack_of("build", 12, depth)
    kept = [allocator.alloc(dice.randrange(100, 3 * MIB), model) for _ in range(12)]
    paths = {line: stack_of("forward", line, depth + line % 7) for line in range(30, 42)}
    outputs = stack_of("step", 55, depth)
    for step in range(steps):
        live = [allocator.alloc(dice.choice([700, 90 * KIB, 3 * MIB, largest]) + 8 * dice.randrange(40), paths[30 + i % 12]) for i in range(12)]
        gradients = [allocator.alloc(dice.randrange(KIB, 2 * MIB), BACKWARD) for _ in range(4)]
        saved = allocator.alloc(leak, outputs, stream=step % 2 * 7)
        kept += [saved] if saved is not None else []
        for address in dice.sample(live, len(live)) + gradients:
            if address is not None:
                allocator.free(address, paths[30], completed=step != steps - 1 or dice.random() < 0.7)
    return kept


def viz(path: Path) -> object:
    """PyTorch's own reader of snapshots; it imports nothing of torch."""
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "_frame_filter"):
        module._frame_filter = lambda name, filename: True
    return module


def sums(viz_module: object, data: object) -> dict[str, int]:
    """Bytes by what `memory` of `_memory_viz.py` writes before them: stream, state, frames from the outermost."""
    old = not hasattr(viz_module, "segsum")
    whole = data if isinstance(data, dict) or old else {"segments": data}
    text = viz_module.memory(whole["segments"] if old and isinstance(whole, dict) else whole, format_flamegraph=lambda lines: lines)
    total: Counter = Counter()
    for line in text.splitlines():
        what, _, size = line.rpartition(" ")
        total[what] += int(size)
    return dict(sorted(total.items()))


def totals(viz_module: object, data: object) -> dict[str, str]:
    """What `segsum` says of everything together, and the last line of `trace`; where the module has them."""
    if not hasattr(viz_module, "segsum"):
        return {}
    whole = data if isinstance(data, dict) else {"segments": data}
    with contextlib.redirect_stdout(io.StringIO()):
        said = viz_module.segsum(whole)
    return dict(line.split(": ", 1) for line in said.splitlines() if line.startswith(("segments:", "total_")))


def fixtures(folder: Path) -> None:
    for generation in GENERATIONS:
        allocator = Allocator(generation, 600 * MIB, seed=7)
        train(allocator, 6, depth=2, recorded=generation != "2.1")
        allocator.alloc(MIB + 5, None)
        write(folder / f"{generation}.pickle", allocator.snapshot(), 2 + GENERATIONS.index(generation) % 4)
        if generation == "2.9":
            train(allocator, 6, depth=2)
            write(folder / "2.9-later.pickle", allocator.snapshot(), 4)
    allocator = Allocator("2.15", 160 * MIB, seed=3)
    pool = allocator.alloc(5 * MIB, stack_of("capture", 70, 1), pool=(0, 3))
    train(allocator, 40, depth=2, leak=5 * MIB, largest=30 * MIB)
    assert pool is not None
    assert any(event["action"] == "oom" for event in allocator.trace)
    # The ring of entries was overwritten: the first third of the trace is gone.
    del allocator.trace[: len(allocator.trace) // 3]
    write(folder / "2.15-oom.pickle", allocator.snapshot(), 5)
    expandable(folder)


def expandable(folder: Path) -> None:
    """A stretch of a segment that grows in place is given back in its middle, then the training goes on until memory runs out."""
    allocator = Expandable("2.15", 300 * MIB, seed=11)
    train(allocator, 6, depth=2, leak=3 * MIB)
    allocator.empty_cache(stack_of("clean", 60, 1))
    train(allocator, 12, depth=2, leak=7 * MIB)
    actions = {event["action"] for event in allocator.trace}
    assert {"segment_map", "segment_unmap", "oom"} <= actions and "segment_alloc" not in actions, actions
    data = allocator.snapshot()
    assert len({segment["stream"] for segment in data["segments"]}) < len(data["segments"]), "a hole"
    write(folder / "2.15-expandable.pickle", data, 4)
    before = allocator.reserved()
    allocator.empty_cache(None)
    print(f"2.15-expandable: empty_cache() gives {before - allocator.reserved()} bytes back")


def steady(path: Path, leak: int, steps: int) -> None:
    """A trace of many steps, a second each, in which a line keeps so many bytes of each."""
    allocator = Allocator("2.15", 4 * 1024 * MIB, seed=5)
    allocator.alloc(40 * MIB, stack_of("build", 12, 1))
    for step in range(steps):
        live = [allocator.alloc(size * MIB, stack_of("forward", 30 + size, 2)) for size in (3, 8, 21)]
        if leak:
            allocator.alloc(leak, stack_of("step", 55, 1))
        elif step == 0:
            allocator.alloc(5 * MIB, stack_of("step", 55, 1))
        for address in live:
            allocator.free(address, None)
        allocator.now += 1_000_000
    write(path, allocator.snapshot(), 4)


def write(path: Path, data: object, protocol: int) -> None:
    path.write_bytes(pickle.dumps(data, protocol))


def large(path: Path, size: int) -> None:
    """Events of deep stacks, each a list of its own: what the files of long recordings are full of."""
    allocator = Allocator("2.9", 40 * 1024 * MIB, seed=1)
    train(allocator, 30, depth=30)
    allocator.snapshot()
    once = len(pickle.dumps(allocator.snapshot(), 4))
    events = list(allocator.trace)
    shift = allocator.now - events[0]["time_us"]
    allocator.trace = [
        {**event, "time_us": event["time_us"] + turn * shift, **({"frames": list(event["frames"])} if "frames" in event else {})}
        for turn in range(-(-size // once))
        for event in events
    ]
    with path.open("wb") as file:
        pickle.dump(allocator.snapshot(), file, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="write the fixtures here")
    parser.add_argument("--viz", type=Path, help="PyTorch's torch/cuda/_memory_viz.py: print what it makes of these files, as JSON")
    parser.add_argument("--sums", type=Path, nargs="*", default=[], help="snapshots that --viz reads")
    parser.add_argument("--large", type=Path, help="write a large one here")
    parser.add_argument("--steady", type=Path, help="write a trace of so many --steps here that keeps --leak bytes of each")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--leak", type=int, default=0)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    args = parser.parse_args()
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
        fixtures(args.folder)
    if args.large:
        large(args.large, int(args.gigabytes * 1e9))
    if args.steady:
        steady(args.steady, args.leak, args.steps)
    if args.viz:
        module = viz(args.viz)
        read = {path.name: pickle.loads(path.read_bytes()) for path in args.sums}
        json.dump({name: {"sums": sums(module, data), "totals": totals(module, data)} for name, data in read.items()}, sys.stdout)


if __name__ == "__main__":
    main()
