#? history: frame:train.py:main history = list
#? per_class: frame:train.py:main per_class [] = list
#? inner: frame:train.py:main.<locals>.collect kept = list
#? short: frame:train.py:evaluate outputs = list
#? last: frame:train.py:last scores = list
#? all: frame:train.py:all scores = list
#? named: frame:train.py:named scores = list
#? gen: frame:train.py:stream window = list
from collections import defaultdict


def evaluate(model, loader):
    outputs = []
    for x in loader:
        outputs.append(model(x))  # <- short maybe
    return sum(outputs)


def stream(loader):
    window = []
    for x in loader:
        window.append(x)  # <- gen maybe
        yield x


class Evaluator:
    def __init__(self):
        self.scores, self.all, self.own = [], [], []

    def last(self, model, loader):
        scores = []
        for x in loader:
            scores.append(model(x))  # <- last maybe
        self.scores = scores

    def all(self, model, loader):
        scores = []
        for x in loader:
            scores.append(model(x))  # <- all
        self.all.append(scores)


    def named(self, model, loader):
        scores = self.own
        for x in loader:
            scores.append(model(x))  # <- named


def main(model, loader):
    history, evaluator = [], Evaluator()
    per_class = defaultdict(list)

    def collect():
        kept = []
        while True:
            kept.append(next(loader))  # <- inner

    for epoch in range(100):
        for x, y in stream(loader):
            out = model(x)
            history.append(out)  # <- history
            per_class[y].append(out)  # <- per_class
        evaluate(model, loader)
        evaluator.last(model, loader)
        evaluator.all(model, loader)
        evaluator.named(model, loader)
    collect()


main(None, None)
