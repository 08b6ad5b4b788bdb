#? unique: instance:train.py:Meter .samples = list
#? ambiguous: instance:train.py:Apple .pips = list
class Meter:
    def __init__(self):
        self.samples = []


class Apple:
    def __init__(self):
        self.pips = []


class Pear:
    def __init__(self):
        self.pips = []


def record(meter, x):
    meter.samples.append(x)  # <- unique


def eat(fruit, x):
    fruit.pips.append(x)


def run(anything, something):
    for i in range(10):
        record(anything, i)
        eat(something, i)
