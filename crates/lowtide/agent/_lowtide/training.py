"""From what torch does to steps, epochs and phases."""

import os
import weakref

from .loaders import Iteration, Iterations, Known


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
        self.foreign = Known()  # modules that are not the model
        self.held = 0  # phases of a framework that are open: they win over what is seen inside them
        self.framework = False  # epochs come from a framework
        self.iterations = Iterations()
        self.trained = Known()  # data sets in whose iteration steps happened
        self.stepless = Known()  # data sets that were read to their end without one
        self.epoch, self.epoch_at = -1, -1  # its number, and the steps before it
        self.by_hand = set()  # scopes that the user marks, and "step"
        self.choice = os.environ.get("LOWTIDE_STEP", "first").strip().lower()
        self.number = int(self.choice) if self.choice.isdecimal() else 0  # whose steps count: that of the n-th optimizer
        self.order = []  # weak: the optimizers by their first step, as far as that matters

    # Steps.

    def stepped(self, optimizer):
        """An optimizer's step ended."""
        counted = 0 if "step" in self.by_hand else self.counts(optimizer)
        if not counted:
            return
        if self.parameter is None:
            self.parameter, self.foreign = first_parameter(optimizer), Known()
        if self.phase != "train" and self.sees("phase"):
            self.enter("train")
        self.epoch_of_step()
        self.marks.step(counted)

    def epoch_of_step(self):
        """Only where a step is taken is it known that an iteration is a training epoch; it began when it did."""
        iteration = self.iterations.trains(self.marks.steps) if self.sees("epoch") else None
        data = iteration and iteration.data()
        if data is not None:
            self.trained.add(data)
            self.next_epoch(iteration, iteration.began[1])

    def counts(self, optimizer):
        """How many steps this one counts for. The steps of the first optimizer count, as long as it takes its turns: of
        another one that steps twice in a row without it both do, and that one's steps count from there on."""
        if self.choice in ("any", "dataloader"):
            return int(self.choice == "any")
        if self.number:
            return int(self.place(optimizer) == self.number)
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

    def place(self, optimizer):
        """Which one it is by its first step, from 1; 0: one that came after the one that counts."""
        for number, known in enumerate(self.order, 1):
            if known() is optimizer:
                return number
        if len(self.order) >= self.number:
            return 0
        self.order.append(weakref.ref(optimizer))
        return len(self.order)

    # Phases.

    def switched(self, module, training):
        """The outermost train() or eval() of a module ended."""
        name = "train" if training else "validation"
        # The common case first: train() before every step.
        if (training and self.phase == name) or not self.sees("phase") or not self.ours(module, training):
            return
        self.evaluates |= not training
        if name != self.phase:
            self.enter(name)

    def ours(self, module, training):
        """Whether it is the model that is trained: a teacher or a metric goes to eval() too, and means nothing."""
        wanted = self.parameter and self.parameter()
        if wanted is not None:
            if module in self.foreign:
                return False
            found = any(parameter is wanted for parameter in module.parameters())
            if not found:
                self.foreign.add(module)
            return found
        trainable = any(parameter.requires_grad for parameter in module.parameters())
        return trainable and (training or self.phase == "train")

    def enter(self, name, t_ns=None):
        self.phase = name
        self.marks.begin("phase", name, t_ns=t_ns)

    def sees(self, scope):
        """Whether this scope is told from what torch does: neither the user nor a framework says it."""
        return scope not in self.by_hand and not (self.held if scope == "phase" else self.framework)

    # Epochs, and validations that are only a loop.

    def iterates(self, loader):
        """A DataLoader's iteration begins."""
        iteration = Iteration(loader, self.marks.steps)
        data = iteration.data()
        if data in self.trained:
            if self.phase == "validation" and self.loops():
                self.enter("train")
            # While it evaluates, the same data may be read for that: then the first step tells.
            if self.phase != "validation" and self.sees("epoch"):
                self.next_epoch(iteration)
        elif data in self.stepless and self.loops() and self.phase == "train":
            self.enter("validation")
        return iteration

    def fetches(self, iteration):
        """An iteration is asked for its next batch."""
        if self.choice == "dataloader":
            self.batch_ended(iteration)
        self.iterations.fetches(iteration, self.marks.steps)

    def exhausted(self, iteration):
        """An iteration came to its end."""
        self.iterations.ended(iteration)
        data = iteration.data()
        if data is None or not self.loops():
            return
        steps, began_ns = iteration.began
        if steps != self.marks.steps or not steps or data in self.trained:
            return
        if self.phase == "train":
            self.enter("validation", began_ns)
        self.stepless.add(data)
        if self.phase == "validation":
            self.enter("train")

    def batch_ended(self, iteration):
        """A batch is done where batches are the steps: those of an evaluation are none."""
        if iteration.fetched >= 0 and self.phase != "validation" and not self.held and "step" not in self.by_hand:
            if self.phase is None and self.sees("phase"):
                self.enter("train")
            self.iterations.fetches(iteration, self.marks.steps)
            self.epoch_of_step()
            self.marks.step()

    def loops(self):
        """Whether validation has to be told from iterations without steps."""
        return not self.evaluates and self.sees("phase")

    def next_epoch(self, iteration, t_ns=None):
        iteration.epoch = True
        if self.epoch_at == self.marks.steps:  # read side by side with another, or once more: no step was taken since
            return
        self.epoch, self.epoch_at = self.epoch + 1, self.marks.steps
        self.marks.begin("epoch", index=self.epoch, t_ns=t_ns)

    # What a framework says.

    def enters(self, name):
        """A part of the training that a framework runs begins; gives what `leaves` needs."""
        before, self.held = self.phase, self.held + 1
        if name != before and "phase" not in self.by_hand:
            self.enter(name)
        return (before,)

    def leaves(self, before):
        self.held = max(self.held - 1, 0)  # a child that was forked inside knows of none
        if self.phase == before or "phase" in self.by_hand:
            return
        if before is None:
            self.phase = None
            self.marks.end("phase")
        else:
            self.enter(before)

    def epoch_begins(self, index):
        self.framework = True
        if "epoch" not in self.by_hand:
            self.epoch = index
            self.marks.begin("epoch", index=index)

    def fit_ended(self):
        """The framework's training is over; a loop of one's own may follow."""
        self.framework = False
        if self.phase == "train" and self.sees("phase"):
            self.phase = None
            self.marks.end("phase")
        if self.sees("epoch"):
            self.marks.end("epoch")

    # What the user says himself wins.

    def said(self, scope, name, index):
        self.by_hand.add(scope)
        if scope in ("round", "node"):
            self.epoch, self.epoch_at = -1, -1  # epochs are counted anew in each
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
        self.epoch_of_step()
        self.marks.step()


def first_parameter(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return weakref.ref(parameter)
    return None
