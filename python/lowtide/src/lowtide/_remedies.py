"""What can be done about memory that nobody needs, each with its own record of cost and gain on this run."""

import gc
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple

from . import _memory
from ._memory import MIB, Memory, size

#: Tries before a remedy is judged, and clean-ups after which a dropped one is tried again.
TRIES = 3
AGAIN = 10
#: Tries by which it is judged whether a remedy pays: what only a validation leaves is found by one try of many. And those by which
#: it is told what the next one will cost, and whether there is anything left to find.
LATELY = 20
LAST = 5
#: A remedy pays if it frees this much per try, and this much per second that it takes. To fault a page in again costs
#: the kernel some 0.1 to 0.25 s per GiB: what frees much slower than this takes longer than it could ever save.
FREES = MIB // 2
PER_SECOND = 100 * MIB
#: The one after which all that is left is live, and its cheaper sister.
FULL = "gc.collect"
YOUNG = "gc.collect(1)"


class Remedy:
    """One thing to do, and what came of it."""

    def __init__(
        self,
        name: str,
        act: Callable[[], Any],
        gain: Callable[[Memory, Memory], int],
        freed: str,
        lasting: bool = False,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.name, self._act, self._gain, self._freed = name, act, gain, freed
        #: What it costs is processor time, so that a processor taken away by others is no cost of it; where it waits for a
        #: device, time by the clock.
        self._clock = clock
        #: Whether what it frees cannot be taken again by the very next step: garbage is gone.
        self.lasting = lasting
        self.tries = 0
        #: Seconds and bytes, of all tries; and bytes that the next step took again.
        self.cost_s = 0.0
        self.gained = self.taken_again = 0
        #: Seconds, with those of measuring.
        self.spent_s = 0.0
        #: Cost and gain of late, so that a remedy that no longer pays is dropped and one that begins to is kept.
        self._recent: List[Tuple[float, int]] = []
        self.failed: Optional[str] = None
        self._skipped = 0

    @property
    def kept(self) -> bool:
        """Whether it is done at every clean-up: it pays, or was not tried often enough to tell."""
        if self.failed is not None:
            return False
        if len(self._recent) < TRIES:
            return True
        cost = sum(one[0] for one in self._recent)
        gained = sum(one[1] for one in self._recent)
        return gained >= FREES * len(self._recent) and gained >= PER_SECOND * cost

    @property
    def finds_nothing(self) -> bool:
        """Whether it was tried often enough to tell that there is next to nothing for it to do."""
        last = [one[1] for one in self._recent[-LAST:]]
        return len(last) >= TRIES and sum(last) < FREES * len(last)

    @property
    def last_gain(self) -> int:
        """What the last try freed, bytes."""
        return self._recent[-1][1] if self._recent else 0

    @property
    def spent_next_s(self) -> float:
        """What it will have cost after the next time: seconds. The first time is free, since nobody knows."""
        return self.spent_s + max((one[0] for one in self._recent[-LAST:]), default=0.0)

    def due(self) -> bool:
        """Whether this clean-up does it; a dropped one is tried again now and then."""
        if self.kept:
            return True
        self._skipped += 1
        if self.failed is not None or self._skipped < AGAIN:
            return False
        self._skipped = 0
        return True

    def apply(self, before: Memory) -> Memory:
        """Does it; returns what memory looks like afterwards."""
        start = self._clock()
        try:
            self._act()
        except Exception as error:
            self.failed = f"{type(error).__name__}: {error}"
        cost = self._clock() - start
        after = _memory.read()
        gained = max(0, self._gain(before, after))
        self.tries += 1
        self.cost_s += cost
        self.gained += gained
        self._recent = [*self._recent[1 - LATELY :], (cost, gained)]
        self.spent_s += self._clock() - start
        return after

    def frees(self) -> int:
        """Does it for a question's sake, outside of the account: bytes that it frees."""
        before = _memory.read()
        self._act()
        return max(0, self._gain(before, _memory.read()))

    def settle(self, after: Memory, now: Memory) -> None:
        """A step later: what that step took again was no gain."""
        if self.lasting or not self._recent:
            return
        cost, gained = self._recent[-1]
        again = min(gained, max(0, self._gain(now, after)))
        self._recent[-1] = cost, gained - again
        self.gained -= again
        self.taken_again += again

    def report(self) -> str:
        """One line for people."""
        if self.failed is not None:
            return f"{self.name}: failed and was dropped: {self.failed}"
        if not self.tries:
            return f"{self.name}: not tried"
        each = f"{self.cost_s / self.tries * 1e3:.3g} ms and {self._freed} {size(self.gained / self.tries)} each"
        if self.taken_again:
            each += f" (and {size(self.taken_again / self.tries)} that the next step took again)"
        judged = "too few tries to judge" if self.tries < TRIES else "kept" if self.kept else "dropped, it does not pay here"
        return f"{self.name}: tried {times(self.tries)}, {each}: {judged}"


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def remedies(optimizers: Callable[[], Sequence[Any]]) -> List[Remedy]:
    """All of them, in the order in which one gives the next something to do."""

    def zero_grad() -> None:
        for optimizer in optimizers():
            optimizer.zero_grad(set_to_none=True)

    def empty_cache() -> None:
        gpus = _memory.initialised_cuda()
        if gpus is not None:
            gpus.empty_cache()

    return [
        Remedy("zero_grad(set_to_none=True)", zero_grad, _live, "freed"),
        # Old objects are many once torch is imported; with gc switched off or late, garbage is young all the same.
        Remedy(YOUNG, lambda: gc.collect(1), _live, "freed", lasting=True),
        Remedy(FULL, gc.collect, _live, "freed", lasting=True),
        Remedy("torch.cuda.empty_cache", empty_cache, _reserved, "gave the GPU back", clock=time.perf_counter),
        Remedy("malloc_trim", _memory.trim, _pages, "gave the system back"),
    ]


def _live(before: Memory, after: Memory) -> int:
    """What is no longer used, whether or not the allocator gave it back: pages, or bytes in the C heap; and on GPUs."""
    pages = before.anon - after.anon
    return max(pages, before.heap_used - after.heap_used) + max(0, before.cuda_allocated - after.cuda_allocated)


def _reserved(before: Memory, after: Memory) -> int:
    return before.cuda_reserved - after.cuda_reserved


def _pages(before: Memory, after: Memory) -> int:
    return before.rss - after.rss
