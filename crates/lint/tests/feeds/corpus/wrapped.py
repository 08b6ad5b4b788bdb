#? augment: instance:train.py:Search .augment = value
#? last: instance:train.py:History .last = value
#? head: module:train.py head = value
#? step: module:train.py step = value
#? plain: module:train.py plain = value
from collections import namedtuple

Frame = namedtuple("Frame", "image previous")


def compose(first, second):
    def both(x):
        return second(first(x))

    return both


def scaled(x):
    return x * 2


class Search:
    def __init__(self):
        self.augment = None

    def propose(self, more):
        self.augment = compose(self.augment, more)  # <- augment


class History:
    def __init__(self):
        self.last = None

    def add(self, image):
        self.last = Frame(image, self.last)  # <- last


search, history = Search(), History()
head, step, plain = None, None, None
for x in data():
    search.propose(x)
    history.add(x)
    head = (x, head)  # <- head
    step = lambda y, before=step: before(y)  # <- step
    plain = scaled(plain)  # <- plain
