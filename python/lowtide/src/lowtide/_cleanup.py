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
#: The share that full collections may take until it is known whether memory grows in spite of them: they are what shows it.
EARLY_SHARE = 0.04
#: What is given back is worth a word beside growth of which it is this share.
MASKS = 0.1
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
        self._young, self._full = (next(one for one in self._remedies if one.name == name) for name in (YOUNG, FULL))
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
        elapsed = start - self._start_s
        applying = [remedy for remedy in self._remedies if self._applies(remedy) and remedy.failed is None]
        memory = _memory.read()
        self._done = []
        for remedy in applying:
            if remedy is self._young and not self._cleanups:
                # All that was made by imports is young if gc is off: the first full collection makes it old.
                continue
            affordable = not remedy.tries or remedy.spent_next_s <= self._share(remedy, applying) * elapsed
            # With a number of steps, what pays is done whatever it costs; what was dropped is tried again if affordable.
            asked = all_of_it or (self.every != "auto" and remedy.kept)
            if (affordable or asked) and remedy.due():
                memory = remedy.apply(memory)
                self._done.append(remedy)
        self._after = memory
        self._last = self.steps
        self._cleanups += bool(self._done)
        self._low_tide(memory, applying, elapsed)
        self._next_s = self._start_s + min(remedy.spent_next_s / self._share(remedy, applying) for remedy in applying)
        if not self._done:
            # Nothing was due; to have looked took time, too.
            now = time.perf_counter()
            self._next_s = max(self._next_s, now + (now - start) / SHARE)
        self._spent_s += time.perf_counter() - start

    def _share(self, remedy: Remedy, applying: Sequence[Remedy]) -> float:
        """Of the time, what a remedy may take: a part for each, lest cheap ones eat up what a dear one must save for."""
        early = remedy is self._full and self._tides.growth() is None
        return EARLY_SHARE if early else SHARE / len(applying)

    def _low_tide(self, memory: Memory, applying: Sequence[Remedy], elapsed: float) -> None:
        """Takes note of what is live after a clean-up, and whether that still grows."""
        full, young = self._full, self._young
        if full not in applying:
            return
        if full in self._done:
            # What the younger ones held is garbage of theirs where they are not collected each time.
            self._tides.collected(full.last_gain + (young.last_gain if young in self._done and not young.kept else 0))
        # Before it is known that a full collection finds nothing, what it would find would look like growth.
        if full in self._done or full.finds_nothing:
            self._tides.add(self.steps, memory.anon + memory.cuda_allocated, sure=full in self._done)
        if self._tides.suspicion() and full.spent_next_s <= self._share(full, applying) * elapsed:
            self._make_sure()
        growth = self._tides.growth()
        if growth is not None and growth.grows and not growth.slows and growth.total > memory.anon // 10:
            warn("memory still grows from clean-up to clean-up; Cleanup.report() says by how much")

    def _make_sure(self) -> None:
        """A full collection: does it find what seems to grow?"""
        memory = self._full.apply(_memory.read())
        self._tides.collected(self._full.last_gain)
        self._tides.add(self.steps, memory.anon + memory.cuda_allocated, sure=True)

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
        """What was tried, what it cost and gave back, and what that means; for people. Collects garbage once more where that is
        what tells growth from garbage."""
        verdict = self.verdict()
        elapsed = max(time.perf_counter() - self._start_s, 1e-9)
        share = self._spent_s / elapsed
        lines = [f"clean-up: {times(self._cleanups)} in {self.steps} steps, {share:.2%} of the time"]
        lines += [f"  {remedy.report()}" for remedy in self._remedies if self._applies(remedy) or remedy.tries]
        lines.append("  " + verdict)
        return "\n".join(lines)

    def verdict(self) -> str:
        """Whether memory still grows at low tide, right after clean-ups, and what clean-ups are good for then."""
        if self._tides.unsure and self._full.failed is None:
            self._tides.collected(self._full.frees())
        growth = self._tides.growth()
        if growth is None:
            more = times(self._tides.missing) if self._tides.missing > 1 else "one"
            return f"too few clean-ups to say whether memory still grows from one to the next: {more} more, a full collection last"
        if not growth.grows:
            return "memory right after clean-ups does not grow"
        grows = (
            f"live memory grows by {size(growth.per_step)} per step, {size(growth.total)} in {growth.steps} steps, "
            f"measured right after {growth.tides} clean-ups"
        )
        if growth.slows:
            return f"{grows}, but less and less: a cache that fills, or a slower leak; watch it for longer"
        gave_back = sum(remedy.gained for remedy in self._remedies)
        helps = (
            f"this masks a leak instead of curing it: clean-ups gave back {size(gave_back)}, and yet"
            if gave_back >= MASKS * growth.total
            else f"this does not help against a leak: clean-ups gave back {size(gave_back)} in all, and"
        )
        return f"{helps} {grows}; look for what keeps it (`lowtide run`)"
