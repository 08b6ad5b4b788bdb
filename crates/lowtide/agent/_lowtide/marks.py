"""What this process says of itself: steps, epochs, phases. One state per process, made anew after a fork."""

import os
import sys
import time
from _thread import allocate_lock

from . import ring as rings
from .facts import NOTHING, Facts
from .requests import answer, collect

ON, STEP, BEGIN, END, FACTS, OFF, DEVICE, ANSWERED = range(1, 9)
#: Least time between two marks of steps, ns. The count of steps is exact all the same.
STEP_NS = 5_000_000


def counted(choice):
    """What is counted as a step, in words."""
    if choice == "dataloader":
        return "batches of DataLoaders outside evaluation, each when the next one is asked for"
    skips = " (a step that GradScaler skips is none)"
    if choice == "any":
        return "steps of all optimizers" + skips
    if choice.isdecimal() and int(choice):
        return "steps of optimizer number %d by first step" % int(choice) + skips
    return "steps of the first optimizer that steps" + skips


class Marks:
    """The marks of this process. Nothing in here raises: the first failure turns it off for good."""

    def __init__(self, folder):
        self.folder = folder
        self.counts = counted(os.environ.get("LOWTIDE_STEP", "first").strip().lower())
        self.dead = False
        self.reset("")
        os.register_at_fork(after_in_child=self.reset)

    def reset(self, role="forked"):
        """A new process: nothing said yet. `role`: what it is, where that needs no telling."""
        self.role = role
        self.ring = self.facts = None
        self.making = allocate_lock()
        self.pid = os.getpid()
        self.steps = self.last_slot_ns = self.answered = 0
        self.open = set()  # scopes

    def alive(self):
        """The ring, made when it is first needed."""
        if self.dead:
            return None
        if self.pid != os.getpid():
            self.reset()
        if self.ring is None:
            # Never waits: a mark that another thread, or a signal handler, makes at that very moment is left out.
            if not self.making.acquire(False):
                return None
            self.facts = Facts()
            self.ring = rings.Ring(self.folder, self.role or role(), self.counts)
            self.write(ON, text=self.counts)
        return self.ring

    def write(self, kind, scope=0, text="", index=None, t_ns=None, boundary=True):
        now = time.monotonic_ns()
        flags, facts, devices = self.facts.take(boundary)
        flags |= 0 if index is None else 8
        at = now if t_ns is None else t_ns
        self.ring.write(at, kind, scope, text, flags, self.steps, 0 if index is None else index, facts)
        for device, allocated, reserved, peak in devices:
            self.ring.write(at, DEVICE, 0, "", 0, self.steps, device, (0, allocated, reserved, peak, 0, 0))

    def step(self, count=1):
        """An optimizer stepped."""
        try:
            ring = self.alive()
            self.steps += count
            if ring is None:
                return
            now = time.monotonic_ns()
            ring.stepped(self.steps, now)
            if now - self.last_slot_ns >= STEP_NS:
                self.last_slot_ns = now
                if self.facts.due(now * 1e-9):
                    self.write(STEP, boundary=False)
                else:
                    ring.write(now, STEP, 0, "", 0, self.steps, 0, NOTHING)
                self.requests(ring)
        except Exception as error:
            self.off(error)

    def begin(self, scope, name="", index=None, t_ns=None):
        """A scope begins; the same one that is open ends."""
        try:
            ring = self.alive()
            if ring is not None:
                self.open.add(scope)
                self.write(BEGIN, rings.SCOPES[scope], name, index, t_ns)
                self.requests(ring)
        except Exception as error:
            self.off(error)

    def end(self, scope):
        """A scope ends."""
        try:
            ring = self.alive()
            if ring is not None and scope in self.open:
                self.open.discard(scope)
                self.write(END, rings.SCOPES[scope])
                self.requests(ring)
        except Exception as error:
            self.off(error)

    def requests(self, ring):
        """Does what the recorder left a request for, once."""
        collect()
        request, kind = rings.REQUEST.unpack_from(ring.map, 256)
        if request == self.answered:
            return
        self.answered = request
        value, pause_ns, free = answer(kind)
        rings.ANSWER.pack_into(ring.map, 272, request, value)
        ring.write(time.monotonic_ns(), ANSWERED, kind & 255, "", 0, self.steps, value, (0, request, pause_ns, free, 0, 0))

    def off(self, error):
        """Says why, and is silent from here on."""
        if self.dead:
            return
        self.dead = True
        try:
            why = "%s: %s" % (type(error).__name__, error)
            if self.ring is not None:
                self.ring.off(why)
                self.ring.write(time.monotonic_ns(), OFF, 0, why, 0, self.steps, 0, NOTHING)
        except Exception:  # there is nobody left to tell
            pass


def role():
    """`spawned` for a child that multiprocessing started as a Python of its own."""
    process = sys.modules.get("multiprocessing.process")
    parent = getattr(process, "parent_process", None)
    return "spawned" if parent is not None and parent() is not None else "main"
