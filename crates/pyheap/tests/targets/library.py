"""A program that is inside a function of a library, which works on an object of the program's."""

import json
import sys


class Kept:
    pass


class Optimizer:
    def __init__(self):
        self.state = Kept()


class Trainer:
    def __init__(self):
        self.optimizer = Optimizer()


LIBRARY = """
def work(state, make, wait):
    other = make()
    wait()
    return state, other
"""


def wait():
    sys.stdout.write("done\n")
    sys.stdout.flush()
    sys.stdin.readline()


library = {}
exec(compile(LIBRARY, "/usr/lib/python3/dist-packages/library.py", "exec"), library)
trainer = Trainer()
sys.stdout.write(json.dumps({"version": sys.version.split()[0]}) + "\n")
sys.stdout.flush()
library["work"](trainer.optimizer.state, Kept, wait)
