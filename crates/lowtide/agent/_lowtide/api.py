"""What the package `lowtide` calls. Outside `lowtide run` there is no such module, and the package does nothing.

What comes in is the user's: values that a mark cannot hold are left out of it, and nothing is raised."""

import math
import operator
import os

# Those that `hooks` needs at the first mark, too: an import in a signal handler, in the middle of the same one, may hang.
from . import hooks, marks, steps, training  # noqa: F401
from .ring import SCOPES


def known():
    """What is known of the training, where marks are on in this process."""
    try:
        # A program without torch can still say what it does.
        found = hooks.training or ("LOWTIDE_MARKS" in os.environ and hooks.state())
    except Exception:
        return None
    return found if found and not found.marks.dead else None


def active():
    """Whether marks are on in this process."""
    return known() is not None


def begin(scope, name="", index=None):
    """`scope`: round, node, epoch or phase; of another one nothing is said. One that is open already ends."""
    found = known()
    if found and is_scope(scope):
        hooks.guarded(found.said, scope, text(name), number(index))


def end(scope):
    """Ends a scope."""
    found = known()
    if found and is_scope(scope):
        hooks.guarded(found.unsaid, scope)


def step(loss=None):
    """One training step. From the first call on optimizers are not counted any more."""
    found = known()
    if found:
        if loss is not None:
            logged(loss)
        hooks.guarded(found.counted_by_hand)


def logged(loss):
    """A loss, where it is a number that has a mean."""
    found = known()
    try:
        loss = float(loss)
    except Exception:
        return
    if found and math.isfinite(loss):
        found.marks.loss(loss)


def is_scope(scope):
    return isinstance(scope, str) and scope in SCOPES


def text(name):
    try:
        return "" if name is None else str(name)
    except Exception:
        return ""


def number(index):
    try:
        index = operator.index(index)
    except Exception:  # a tensor that is no number, say
        return None
    return index if 0 <= index < 1 << 62 else None
