"""What counts as a step: the user's choice, and what there is to count."""

import os
import weakref

SKIPS = " (a step that GradScaler skips is none)"
BATCHES = "batches of DataLoaders outside evaluation, each when the next one is asked for"
BY_HAND = "calls of lowtide.step()"
WORDS = {
    "first": "steps of the first optimizer that steps" + SKIPS,
    "any": "steps of all optimizers" + SKIPS,
    "dataloader": BATCHES,
}


class Steps:
    """How many steps an event counts for."""

    def __init__(self):
        said = os.environ.get("LOWTIDE_STEP", "").strip()
        choice = said.lower() or "first"
        # The steps of the n-th optimizer are counted, by the order of their first steps.
        self.number = int(choice) if choice.isdecimal() and choice.isascii() and len(choice) < 9 else 0
        self.choice = choice if choice in WORDS else "first"
        self.words = WORDS[self.choice]
        if self.number:
            self.words = "steps of optimizer number %d by first step%s" % (self.number, SKIPS)
        elif choice not in WORDS:
            self.words = "steps of the first optimizer that steps; LOWTIDE_STEP=%.40s is unknown" % said
        self.reset()

    def reset(self):
        self.counted = None  # weak: the optimizer whose steps count
        self.others = {}  # steps of other optimizers since its last one, by identity
        self.order = []  # weak: the optimizers by their first step, as far as that matters

    def again(self, optimizer):
        """Whether the step of an optimizer is one more of the one whose steps count, and nothing else."""
        counted = self.counted
        return counted is not None and counted() is optimizer and not self.others

    def of(self, optimizer):
        """For a step of an optimizer. The steps of the first one count, as long as it takes its turns: of another one that
        steps twice in a row without it both do, and that one's steps count from there on."""
        if self.choice in ("any", "dataloader"):
            return int(self.choice == "any")
        if self.number:
            return int(self.place(optimizer) == self.number)
        counted = self.counted and self.counted()
        if counted is optimizer:
            self.others.clear()
            return 1
        since = self.others.get(id(optimizer), 0) + 1
        if counted is not None and since < 2:
            self.others[id(optimizer)] = since
            return 0
        self.counted = weakref.ref(optimizer)
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
