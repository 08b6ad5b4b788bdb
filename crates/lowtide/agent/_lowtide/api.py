"""What the package `lowtide` calls. Outside `lowtide run` there is no such module, and the package does nothing."""

import os

from . import hooks


def active():
    """Whether marks are on in this process."""
    # A program without torch can still say what it does.
    known = hooks.training or ("LOWTIDE_MARKS" in os.environ and hooks.state())
    return bool(known) and not known.marks.dead


def begin(scope, name="", index=None):
    """`scope`: round, node, epoch or phase. One that is open already ends."""
    if active():
        hooks.training.said(scope, name, index)


def end(scope):
    """Ends a scope."""
    if active():
        hooks.training.unsaid(scope)


def step():
    """One training step. From the first call on optimizers are not counted any more."""
    if active():
        hooks.training.counted_by_hand()
