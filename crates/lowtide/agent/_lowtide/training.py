"""From what torch does to steps, epochs and phases."""

import os
import sys
import weakref
from time import monotonic_ns

from .loaders import Iteration, Iterations, Known
from .steps import BATCHES, BY_HAND, Steps


class Training:
    """What is known of the training in this process. Its methods are called by the hooks, in the run's own thread."""

    def __init__(self, marks, steps):
        self.marks = marks
        self.steps = steps
        self.optimizers = False  # there is one, and be it that it never stepped
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self):
        self.steps.reset()
        self.marks.counts = self.steps.words
        self.batches = self.steps.choice == "dataloader"  # they are the steps
        self.reread = Known()  # data sets that were read more than once with gradients on
        self.model = None  # weak: the optimizer whose parameters are those of the model
        self.parameter = None  # weak: one that it trains
        self.phase, self.phase_at = None, -1  # as marked by us, and the steps before it
        self.phase_ns = 0  # when it began
        self.loop = None  # the iteration that is the validation which is going on
        self.evaluates = False  # there is a model.eval(): phases come from there alone
        self.foreign = Known()  # modules that are not the model
        self.held = 0  # phases of a framework that are open: they win over what is seen inside them
        self.framework = False  # epochs come from a framework
        self.iterations = Iterations()
        self.trained = Known()  # data sets in whose iteration steps happened
        self.stepless = Known()  # data sets that were read to their end without one
        self.body = None  # (steps, moment) at which the loop that trains came to its end
        self.acts = 0  # steps of all optimizers, counted or not
        self.epoch, self.epoch_at = -1, -1  # its number, and the steps before it
        self.by_hand = set()  # scopes that the user marks, and "step"
        self.usual = False  # nothing happened since the last step that another one of the same optimizer would tell more of
        self.seen = False  # a step was counted that the user did not mark

    # Steps.

    def stepped(self, optimizer):
        """An optimizer's step ended."""
        if self.usual and self.phase == "train" and not self.by_hand and self.steps.again(optimizer):
            self.marks.step()
            self.acts += 1
            return
        counted = 0 if "step" in self.by_hand else self.steps.of(optimizer)
        self.optimizers = True
        if self.batches and counted:
            # They were counted for want of it.
            self.batches = False
            self.marks.says(self.steps.words)
        if counted or self.batches:
            if (counted and self.steps.choice != "any") or self.parameter is None:
                self.trains(optimizer)
            self.resume()
        if counted:
            self.step(counted)
            self.usual = not self.batches
        self.acts += 1

    def resume(self):
        """Whatever was going on, this is training."""
        if self.phase != "train" and self.sees("phase"):
            self.enter("train")

    def step(self, counted=1):
        self.seen = True
        self.resume()
        self.epoch_of_step()
        self.marks.step(counted)

    def trains(self, optimizer):
        """Takes note of what the optimizer trains: the model."""
        if self.model is None or self.model() is not optimizer:
            self.model = weakref.ref(optimizer)
            self.parameter, self.foreign = first_parameter(optimizer), Known()

    def epoch_of_step(self):
        """Only where a step is taken is it known that an iteration is a training epoch; it began when it did. And that what
        was read before its last batch, and not trained on, was a validation."""
        if not self.sees("epoch") and not self.loops():
            return
        iteration = self.iterations.trained_on(self.marks.steps)
        data = iteration and iteration.data()
        if data is None:
            return
        for other in self.iterations.read_before(iteration):
            if self.without_step(other):
                self.evaluated(other, other.end or (None if iteration.epoch else iteration.moment))
        if not iteration.epoch and self.sees("epoch"):
            self.trained.add(data)
            self.next_epoch(iteration, iteration.moment)

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

    def enter(self, name, moment=None):
        self.phase, self.phase_at, self.loop = name, self.marks.steps, None
        self.phase_ns = moment[0] if moment else monotonic_ns()
        self.marks.begin("phase", name, moment=moment)

    def enter_loop(self, iteration, moment=None):
        """A validation that is only a loop begins, or began. Training ended before: with the loop that trains, if that came
        to its end since the last step, else with that step. What is between the two belongs to neither."""
        steps, end = self.body or (-1, None)
        if self.phase_at == self.marks.steps:
            end = moment  # not a step of it: it ends here
        elif steps != self.marks.steps:
            end = self.marks.stepped
        self.marks.end("phase", end)
        self.enter("validation", moment)
        self.loop = iteration

    def sees(self, scope):
        """Whether this scope is told from what torch does: neither the user nor a framework says it."""
        return scope not in self.by_hand and not (self.held if scope == "phase" else self.framework)

    # Epochs, and validations that are only a loop.

    def iterates(self, loader):
        """A DataLoader's iteration begins."""
        iteration = Iteration(loader, self.marks.steps, self.acts)
        data = iteration.data()
        # Without gradients nobody trains: then it is evaluated on what it is trained on, or the first step tells.
        if data in self.trained and grads():
            if self.phase == "validation" and self.loops():
                self.enter("train")
            # While it evaluates, the same data may be read for that: then the first step tells.
            if self.phase != "validation" and self.sees("epoch"):
                self.next_epoch(iteration)
        elif data in self.stepless and self.loops() and self.phase == "train":
            self.enter_loop(iteration)
        # What it is may be known only later: then it began here.
        if not iteration.epoch and (self.sees("epoch") or self.loops()):
            iteration.moment = self.marks.moment()
        return iteration

    def fetches(self, iteration):
        """An iteration is asked for its next batch."""
        self.marks.hears()
        if iteration.fetched >= 0 and (self.batches or self.lacks_optimizer(iteration)):
            self.batch_ended(iteration)
        self.usual &= iteration.epoch
        iteration.before, iteration.grads = iteration.fetched, grads()
        self.iterations.fetches(iteration, self.marks.steps)

    def reads(self, iterator, iteration, let_go):
        """An iteration is read through this iterator; `let_go(iteration)` is to be called when nobody holds that any more."""
        if self.loops():
            self.iterations.watch(iterator, iteration, let_go)

    def exhausted(self, iteration):
        """An iteration came to its end."""
        self.iterations.ended(iteration)
        data = iteration.data()
        if data is None:
            return
        if iteration.grads:
            self.reread.add(data)
        if not self.loops():
            return
        if self.without_step(iteration):
            self.evaluated(iteration)
        # One that reads ahead comes to its end before its last step.
        elif data in self.trained and iteration.epoch and iteration.before < self.marks.steps:
            self.body = (self.marks.steps, self.marks.moment())

    def let_go(self, iteration):
        """Whoever read an iteration let go of it before its end."""
        iteration.gone = True
        if iteration not in self.iterations.recent or not self.loops() or not self.without_step(iteration):
            return
        if iteration.grads and self.loop is not iteration:
            # Training may read a few batches more for its next step. That step tells.
            iteration.end = self.marks.moment()
        else:
            self.evaluated(iteration)

    def without_step(self, iteration):
        """Whether an iteration is a validation, as far as it was read: no optimizer stepped meanwhile. A single batch that is
        read with gradients on may be for anything, and so may data that are trained on."""
        if not self.marks.steps or iteration.epoch or (iteration.steps, iteration.acts) != (self.marks.steps, self.acts):
            return False
        return not iteration.grads or (iteration.batches > 1 and iteration.data() not in self.trained)

    def evaluated(self, iteration, end=None):
        """A validation that is only a loop is over, since now or since a moment before."""
        self.iterations.ended(iteration)
        data = iteration.data()
        if data is not None:
            self.stepless.add(data)
        began = iteration.moment
        # One inside another is part of that.
        if self.phase == "train" and began is not None and began[0] >= self.phase_ns:
            self.enter_loop(iteration, began)
        if self.loop is iteration:
            self.enter("train", end if end is not None and end[0] >= self.phase_ns else None)

    def lacks_optimizer(self, iteration):
        """Whether batches have to be the steps, since no optimizer is known: what is read with gradients on, by a program
        that called train() or reads it again."""
        if self.optimizers or "step" in self.by_hand or self.steps.choice != "first" or not iteration.grads:
            return False
        if self.phase != "train" and iteration.data() not in self.reread:
            return False
        self.batches = True
        self.marks.says("%s, since no torch optimizer is known" % BATCHES.split(",")[0])
        return True

    def batch_ended(self, iteration):
        """A batch is done where batches are the steps: those of an evaluation are none."""
        evaluation = self.phase == "validation" or self.held
        # Of those that are counted for want of something else only what trains.
        if evaluation or "step" in self.by_hand or not (iteration.grads or self.steps.choice == "dataloader"):
            return
        self.iterations.fetches(iteration, self.marks.steps)
        self.step()

    def loops(self):
        """Whether validation has to be told from iterations without steps."""
        return not self.evaluates and self.sees("phase")

    def next_epoch(self, iteration, moment=None):
        iteration.epoch = True
        if self.epoch_at == self.marks.steps:  # read side by side with another, or once more: no step was taken since
            return
        self.epoch, self.epoch_at = self.epoch + 1, self.marks.steps
        self.marks.begin("epoch", index=self.epoch, moment=moment)

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
        self.usual = False
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
        if self.usual and "step" in self.by_hand:
            self.marks.step()
            return
        if "step" not in self.by_hand:
            self.by_hand.add("step")
            self.usual = False
            self.marks.says(BY_HAND)
            if self.seen:  # the optimizer told of this one
                return
        self.epoch_of_step()
        self.marks.step()
        self.usual = True


def grads():
    """Whether torch keeps what gradients need."""
    return bool(sys.modules["torch"].is_grad_enabled())


def first_parameter(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return weakref.ref(parameter)
    return None
