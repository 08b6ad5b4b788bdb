#? loss: module:train.py hist ['loss'] = list
#? lr: frame:train.py:main local ['lr'] = list
#? second: module:train.py rows [1] = list
#? context: module:train.py trace [] = list
import contextvars
from collections import defaultdict

hist = defaultdict(list)
rows = {1: [], 2: []}
trace = contextvars.ContextVar("trace")


def record(x):
    trace.get().append(x)  # <- context


def main():
    local = {"lr": [], "loss": []}
    trace.set([])
    for i in range(100):
        hist["lr"].append(0.1)
        hist["loss"].append(i)  # <- loss
        hist.setdefault("accuracy", []).append(i)
        for name in ("loss", "accuracy"):
            hist[name].append(i)  # <- loss
        local["loss"].append(i)
        local["lr"].append(i)  # <- lr
        rows[2].append(i)
        rows[1].append(i)  # <- second
        record(i)


main()
