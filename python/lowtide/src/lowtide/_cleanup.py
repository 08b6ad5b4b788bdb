"""Clean-up that measures itself: does what pays on this run, and says when it only masks a leak."""

import time
from typing import Any, List, Optional, Sequence, Union

from . import _memory
from ._memory import Memory, size
from ._quiet import quietly, warn
from ._remedies import FULL, YOUNG, Remedy, remedies, times
from ._trend import LowTides

#: The share of the run's time that clean-ups by themselves may take.
SHARE = 0.01
#: With every="auto": steps between clean-ups at least, and before the first one.
FEWEST_STEPS = 10


class Cleanup:
    """Collects garbage and gives memory back, every so many steps and after evaluations.

        cleanup = lowtide.Cleanup(every="auto", optimizers=[optimizer])
        for batch in loader:
            ...
            optimizer.step()
            cleanup.step()
        evaluate()
        cleanup.after_evaluation()
        print(cleanup.report())

    `every`: a number of steps, or "auto": as often as takes less than 1 % of the time. `optimizers`: their gradients are
    set to None; so call `step()` after `optimizer.step()` and not amid the accumulation of gradients.
    """

    def __init__(self, every: Union[int, str] = "auto", optimizers: Sequence[Any] = ()) -> None:
        if every != "auto" and (isinstance(every, (str, bool)) or int(every) < 1):
            raise ValueError(f"Cleanup(every={every!r}): give a number of steps, 1 or more, or 'auto'")
        self.every = every
        self.optimizers: List[Any] = list(optimizers)
        self.off = False
        self.steps = 0
        self._last = 0
        self._cleanups = 0
        self._spent_s = 0.0
        self._start_s = time.perf_counter()
        #: Before this moment nothing is affordable, with "auto".
        self._next_s = 0.0
        self._remedies: List[Remedy] = remedies(lambda: self.optimizers)
        #: What was done last, until the next step shows what of that lasts.
        self._done: List[Remedy] = []
        self._after: Optional[Memory] = None
        self._tides = LowTides()

    @quietly
    def step(self) -> None:
        """A training step ended: cleans up if it is time."""
        self.steps += 1
        if self._done and self._after is not None:
            self._settle(self._after)
        passed = self.steps - self._last
        if self.every != "auto":
            if passed >= int(self.every):
                self._clean()
        elif passed >= FEWEST_STEPS and time.perf_counter() >= self._next_s:
            self._clean()

    @quietly
    def after_evaluation(self) -> None:
        """An evaluation ended, a good moment: cleans up, with "auto" as far as that is affordable by now."""
        self._clean()

    @quietly
    def now(self) -> None:
        """Cleans up, whatever it costs."""
        self._clean(all_of_it=True)

    def _clean(self, all_of_it: bool = False) -> None:
        start = time.perf_counter()
        applying = [remedy for remedy in self._remedies if self._applies(remedy) and remedy.failed is None]
        # A share for each, lest cheap ones eat up what a dear one must save for.
        share = SHARE / len(applying)
        budget = share * (start - self._start_s)
        memory = _memory.read()
        self._done = []
        for remedy in applying:
            if remedy.name == YOUNG and not self._cleanups:
                # All that was made by imports is young if gc is off: the first full collection makes it old.
                continue
            affordable = not remedy.tries or remedy.spent_next_s <= budget
            # With a number of steps, what pays is done whatever it costs; what was dropped is tried again if affordable.
            asked = all_of_it or (self.every != "auto" and remedy.kept)
            if (affordable or asked) and remedy.due():
                memory = remedy.apply(memory)
                self._done.append(remedy)
        self._after = memory
        self._last = self.steps
        self._cleanups += bool(self._done)
        self._next_s = self._start_s + min(remedy.spent_next_s for remedy in applying) / share
        if not self._done:
            # Nothing was due; to have looked took time, too.
            now = time.perf_counter()
            self._next_s = max(self._next_s, now + (now - start) / SHARE)
        if any(remedy.name == FULL and (remedy in self._done or remedy.finds_nothing) for remedy in applying):
            # Else garbage that only a full collection finds would look like growth.
            self._tides.add(self.steps, memory.anon + memory.cuda_allocated)
            growth = self._tides.growth()
            if growth is not None and growth.grows and growth.total > memory.anon // 10:
                warn("memory still grows from clean-up to clean-up; Cleanup.report() says by how much")
        self._spent_s += time.perf_counter() - start

    def _settle(self, after: Memory) -> None:
        """A step after a clean-up: what of its gains lasted."""
        start = time.perf_counter()
        now = _memory.read()
        for remedy in self._done:
            remedy.settle(after, now)
        self._done = []
        self._spent_s += time.perf_counter() - start

    def _applies(self, remedy: Remedy) -> bool:
        """A remedy for what this run does not have costs nothing and is not tried."""
        if remedy.name.startswith("zero_grad"):
            return bool(self.optimizers)
        return _memory.initialised_cuda() is not None or not remedy.name.startswith("torch.cuda")

    def report(self) -> str:
        """What was tried, what it cost and gave back, and what that means; for people."""
        elapsed = max(time.perf_counter() - self._start_s, 1e-9)
        share = self._spent_s / elapsed
        lines = [f"clean-up: {times(self._cleanups)} in {self.steps} steps, {share:.2%} of the time"]
        lines += [f"  {remedy.report()}" for remedy in self._remedies if self._applies(remedy) or remedy.tries]
        lines.append("  " + self.verdict())
        return "\n".join(lines)

    def verdict(self) -> str:
        """Whether memory still grows at low tide, right after clean-ups."""
        growth = self._tides.growth()
        if growth is None:
            return "too few full clean-ups to say whether memory still grows from one to the next"
        if not growth.grows:
            return "memory right after clean-ups does not grow"
        return (
            f"this masks a leak or does not touch it: live memory grows by {size(growth.per_step)} per step, "
            f"measured right after clean-ups; look for what keeps it (`lowtide run`)"
        )
