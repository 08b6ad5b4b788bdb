"""What the package `lowtide` calls. Outside `lowtide run` there is no such module, and the package does nothing."""

import operator
import os

from . import hooks
from .ring import SCOPES


def active():
    """Whether marks are on in this process."""
    # A program without torch can still say what it does.
    known = hooks.training or ("LOWTIDE_MARKS" in os.environ and hooks.state())
    return bool(known) and not known.marks.dead


def begin(scope, name="", index=None):
    """`scope`: round, node, epoch or phase. One that is open already ends."""
    if active() and scope in SCOPES:
        hooks.training.said(scope, str(name), number(index))


def number(index):
    """Foreign values: what a mark cannot hold must not end all marks."""
    try:
        index = operator.index(index)
    except TypeError:
        return None
    return index if 0 <= index < 1 << 62 else None


def end(scope):
    """Ends a scope."""
    if active() and scope in SCOPES:
        hooks.training.unsaid(scope)


def step():
    """One training step. From the first call on optimizers are not counted any more."""
    if active():
        hooks.training.counted_by_hand()
