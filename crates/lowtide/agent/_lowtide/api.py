"""What the package `lowtide` calls. Outside `lowtide run` there is no such module, and the package does nothing."""

from . import hooks


def active():
    """Whether marks are on in this process."""
    return hooks.training is not None and not hooks.training.marks.dead


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
