#? ema: module:train.py ema = graph
#? total: frame:train.py:train total = graph
#? hidden: instance:train.py:Runner .hidden = graph
#? state: instance:train.py:Runner .state = graph
#? clean: module:train.py clean = graph
#? cache: module:train.py cache = graph
#? two: module:train.py avg = graph
#? meter: instance:train.py:Meter .value = graph
import torch

ema = 0
clean = 0.0
avg = None
cache = {}


class Runner:
    def __init__(self, cell):
        self.cell = cell
        self.hidden = None
        self.state = (None, None)

    def step(self, x):
        out, self.hidden = self.cell(x, self.hidden)  # <- hidden
        state = self.cell(x, self.state)  # <- state
        self.state = state  # <- state
        return out


class Meter:
    def __init__(self):
        self.value = None

    def update(self, loss):
        if self.value is None:
            self.value = loss
        else:
            self.value = 0.99 * self.value + 0.01 * loss  # <- meter


meter = Meter()


def train(model, loader):
    total = 0
    for x in loader:
        loss = model(x).mean()
        total += loss  # <- total
    return total


runner = Runner(None)
for epoch in range(10):
    out = runner.step(epoch)
    ema = 0.9 * ema + 0.1 * out  # <- ema
    new = avg + out  # <- two
    avg = new  # <- two
    clean += out.item()
    cache[epoch] = out  # <- cache
    meter.update(out)
    train(runner, [])
