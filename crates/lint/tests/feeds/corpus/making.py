#? images: instance:train.py:Images .images = list
#? helped: instance:train.py:Helped .rows = list
#? listed: frame:train.py:load found = list
#? trained: frame:train.py:fit losses = list
#? tried: frame:train.py:evaluate outputs = list
#? polled: instance:train.py:Polled .seen = list
#? endless: frame:train.py:stream got = list
#? rounds: instance:train.py:Rounds .kept = list
#? trainer: instance:train.py:Trainer .history = list
#? computed: frame:train.py:computed found = list
#? embedded: instance:train.py:Embedded .rows = list
#? before: frame:train.py:main rows = list
#? each: instance:train.py:Each .parts = list
#? warm: frame:train.py:warm_up losses = list
#? after: frame:train.py:main report = list
#? shared: instance:train.py:Shared .log = list
#? forever: frame:train.py:forever kept = list
import itertools

import torch


class Images(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.images = []
        for path in paths:
            self.images.append(decode(path))  # <- images bounded

    def __getitem__(self, i):
        return self.images[i]


class Helped:
    def __init__(self, files):
        self.rows = []
        self._read(files)

    def _read(self, files):
        for file in files:
            for line in open(file):
                self.rows.append(line.split())  # <- helped bounded


def load(paths):
    found = []
    for path in paths:
        found.append(decode(path))  # <- listed bounded
    return found


def fit(model, data):
    losses = []
    for x in data:
        loss = model(x)
        loss.backward()
        losses.append(loss)  # <- trained
    return losses


def evaluate(model, data):
    outputs = []
    for x in data:
        outputs.append(model(x))  # <- tried
    return outputs


class Polled:
    def __init__(self, source):
        self.seen = []
        while source.is_open():
            self.seen.append(source.read())  # <- polled


def stream():
    got = []
    for n in itertools.count():
        got.append(decode(n))  # <- endless
    return got


class Rounds:
    def __init__(self, kept):
        self.kept = kept
        for n in range(10):
            self.kept.append(decode(n))  # <- rounds


class Trainer:
    def __init__(self, model, data):
        self.history = []
        for x in data:
            loss = model(x)
            loss.backward()
            self.history.append(loss)  # <- trainer


def forever(source):
    kept = []
    for x in source:
        kept.append(decode(x))  # <- forever


def computed(model, data):
    found = []
    for x in data:
        found.append(model(x))  # <- computed
    return found


class Embedded:
    def __init__(self, encoder, data):
        self.encoder, self.rows = encoder, []
        for x in data:
            self.rows.append(self.encoder(x))  # <- embedded


class Each:
    def __init__(self, files):
        self.parts = []
        for file in files:
            self._take(file)

    def _take(self, file):
        self.parts.append(decode(file))  # <- each bounded


class Shared:
    def __init__(self):
        self.log = []

    def _note(self, x):
        self.log.append(x)  # <- shared

    def run(self, data):
        for x in data:
            self._note(x)


def train_step(model, x):
    loss = model(x)
    loss.backward()
    return loss


def warm_up(model, data):
    losses = []
    for x in data:
        losses.append(train_step(model, x))  # <- warm
    return losses


def main():
    rows, report = [], []
    for line in open("rows.csv"):
        rows.append(line.split(","))  # <- before bounded
    Each(rows)
    warm_up(None, rows)
    Shared().run(rows)
    images, helped = Images(range(100)), Helped(["a", "b"])
    found = load(images)
    kept = []
    for epoch in range(10):
        Rounds(kept)
    fit(torch.nn.Linear(2, 2), found)
    evaluate(None, found)
    computed(torch.nn.Linear(2, 2), found)
    Embedded(None, found)
    forever(helped)
    Trainer(None, found)
    Polled(None)
    stream()
    for x in rows:
        train_step(None, x)
    for x in rows:
        report.append(x)  # <- after


main()
