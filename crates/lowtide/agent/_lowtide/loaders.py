"""Which iteration of a DataLoader is going on: several may be, a validation inside an epoch for one."""

import weakref
from _thread import get_ident

#: Iterations remembered between two steps; a program that only reads begins new ones without end.
MOST = 16


class Iteration:
    """One pass over a DataLoader. Keeps neither the data nor the workers alive."""

    def __init__(self, loader, steps):
        self.data = weakref.ref(subject(loader))
        self.steps = steps  # by its beginning
        self.moment = None  # of its beginning
        self.fetched = self.before = -1  # steps so far when its last batch was asked for, and the one before
        self.grads = False  # its last batch was asked for with gradients on
        self.epoch = False  # it is marked as an epoch
        self.thread = 0  # who reads it


class Iterations:
    """Those that gave a batch since the last step, in the order in which they gave the first."""

    def __init__(self):
        self.recent = []

    def fetches(self, iteration, steps):
        iteration.thread = get_ident()
        if iteration.fetched == steps:
            return
        iteration.fetched = steps
        self.recent = [other for other in self.recent if other.fetched == steps][1 - MOST :] + [iteration]

    def ended(self, iteration):
        self.recent = [other for other in self.recent if other is not iteration]

    def trains(self, steps):
        """The iteration whose batches the step after `steps` steps was taken on: of several, a validation inside an epoch
        or two sets read side by side, the one that began first; None where that is known already."""
        candidates = [iteration for iteration in self.recent if iteration.fetched == steps]
        # What another thread reads is that thread's business, unless nobody else reads anything.
        own = [iteration for iteration in candidates if iteration.thread == get_ident()]
        candidates = own or candidates
        if not candidates or any(iteration.epoch for iteration in candidates):
            return None
        return min(candidates, key=lambda iteration: iteration.moment[0] if iteration.moment else 0)


class Known:
    """A set of objects by identity that keeps none of them alive, and asks them for no hash."""

    def __init__(self):
        self.references = {}

    def add(self, thing):
        key = id(thing)
        self.references[key] = weakref.ref(thing, lambda _: self.references.pop(key, None))

    def __contains__(self, thing):
        reference = self.references.get(id(thing))
        return reference is not None and reference() is thing


def subject(loader):
    """What is iterated: the data set, since many programs make a new loader for every epoch; the loader where the data
    set, a list say, cannot be referred to weakly."""
    try:
        weakref.ref(loader.dataset)
    except TypeError:
        return loader
    return loader.dataset
