"""What this process says of itself: steps, epochs, phases. One state per process, made anew after a fork."""

import os
import sys
import time
from _thread import allocate_lock, get_ident
from operator import length_hint
from time import monotonic_ns

from . import history
from . import ring as rings
from .facts import NONE, NOTHING, Facts
from .requests import AT_BACKWARD, HISTORY, SNAPSHOT, TRIM, answer, before_backward, collect, when_free
from .ring import MANY, STEPS

ON, STEP, BEGIN, END, FACTS, OFF, DEVICE, ANSWERED, LOSS, DEVICE_MORE = range(1, 11)
#: Least time between two marks of steps, ns. The count of steps is exact all the same.
STEP_NS = 20_000_000


class Marks:
    """The marks of this process. Nothing in here raises: the first failure turns it off for good.

    A moment is (ns, facts): what a mark may be given that is made later than what it tells of."""

    def __init__(self, folder, counts):
        self.folder = folder
        self.counts = counts  # what is counted as a step, in words
        self.dead = False
        self.forked = False  # this process was, or has; what exec takes the place of does not count
        self.history = "LOWTIDE_GPU_HISTORY" in os.environ  # is still to be begun
        self.reset("")
        os.register_at_fork(after_in_parent=self.forks, after_in_child=self.reset)

    def reset(self, role="forked"):
        """A new process: nothing said yet. `role`: what it is, where that needs no telling."""
        self.role = role
        self.forked |= role == "forked"
        self.ring = self.facts = None
        self.making, self.doing = allocate_lock(), allocate_lock()
        self.pid = os.getpid()
        self.stepping = iter(range(MANY))
        self.thread, self.threads = get_ident(), False  # whether others step, too
        self.steps = self.last_slot_ns = self.answered = 0
        self.stepped = None  # the moment of the last step
        self.open = set()  # scopes
        self.losses = (0.0, 0)  # those that were logged and not told yet: their sum, and how many

    def forks(self):
        """A child was forked, which shares all memory with this process until one of the two writes to it."""
        self.forked = True
        if self.facts is not None:
            self.facts.forked = True

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
            self.facts = Facts(self.forked)
            self.ring = rings.Ring(self.folder, self.role or role(), self.counts)
            self.write(ON, text=self.counts)
        return self.ring

    def listens(self):
        """A worker that does as it is told, and says nothing of itself: only what the recorder asks for."""
        try:
            if self.ring is None and not self.dead and self.making.acquire(False):
                self.facts = Facts(self.forked)
                self.ring = rings.Ring(self.folder, self.role or role(), "")
            if self.ring is not None:
                self.requests(self.ring)
        except Exception as error:
            self.off(error)

    def write(self, kind, scope=0, text="", index=None, moment=None):
        t_ns, (flags, facts, devices) = moment or (time.monotonic_ns(), self.facts.take(True))
        flags |= 0 if index is None else 8
        self.ring.write(t_ns, kind, scope, text, flags, self.steps, 0 if index is None else index, facts)
        for device, allocated, reserved, peak, more in devices:
            self.ring.write(t_ns, DEVICE, 0, "", 0, self.steps, device, (0, allocated, reserved, peak, 0, 0, 0))
            self.ring.write(t_ns, DEVICE_MORE, 0, str(more[7]), 0, self.steps, device, more[:7])

    def moment(self):
        """This one, for a mark that may be made later. As long as nothing was said, nothing is measured."""
        try:
            return time.monotonic_ns(), self.facts.take(True) if self.ring is not None else NONE
        except Exception as error:
            self.off(error)
            return None

    def says(self, counts):
        """What is counted as a step is something else from here on."""
        try:
            self.counts = counts
            if self.ring is not None:
                self.ring.says(counts)
                self.write(ON, text=counts)
        except Exception as error:
            self.off(error)

    def step(self, count=1):
        """A step ended, or several did."""
        try:
            # Most of what marks cost a run is what stands here: a fork is told by `reset`, and asked for with slots only.
            ring = self.ring or self.alive()
            now = monotonic_ns()
            # Said before a step is taken: others then look again after they stored theirs.
            if get_ident() != self.thread:
                self.threads = True
            steps = next(self.stepping) + 1
            if count > 1:
                for _ in range(count - 1):
                    steps = next(self.stepping) + 1
            self.steps = steps
            if ring is None:
                return
            STEPS.pack_into(ring.map, 40, steps, now)
            if self.threads:
                self.newest(ring, steps, now)
            taken = NONE
            if now - self.last_slot_ns >= STEP_NS and self.alive() is ring:
                self.last_slot_ns = now
                if self.facts.due(now * 1e-9):
                    taken = self.facts.take(False)
                self.write(STEP, moment=(now, taken))
                self.requests(ring, True)
            self.stepped = (now, taken)
        except Exception as error:
            self.off(error)

    def newest(self, ring, stored, now):
        """Stores the newest count, where other threads may have stored theirs in between."""
        steps = MANY - length_hint(self.stepping)
        while steps != stored:
            self.steps = stored = steps
            STEPS.pack_into(ring.map, 40, steps, now)
            steps = MANY - length_hint(self.stepping)

    def begin(self, scope, name="", index=None, moment=None):
        """A scope begins, now or at a moment before; the same one that is open ends."""
        try:
            ring = self.alive()
            if ring is not None:
                self.tells_loss(ring, scope)
                self.open.add(scope)
                self.write(BEGIN, rings.SCOPES[scope], name, index, moment)
                self.requests(ring)
        except Exception as error:
            self.off(error)

    def end(self, scope, moment=None):
        """A scope ends, or ended at a moment before."""
        try:
            ring = self.alive()
            if ring is not None and scope in self.open:
                self.tells_loss(ring, scope)
                self.open.discard(scope)
                self.write(END, rings.SCOPES[scope], moment=moment)
                self.requests(ring)
        except Exception as error:
            self.off(error)

    def loss(self, value):
        """A loss was logged."""
        self.losses = (self.losses[0] + value, self.losses[1] + 1)

    def tells_loss(self, ring, scope):
        """Before an epoch, round or node is over: the mean of the losses that were logged in it."""
        total, count = self.losses
        if count and scope != "phase":
            self.losses = (0.0, 0)
            ring.write(time.monotonic_ns(), LOSS, 0, "", 0, self.steps, rings.bits(total / count), NOTHING)

    def hears(self):
        """Between two batches: a phase may have no mark but its begin."""
        try:
            if self.ring is not None and not self.dead:
                self.requests(self.ring)
        except Exception as error:
            self.off(error)

    def requests(self, ring, stepped=False):
        """Does what the recorder left a request for, once. `stepped`: a step has just ended; what lives on a GPU is least then, and
        can be compared from one to the next."""
        # Batches may be read by another thread than steps are taken by.
        if not self.doing.acquire(False):
            return
        doing = self.doing
        try:
            collect()
            if self.history:
                self.history = history.begin()
            request, kind = rings.REQUEST.unpack_from(ring.map, 256)
            if request == self.answered or (kind == HISTORY and not stepped):
                return
            self.answered = request

            def taken():
                self.answers(ring, request, SNAPSHOT)

            def given_up():
                self.answers(ring, request, AT_BACKWARD)

            if kind == TRIM:
                when_free(self.facts, lambda: self.answers(ring, request, TRIM))
            elif kind != AT_BACKWARD or not before_backward(self.facts.heap, taken, given_up):
                self.answers(ring, request, kind)
        finally:
            doing.release()

    def answers(self, ring, request, kind):
        """Does what was asked for, unless something else was asked for since, or this is another process by now."""
        if self.dead or self.ring is not ring or self.answered != request:
            return
        value, pause_ns, free, why = answer(kind, ring)
        kind = SNAPSHOT if kind == AT_BACKWARD else kind
        rings.ANSWER.pack_into(ring.map, 272, request, value)
        ring.write(time.monotonic_ns(), ANSWERED, kind & 255, why, 0, self.steps, value, (0, request, pause_ns, free, 0, 0, 0))

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
