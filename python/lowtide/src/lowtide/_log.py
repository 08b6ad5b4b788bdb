"""What the logging callbacks log, whatever the framework."""

import gc
from typing import Dict, Optional

from . import _memory
from ._objects import Census, Objects
from ._quiet import show


class MemoryLog:
    """Numbers every so many steps, tables after evaluations and at the end."""

    def __init__(self, every: int = 50, objects: bool = True) -> None:
        if isinstance(every, bool) or int(every) < 1:
            raise ValueError(f"LoggingCallback(every={every!r}): give a number of steps, 1 or more")
        self.every = int(every)
        self._objects = objects
        self._census = Census()
        #: The last table.
        self.last: Optional[Objects] = None

    def begin(self) -> None:
        """Counts what is there before training, to compare with."""
        if self._objects:
            self._census.take()

    def due(self, step: int) -> bool:
        """Whether the numbers are due after this step."""
        return step % self.every == 0

    def metrics(self) -> Dict[str, float]:
        """Memory now, by name."""
        return _memory.as_metrics(_memory.read(), len(gc.get_objects()))

    def table(self, when: str) -> Dict[str, float]:
        """Shows objects and tensors on stderr; returns what of them are numbers, with memory now."""
        metrics = self.metrics()
        if self._objects:
            self.last = self._census.take()
            show(f"lowtide, {when}: {self.last.text()}")
            metrics.update(self.last.as_metrics())
        return metrics
