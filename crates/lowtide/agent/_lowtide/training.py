"""From what torch does to steps, epochs and phases."""

import os
import time
import weakref


class Training:
    """What is known of the training in this process. Its methods are called by the hooks, in the run's own thread."""

    def __init__(self, marks):
        self.marks = marks
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self):
        self.optimizer = None  # weak: whose steps count
        self.others = {}  # steps of other optimizers since its last one, by identity
        self.parameter = None  # weak: one that it trains
        self.phase = None  # as marked by us
        self.evaluates = False  # there is a model.eval(): phases come from there alone
        self.loader = None  # weak: the data set whose loader is iterated, at which step and moment it began
        self.began = (0, 0)
        self.counted = False  # its iteration counts as an epoch
        self.trained = Known()  # data sets in whose iteration steps happened
        self.stepless = Known()  # data sets that were read to their end without one
        self.epoch = -1
        self.by_hand = set()  # scopes that the user marks, and "step"
        self.choice = os.environ.get("LOWTIDE_STEP", "first")

    # Steps.

    def stepped(self, optimizer):
        """An optimizer's step ended."""
        counted = 0 if "step" in self.by_hand else self.counts(optimizer)
        if not counted:
            return
        if self.parameter is None:
            self.parameter = first_parameter(optimizer)
        if self.phase != "train" and "phase" not in self.by_hand:
            self.enter("train")
        if self.loader is not None and "epoch" not in self.by_hand:
            data = self.loader()
            if data is not None and not self.counted:
                # Only now is it known that this iteration is a training epoch; it began when it did.
                self.trained.add(data)
                self.next_epoch(self.began[1])
        self.marks.step(counted)

    def counts(self, optimizer):
        """How many steps this one counts for. The steps of the first optimizer count, as long as it takes its turns: of
        another one that steps twice in a row without it both do, and that one's steps count from there on."""
        if self.choice == "any":
            return 1
        counted = self.optimizer and self.optimizer()
        if counted is optimizer:
            self.others.clear()
            return 1
        since = self.others.get(id(optimizer), 0) + 1
        if counted is not None and since < 2:
            self.others[id(optimizer)] = since
            return 0
        self.optimizer, self.parameter = weakref.ref(optimizer), None
        self.others.clear()
        return since

    # Phases.

    def switched(self, module, training):
        """The outermost train() or eval() of a module ended."""
        if "phase" in self.by_hand or not self.ours(module, training):
            return
        self.evaluates |= not training
        name = "train" if training else "validation"
        if name != self.phase:
            self.enter(name)

    def ours(self, module, training):
        """Whether it is the model that is trained: a teacher or a metric goes to eval() too, and means nothing."""
        wanted = self.parameter and self.parameter()
        if wanted is not None:
            return any(parameter is wanted for parameter in module.parameters())
        trainable = any(parameter.requires_grad for parameter in module.parameters())
        return trainable and (training or self.phase == "train")

    def enter(self, name, t_ns=None):
        self.phase = name
        self.marks.begin("phase", name, t_ns=t_ns)

    # Epochs, and validations that are only a loop.

    def iterates(self, loader):
        """A DataLoader's iteration begins."""
        data = subject(loader)
        self.loader, self.began = weakref.ref(data), (self.marks.steps, time.monotonic_ns())
        self.counted = False
        if data in self.trained and "epoch" not in self.by_hand:
            if self.phase == "validation" and not self.evaluates and "phase" not in self.by_hand:
                self.enter("train")
            # While it evaluates, the same data may be read for that: then the first step tells.
            if self.phase != "validation":
                self.next_epoch()
        elif data in self.stepless and self.loops() and self.phase == "train":
            self.enter("validation")

    def exhausted(self):
        """The iteration that began last came to its end."""
        data = self.loader and self.loader()
        if data is None or not self.loops():
            return
        steps, began_ns = self.began
        if steps != self.marks.steps or not steps or data in self.trained:
            return
        if self.phase == "train":
            self.enter("validation", began_ns)
        self.stepless.add(data)
        if self.phase == "validation":
            self.enter("train")

    def loops(self):
        """Whether validation has to be told from iterations without steps."""
        return not self.evaluates and "phase" not in self.by_hand

    def next_epoch(self, t_ns=None):
        self.counted = True
        self.epoch += 1
        self.marks.begin("epoch", index=self.epoch, t_ns=t_ns)

    # What the user says himself wins.

    def said(self, scope, name, index):
        self.by_hand.add(scope)
        if scope in ("round", "node"):
            self.epoch = -1  # epochs are counted anew in each
        self.marks.begin(scope, name, index)

    def unsaid(self, scope):
        self.marks.end(scope)
        if scope == "phase":
            # Automatic phases go on where they were.
            self.by_hand.discard("phase")
            self.phase = None

    def counted_by_hand(self):
        if "step" not in self.by_hand:
            self.by_hand.add("step")
            self.marks.counts = "calls of lowtide.step()"
            if self.marks.steps:  # the optimizer told of this one
                return
        self.marks.step()


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


def first_parameter(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return weakref.ref(parameter)
    return None
