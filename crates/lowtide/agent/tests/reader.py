"""Reads a ring as the recorder does, for the tests."""

import struct
from pathlib import Path

KINDS = {1: "on", 2: "step", 3: "begin", 4: "end", 5: "facts", 6: "off", 7: "device", 8: "answered", 9: "loss", 10: "more"}
SCOPES = {0: "", 1: "round", 2: "node", 3: "epoch", 4: "phase"}
SLOT = struct.Struct("<QQBBBBIQqqqqIIq48sQ")


def read(path: Path) -> dict:
    data = path.read_bytes()
    slot_size, slots, pid, ppid, start, written, steps, last = struct.unpack_from("<IIIIQQQQ", data, 8)
    marks = []
    for n in range(max(0, written - slots), written):
        seq, t, kind, scope, length, flags, full, at, index, used, free, objects, workers, compiled, blocks, text, again = (
            SLOT.unpack_from(data, 4096 + n % slots * slot_size)
        )
        assert seq == again == n + 1
        marks.append(
            {
                "t": t * 1e-9,
                "kind": KINDS[kind],
                "scope": SCOPES[scope] if kind != 8 else scope,
                "text": text[:length].decode(),
                "steps": at,
                "index": index if flags & 8 or kind in (7, 8, 10) else None,
                "numbers": (full, used, free, objects, workers, compiled, blocks),
                "loss": struct.unpack("<d", struct.pack("<q", index))[0] if kind == 9 else None,
                "heap_used": used,
                "number": used if kind == 8 else None,
                "pause_ns": free if kind == 8 else None,
                "gc_objects": objects,
                "workers": workers,
                "blocks": blocks,
            }
        )
    state = struct.unpack_from("<I", data, 68)[0]
    role = data[72:96].rstrip(b"\0").decode()
    return {
        "magic": data[:8],
        "pid": pid,
        "role": role,
        "made": start,
        "counts": data[120:256].rstrip(b"\0").decode(),
        "written": written,
        "steps": steps,
        "last": last * 1e-9,
        "state": state,
        "marks": marks,
    }


def rings(folder: Path) -> list[dict]:
    return [read(path) for path in sorted(folder.glob("*.marks"))]
