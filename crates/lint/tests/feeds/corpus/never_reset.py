#? preds: instance:train.py:Metric .preds = list
#? kept: instance:train.py:Loss .values = list
#? watched: instance:train.py:Watched .seen = list
#? run: module:train.py run .history@lib/python3.11/site-packages/wandx/run.py:Run = list
import wandx


class Metric:
    def __init__(self):
        self.preds = []

    def reset(self):
        self.preds = []

    def update(self, p):
        self.preds.append(p)  # <- preds


class Loss:
    def __init__(self):
        self.values = []

    def restart(self):
        self.values = []

    def update(self, p):
        self.values.append(p)  # <- kept bounded


class Watched(wandx.Callback):
    def __init__(self):
        self.seen = []

    def reset(self):
        self.seen = []

    def update(self, p):
        self.seen.append(p)  # <- watched bounded


run, metric, loss, watched = wandx.init(), Metric(), Loss(), Watched()
for step in range(10):
    metric.update(step)
    watched.update(step)
    loss.update(step)
    if step % 5 == 0:
        loss.restart()
    run.log(step)
# file: lib/python3.11/site-packages/wandx/run.py
class Run:
    def __init__(self):
        self.history = []
        self.parts = []

    def log(self, data):
        for part in self.parts:
            part.reset()
        self.history.append(data)  # <- run
