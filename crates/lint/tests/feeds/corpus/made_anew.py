#? waiting: instance:train.py:Pipe .waiting = deque
#? seen: instance:train.py:Tally .seen = list
import collections
import os
import threading


class Pipe:
    """What makes the buffer runs when the pipe is made, and in a copy of the process."""

    def __init__(self):
        self.ready = threading.Condition()
        self._reset()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        self._reset()

    def _reset(self):
        self.waiting = collections.deque()

    def put(self, item):
        with self.ready:
            self.waiting.append(item)  # <- waiting maybe
            self.ready.notify()

    def feed(self):
        take = self.waiting.popleft
        while True:
            with self.ready:
                self.ready.wait()
            print(take())


class Tally:
    """A private helper that a method calls again and again empties it."""

    def __init__(self):
        self._begin()

    def _begin(self):
        self.seen = []

    def add(self, value):
        self.seen.append(value)  # <- seen bounded

    def epoch(self, values):
        for value in values:
            self.add(value)
        self._begin()


pipe, tally = Pipe(), Tally()
for number in range(10**9):
    pipe.put(number)
    tally.epoch([number])
