"""Callbacks for the Trainer of Hugging Face's transformers.

`Trainer(..., callbacks=[LowtideCallback(), LoggingCallback(every=50), CleanupCallback()])`
"""

import gc
from typing import Any, Dict, Optional, Union
from weakref import ReferenceType, ref

from transformers import TrainerCallback

from . import _scopes
from ._cleanup import Cleanup
from ._log import MemoryLog
from ._progress import Progress
from ._quiet import quietly, show, warn

__all__ = ["CleanupCallback", "LoggingCallback", "LowtideCallback"]


class LowtideCallback(TrainerCallback):
    """Marks steps, epochs and phases under `lowtide run`; else starts `lowtide attach` beside the process and shows its
    report at the end. `record`: where the recording goes; `limit`: for how long to watch (`2h`); `alone=False`: only marks.

    The Trainer has no event where an evaluation begins: it is marked where the Trainer decides on one, or at the latest
    after its first batch.
    """

    def __init__(self, record: Optional[str] = None, limit: Optional[str] = None, alone: bool = True) -> None:
        self.off = False
        self._progress = Progress(record, limit, alone)

    @quietly
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress.start(state.is_local_process_zero)

    @quietly
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # `state.epoch` is a sum of fractions.
        _scopes.begin("epoch", "", int((state.epoch or 0) + 1e-3))

    @quietly
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        _scopes.step()
        self._next(control)

    @quietly
    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._next(control)

    def _next(self, control: Any) -> None:
        """What the Trainer does next, in its order: evaluate, then save."""
        if control.should_evaluate:
            self._progress.enter("validation")
        elif control.should_save:
            self._progress.enter("checkpoint")

    @quietly
    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress.enter("validation")

    @quietly
    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress.leave("validation")
        if control.should_save:
            self._progress.enter("checkpoint")

    @quietly
    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        self._progress.leave("validation")

    @quietly
    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress.leave("checkpoint")

    @quietly
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # With save_strategy="best" a save may not happen after all.
        self._progress.leave("checkpoint")

    @quietly
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._progress.stop()


class LoggingCallback(TrainerCallback):
    """Logs memory every `every` steps through `Trainer.log`, and so into W&B, TensorBoard, MLflow and `log_history`; after
    each evaluation and at the end also objects by type and the largest tensors (`objects=False` leaves these out)."""

    def __init__(self, every: int = 50, objects: bool = True) -> None:
        self.off = False
        self.memory = MemoryLog(every, objects)
        self._trainer: Optional[ReferenceType[Any]] = None

    @quietly
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._trainer = _trainer_of(control)
        self.memory.begin()

    @quietly
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.memory.due(state.global_step) and state.is_world_process_zero:
            self._log(control, self.memory.metrics())

    @quietly
    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._log(control, self.memory.table(f"after the evaluation at step {state.global_step}"))

    @quietly
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._log(control, self.memory.table("at the end of training"))

    def _log(self, control: Any, metrics: Dict[str, float]) -> None:
        trainer = None if self._trainer is None else self._trainer()
        if trainer is None:
            return
        # Every log tells the Trainer that it has logged, whose own log may be due at this very step.
        due = control.should_log
        try:
            trainer.log(metrics)
        finally:
            control.should_log = due


def _trainer_of(control: Any) -> Optional["ReferenceType[Any]"]:
    """The Trainer that calls us. Callbacks are not told, and those that log come before us, so that what is added to its
    logs comes too late: it is found by its `control`, once. (The locals of our callers would tell, too, but to look at them
    keeps them alive: tensors of the loop, before Python 3.13.)"""
    from transformers import Trainer

    for one in gc.get_objects():
        if issubclass(type(one), Trainer) and one.__dict__.get("control") is control:
            return ref(one)
    warn("LoggingCallback: its Trainer was not found, nothing is logged into its loggers")
    return None


class CleanupCallback(TrainerCallback):
    """`lowtide.Cleanup` after steps and evaluations; shows what came of it at the end."""

    def __init__(self, every: Union[int, str] = "auto") -> None:
        self.off = False
        self.cleanup = Cleanup(every)

    @quietly
    def on_train_begin(self, args: Any, state: Any, control: Any, optimizer: Any = None, **kwargs: Any) -> None:
        self.cleanup.optimizers = [] if optimizer is None else [optimizer]

    @quietly
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.cleanup.step()

    @quietly
    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.cleanup.after_evaluation()

    @quietly
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            show("lowtide, " + self.cleanup.report())
