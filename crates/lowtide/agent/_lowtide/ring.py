"""A file in memory that holds the last marks of this process; the recorder reads it, and nobody waits for anybody.

All numbers are little-endian. Header, 4096 bytes:

    0 magic `LTMARKS1`      8 slot size u32      12 slots u32      16 pid u32      20 parent's pid u32
   24 made at, ns u64      32 slots ever written u64      40 steps u64      48 last step at, ns u64
   56 rank i32      60 local rank i32 (-1: none)      64 Python's version, 3 bytes      68 state u32: 1 on, 2 off
   72 role, 24 bytes      96 torch's version, 24 bytes      120 what counts as a step, or why it is off, 136 bytes
  256 request u64 and 264 its kind u32 (by the recorder)      272 answered u64 and 280 the answer i64 (by the process)
  512 the most bytes of a snapshot of GPU memory, u64, and 520 the name of its file in the ring's folder, 64 bytes (by the recorder)

then slots of 136 bytes, number n at place n modulo the number of slots. All times are CLOCK_MONOTONIC.
"""

import mmap
import os
import struct
import sys
import time
from operator import length_hint

HEADER = 4096
SLOTS = 512
SLOT = struct.Struct("<QQBBBBIQqqqqIIq48sQ")
SIZE = HEADER + SLOTS * SLOT.size
U64 = struct.Struct("<Q")
STEPS = struct.Struct("<QQ")
REQUEST = struct.Struct("<QI")
ANSWER = struct.Struct("<Qq")
UNKNOWN = 0xFFFFFFFF
#: `iter(range(MANY))` gives each number once, whatever thread or signal handler comes between, without a lock; and its
#: length hint says how many it has left. Who stores how many were taken looks again afterwards, since another may have
#: stored more in between: the last one then stores all.
MANY = 1 << 62
SCOPES = {"round": 1, "node": 2, "epoch": 3, "phase": 4}


def number(name):
    """A small number of the environment, -1 where there is none."""
    try:
        return min(max(int(os.environ.get(name, "-1")), -1), 1 << 30)
    except ValueError:
        return -1


class Ring:
    """The marks of one process."""

    def __init__(self, folder, role, text):
        self.folder = folder
        now = time.monotonic_ns()
        path = os.path.join(folder, "%d-%d.marks" % (os.getpid(), now))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # With all its pages there, writing to it can never fail for lack of room.
            os.posix_fallocate(fd, 0, SIZE)
            self.map = mmap.mmap(fd, SIZE)
        finally:
            os.close(fd)
        self.numbers = iter(range(MANY))
        torch = getattr(sys.modules.get("torch"), "__version__", "")
        header = struct.pack(
            "<8sIIIIQQQQii3BxI24s24s136s",
            b"LTMARKS1",
            SLOT.size,
            SLOTS,
            os.getpid(),
            os.getppid(),
            now,
            0,
            0,
            0,
            number("RANK"),
            number("LOCAL_RANK"),
            *sys.version_info[:3],
            1,
            cut(role, 24),
            cut(str(torch), 24),
            cut(text, 136)
        )
        # The magic last: a reader takes no half-written header.
        self.map[8 : len(header)] = header[8:]
        self.map[:8] = header[:8]

    def write(self, t_ns, kind, scope, text, flags, steps, index, facts):
        """One mark. `facts`: (gc_full, heap_used, heap_free, gc_objects, workers, compiled, blocks)."""
        n = next(self.numbers)
        text = text[:48] if isinstance(text, bytes) else cut(text, 48)
        gc_full, used, free, objects, workers, compiled, blocks = facts
        place = HEADER + (n % SLOTS) * SLOT.size
        if U64.unpack_from(self.map, place)[0] > n:
            return  # other threads were round the ring in the meantime
        SLOT.pack_into(
            self.map,
            place,
            n + 1,
            t_ns,
            kind,
            scope,
            len(text),
            flags,
            gc_full,
            steps,
            index,
            used,
            free,
            objects,
            workers,
            compiled,
            blocks,
            text,
            n + 1,
        )
        # One that another thread took may not be whole yet: the reader sees that, and waits for it.
        written, stored = MANY - length_hint(self.numbers), -1
        while written != stored:
            stored = written
            U64.pack_into(self.map, 32, written)
            written = MANY - length_hint(self.numbers)

    def says(self, text):
        """What is counted as a step, or why it is off: a slot has too little room for it."""
        self.map[120:256] = cut(text, 136).ljust(136, b"\0")

    def wanted(self):
        """The file that the recorder wants: where it goes, and its most bytes."""
        name = self.map[520:584].partition(b"\0")[0].decode("ascii")
        return os.path.join(self.folder, os.path.basename(name)), U64.unpack_from(self.map, 512)[0]

    def off(self, why):
        self.says(why)
        self.map[68:72] = struct.pack("<I", 2)


def bits(number):
    """A float as an integer of the same 64 bits."""
    return struct.unpack("<q", struct.pack("<d", number))[0]


def cut(text, most):
    """UTF-8 of at most so many bytes, never half a character."""
    return text[:most].encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode("utf-8")
