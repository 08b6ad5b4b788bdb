"""Callbacks for Lightning (`lightning.pytorch` 2, or `pytorch_lightning`).

`Trainer(..., callbacks=[LowtideCallback(), LoggingCallback(every=50), CleanupCallback()])`
"""

import sys
from typing import Any, Dict, Optional, Union

from . import _scopes
from ._cleanup import Cleanup
from ._log import MemoryLog
from ._progress import Progress
from ._quiet import quietly, show

# The same under two names; that which the program has imported, or else which is installed.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

__all__ = ["CleanupCallback", "LoggingCallback", "LowtideCallback"]


class _Steps:
    """Whether a batch had an optimizer step: there is none while gradients are accumulated."""

    def __init__(self) -> None:
        self._global_step = 0

    def begin(self, trainer: Any) -> None:
        """Training begins, perhaps from a checkpoint."""
        self._global_step = trainer.global_step

    def taken(self, trainer: Any) -> bool:
        """Whether there was one since this was last asked."""
        before, self._global_step = self._global_step, trainer.global_step
        return bool(before != self._global_step)


class LowtideCallback(Callback):
    """Marks steps, epochs and phases under `lowtide run`; else starts `lowtide attach` beside the process and shows its
    report at the end. `record`: where the recording goes; `limit`: for how long to watch (`2h`); `alone=False`: only marks.

    A step is a batch in which Lightning took an optimizer step, however many optimizers there are.
    """

    def __init__(self, record: Optional[str] = None, limit: Optional[str] = None, alone: bool = True) -> None:
        self.off = False
        self._progress = Progress(record, limit, alone)
        self._steps = _Steps()

    @quietly
    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self._steps.begin(trainer)
        self._progress.start(trainer.local_rank == 0)

    @quietly
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        _scopes.begin("epoch", "", trainer.current_epoch)

    @quietly
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._steps.taken(trainer):
            _scopes.step()

    @quietly
    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> None:
        self._progress.enter("setup")

    @quietly
    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.leave("setup")

    @quietly
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self._progress.enter("validation")

    @quietly
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.leave("validation")

    @quietly
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        self._progress.enter("test")

    @quietly
    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.leave("test")

    @quietly
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        self._progress.enter("test")

    @quietly
    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.leave("test")

    @quietly
    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.stop()

    @quietly
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._progress.stop()


class LoggingCallback(Callback):
    """Logs memory every `every` batches into all of the Trainer's loggers; after each validation and at the end also
    objects by type and the largest tensors (`objects=False` leaves these out)."""

    def __init__(self, every: int = 50, objects: bool = True) -> None:
        self.off = False
        self.memory = MemoryLog(every, objects)
        self._batches = 0

    @quietly
    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.memory.begin()

    @quietly
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._batches += 1
        if self.memory.due(self._batches) and trainer.is_global_zero:
            _log(trainer, self.memory.metrics())

    @quietly
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero and not trainer.sanity_checking:
            _log(trainer, self.memory.table(f"after the validation at step {trainer.global_step}"))

    @quietly
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            _log(trainer, self.memory.table("at the end of training"))


class CleanupCallback(Callback):
    """`lowtide.Cleanup` after steps and validations; shows what came of it at the end. Gradients are left alone while
    Lightning accumulates them."""

    def __init__(self, every: Union[int, str] = "auto") -> None:
        self.off = False
        self.cleanup = Cleanup(every)
        self._steps = _Steps()

    @quietly
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._steps.begin(trainer)

    @quietly
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._steps.taken(trainer):
            self.cleanup.optimizers = list(trainer.optimizers)
            self.cleanup.step()
            self.cleanup.optimizers = []

    @quietly
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self.cleanup.after_evaluation()

    @quietly
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_global_zero:
            show("lowtide, " + self.cleanup.report())


def _log(trainer: Any, metrics: Dict[str, float]) -> None:
    """Into all loggers of the Trainer."""
    for logger in trainer.loggers:
        logger.log_metrics(metrics, step=trainer.global_step)
