"""What HF Trainer and Lightning say of themselves: their evaluations, checkpoints and epochs, by the methods that run them.

A class or a method that is not there in some version is left out: then torch's own events tell, as without a framework.
"""

from .api import logged
from .hooks import guarded, wraps


def wrapped(kind, name, make):
    """Replaces a method of a class by `make(method)`."""
    method = None if kind is None else kind.__dict__.get(name)
    if method is not None:
        setattr(kind, name, wraps(method)(make(method)))


def phase(known, kind, name, phase_of):
    """All of a method is a phase, called `phase_of(self)`; what surrounds it goes on afterwards."""

    def make(method):
        def wrapper(self, *args, **kwargs):
            before = guarded(lambda: known.enters(phase_of(self)))
            try:
                return method(self, *args, **kwargs)
            finally:
                if before is not None:
                    guarded(known.leaves, *before)

        return wrapper

    wrapped(kind, name, make)


def ends(known, kind, name):
    """With a method training by the framework ends."""

    def make(method):
        def wrapper(self, *args, **kwargs):
            try:
                return method(self, *args, **kwargs)
            finally:
                guarded(known.fit_ended)

        return wrapper

    wrapped(kind, name, make)


def precede(kind, name, act):
    """Before a method runs: `act(self, *args)`."""

    def make(method):
        def wrapper(self, *args, **kwargs):
            guarded(lambda: act(self, *args, **kwargs))
            return method(self, *args, **kwargs)

        return wrapper

    wrapped(kind, name, make)


def trainer(module, known):
    kind = getattr(module, "Trainer", None)
    phase(known, kind, "evaluate", lambda self: "validation")
    phase(known, kind, "predict", lambda self: "test")
    phase(known, kind, "_save_checkpoint", lambda self: "checkpoint")
    ends(known, kind, "train")


def callbacks(module, known):
    def epoch(handler, args, state, *_):
        # A fraction of the data seen, and what is added up in floats may lie a little below its epoch.
        known.epoch_begins(int((state.epoch or 0) + 1e-6))

    def log(handler, args, state, control, logs=None, *_, **__):
        logged((logs or {}).get("loss"))

    kind = getattr(module, "CallbackHandler", None)
    precede(kind, "on_epoch_begin", epoch)
    precede(kind, "on_log", log)


def evaluation(module, known):
    def name(loop):
        if getattr(loop.trainer, "sanity_checking", False):
            return "setup"
        return "test" if getattr(loop.trainer, "testing", False) else "validation"

    phase(known, getattr(module, "_EvaluationLoop", None), "run", name)


def prediction(module, known):
    phase(known, getattr(module, "_PredictionLoop", None), "run", lambda loop: "test")


#: What Lightning modules call their training's loss, the mean of an epoch first.
LOSSES = ("train_loss_epoch", "train/loss_epoch", "loss_epoch", "train_loss", "train/loss", "loss")


def fit(module, known):
    def log(loop):
        found = map(loop.trainer.callback_metrics.get, LOSSES)
        logged(next((loss for loss in found if loss is not None), None))

    kind = getattr(module, "_FitLoop", None)
    precede(kind, "on_advance_start", lambda loop: known.epoch_begins(int(loop.trainer.current_epoch)))
    precede(kind, "on_advance_end", log)
    ends(known, kind, "run")


def saving(module, known):
    phase(known, getattr(module, "Trainer", None), "save_checkpoint", lambda trainer: "checkpoint")
