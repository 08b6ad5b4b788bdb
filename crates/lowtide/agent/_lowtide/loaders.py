"""Which iteration of a DataLoader is going on: several may be, a validation inside an epoch for one."""

import weakref
from _thread import get_ident

#: Iterations remembered between two steps; a program that only reads begins new ones without end.
MOST = 16


class Iteration:
    """One pass over a DataLoader. Keeps neither the data nor the workers alive."""

    def __init__(self, loader, steps, acts):
        self.data = weakref.ref(subject(loader))
        self.steps, self.acts = steps, acts  # by its beginning: those that count, and those of all optimizers
        self.moment = None  # of its beginning
        self.fetched = self.before = -1  # steps so far when its last batch was asked for, and the one before
        self.batches = 0  # asked for
        self.asked = 0  # when the last one was, by the order of all askings
        self.grads = False  # its last batch was asked for with gradients on
        self.epoch = False  # it is marked as an epoch
        self.gone = False  # its reader let go of it before its end
        self.end = None  # the moment when it did
        self.thread = 0  # who reads it


class Iterations:
    """Those that gave a batch since the last step, in the order in which they gave the first."""

    def __init__(self):
        self.recent = []
        self.askings = 0
        self.iterators = {}  # weak, by identity: those that are read

    def watch(self, iterator, iteration, let_go):
        """Has `let_go(iteration)` called when nobody holds the iterator any more, as after a `break`."""
        key = id(iterator)

        def gone(_):
            self.iterators.pop(key, None)
            let_go(iteration)

        self.iterators[key] = weakref.ref(iterator, gone)

    def fetches(self, iteration, steps):
        iteration.thread = get_ident()
        self.askings += 1
        iteration.asked = self.askings
        iteration.batches += 1
        if iteration.fetched == steps:
            return
        iteration.fetched = steps
        self.recent = [other for other in self.recent if other.fetched == steps][1 - MOST :] + [iteration]

    def ended(self, iteration):
        self.recent = [other for other in self.recent if other is not iteration]

    def trained_on(self, steps):
        """The iteration whose batches the step after `steps` steps is taken on: the one that is an epoch; else of several, a
        validation inside an epoch or two sets read side by side, the one that began first."""
        candidates = [iteration for iteration in self.recent if iteration.fetched == steps]
        # What another thread reads is that thread's business; who let go of one, or reads it without gradients, takes no step
        # on it: unless nobody else reads anything.
        for likely in (lambda i: i.thread == get_ident(), lambda i: not i.gone, lambda i: i.epoch, lambda i: i.grads):
            candidates = list(filter(likely, candidates)) or candidates
        return min(candidates, key=lambda iteration: iteration.moment[0] if iteration.moment else 0, default=None)

    def read_before(self, trains):
        """Those that gave no batch since the one that trains gave its last: they are over, whoever still holds them."""
        return [other for other in self.recent if other.asked < trains.asked and other.thread == trains.thread]


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
