"""What the recorder may ask this process for; it is done at the next mark, and once."""

import mmap
import os
import sys
import time
from functools import wraps

from . import history
from .facts import structure

SNAPSHOT, TRIM, HISTORY, AT_BACKWARD = 1, 2, 3, 4
#: What malloc_trim takes, seconds per free block and per free byte (measured with glibc 2.36), and the most that is worth it.
BLOCK_S, BYTE_S, MOST_S = 2.5e-6, 0.13e-9, 0.25

#: Backward passes are watched so many and so long, seconds, to know what a large one needs, and what share of the most is large.
PASSES, PASSES_S, LARGE = 3, 3.0, 0.95
#: No large one comes for so long: it is given up, before whoever asked does. And the share of the time that asking may take.
GIVEN_UP_S, ASKING = 25.0, 0.01

#: A trim waits so long, seconds, for a mark at which so large a share is free of the most that was free lately.
ROOM_S, ROOM = 10.0, 0.5

snapshot = None  # the module, once it was needed
waiting = None  # what is waited for: until when, and what gives it up
awaited = None  # what looks at each mark whether it is the one that a trim waits for


def answer(kind, ring=None):
    """Does it: (what came of it, -1 where it cannot be done; nanoseconds that it took; bytes free in the C heap before it; why it
    cannot be done, where that is known). `ring`: whose recorder asks for a history, since that says where it goes."""
    start = time.monotonic_ns()
    value, free, why = -1, -1, ""
    if kind == TRIM:
        value, free = trim()
    elif kind == SNAPSHOT:
        value = copy()
    elif kind == HISTORY:
        value, why = history.take(*ring.wanted())
    return value, time.monotonic_ns() - start, free, why


def copy():
    """Makes a copy of this process that the recorder reads: its pid."""
    global snapshot
    try:
        from . import snapshot

        return snapshot.take(os.environ["LOWTIDE_MARKS"])
    except (OSError, AttributeError, KeyError, ValueError):
        return -1


def before_backward(heap, then, otherwise):
    """Has `then` called once, when a backward pass begins: what it needs is all there. It is one that needs about as much as the
    most of those in the first seconds, by `heap` of facts. `otherwise` is called at a later mark where none comes. False where
    there is nothing to tell passes by. Nothing stays in torch."""
    global waiting
    autograd = sys.modules.get("torch.autograd")
    backward = getattr(autograd, "backward", None)
    if backward is None or waiting is not None or heap()[0] < 0:
        return False
    passes, most, since, next_s = 0, 0, time.monotonic(), 0.0

    def over():
        global waiting
        waiting = None
        if autograd.backward is once:
            autograd.backward = backward

    def give_up():
        over()
        otherwise()

    def comes():
        nonlocal passes, most, next_s
        start = time.monotonic()
        if waiting is not ours or start < next_s:
            return
        used = heap()[0]
        now = time.monotonic()
        next_s = now + (now - start) / ASKING
        passes, most = passes + 1, max(most, used)
        if passes > PASSES and now - since >= PASSES_S and used >= LARGE * most:
            over()
            then()

    @wraps(backward)
    def once(*args, **kwargs):
        try:
            comes()
        except Exception:  # nothing is taken: whoever asked gives up by itself
            over()
        return backward(*args, **kwargs)

    hide(once, comes)
    waiting = ours = (since + GIVEN_UP_S, give_up)
    autograd.backward = once
    return True


def when_free(facts, then):
    """Has `then` called at a mark where about as much of the C heap is free as was lately; at the latest in some seconds. Holes that a
    validation, or a batch, has just filled are not there to be given back, and nothing would be known of them."""
    global awaited
    most, until, next_s = facts.most_free(), time.monotonic() + ROOM_S, 0.0

    def looks():
        global awaited
        nonlocal next_s
        start = time.monotonic()
        if start < min(next_s, until):
            return
        free = facts.heap()[1]
        now = time.monotonic()
        next_s = now + (now - start) / ASKING
        if free >= ROOM * most or now >= until:
            awaited = None
            then()

    awaited = looks
    looks()


def hide(*functions):
    """Has torch.compile pass these by, where it is in use: they are none of the program's."""
    if "torch._dynamo" in sys.modules:
        try:
            from torch._C._dynamo.eval_frame import skip_code

            for function in functions:
                skip_code(function.__code__)
        except Exception:  # another version of torch: it looks at them as at any function
            pass


def collect():
    """What earlier answers left to do."""
    if history.written:
        history.collect()
    if snapshot is not None:
        snapshot.collect()
    if awaited is not None:
        awaited()
    if waiting is not None and time.monotonic() > waiting[0]:
        waiting[1]()


def trim():
    """Has the C library give free memory back to the kernel. (The anonymous bytes that went, those that were free.)"""
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = structure("c_size_t")
        info = libc.mallinfo2()
        if info.ordblks * BLOCK_S + info.fordblks * BYTE_S > MOST_S:
            return -1, info.fordblks
        before = anonymous()
        libc.malloc_trim(ctypes.c_size_t(0))
        return max(before - anonymous(), 0), info.fordblks
    except (ImportError, OSError, AttributeError, ValueError, IndexError):
        return -1, -1


def anonymous():
    """Resident bytes that are no file's: statm of proc(5), resident less shared."""
    with open("/proc/self/statm", "rb") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * mmap.PAGESIZE
