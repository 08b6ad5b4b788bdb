#? images: instance:train.py:Images .images = list
#? helped: instance:train.py:Helped .rows = list
#? listed: frame:train.py:load found = list
#? used: instance:train.py:Used .seen = list
#? polled: instance:train.py:Polled .seen = list
#? streamed: instance:train.py:Streamed .seen = list
#? drained: instance:train.py:Drained .seen = list
#? rounds: instance:train.py:Rounds .kept = list
#? embedded: instance:train.py:Embedded .rows = list
#? predicted: instance:train.py:Predicted .rows = list
#? given: instance:train.py:Given .rows = list
#? plain: instance:train.py:Plain .rows = list
#? timed: instance:train.py:Timed .rows = list
#? hooked: instance:train.py:Hooked .seen = list
#? lambdas: instance:train.py:Lambdas .seen = list
#? classwide: instance:train.py:Classwide .rows = list
#? other: instance:train.py:Other .rows = list
#? listening: instance:train.py:Listening .rows = list
#? training: instance:train.py:Training .rows = list
#? again: instance:train.py:Again .rows = list
#? shared: module:train.py SHARED = list
import itertools
import threading

import torch

SHARED = []


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

    def __iter__(self):
        return iter(self.rows)

    def _read(self, files):
        for file in files:
            for line in open(file):
                self.rows.append(line.split())  # <- helped


def load(paths):
    found = []
    for path in paths:
        found.append(decode(path))  # <- listed
    return found


class Used:
    def __init__(self, n):
        self.seen = []
        for i in range(n):
            self.seen.append(decode(i))  # <- used bounded

    def __getitem__(self, i):
        self.seen.append(decode(i))  # <- used
        return self.seen[-1]


class Polled:
    def __init__(self, source):
        self.seen = []
        while source.is_open():
            self.seen.append(decode(source))  # <- polled

    def __iter__(self):
        return iter(self.seen)


class Streamed:
    def __init__(self):
        self.seen = []
        for n in enumerate(itertools.count()):
            self.seen.append(decode(n))  # <- streamed

    def __iter__(self):
        return iter(self.seen)


class Drained:
    def __init__(self, queue):
        self.seen = []
        for each in iter(queue.get, None):
            self.seen.append(decode(each))  # <- drained

    def __iter__(self):
        return iter(self.seen)


class Rounds:
    def __init__(self, n):
        self.kept = []
        for i in range(n):
            self.kept.append(decode(i))  # <- rounds

    def __getitem__(self, i):
        return self.kept[i]


class Embedded:
    def __init__(self, encoder, data):
        self.encoder, self.rows = encoder, []
        for x in data:
            self.rows.append(self.encoder(x))  # <- embedded

    def __getitem__(self, i):
        return self.rows[i]


class Predicted:
    def __init__(self, data):
        self.rows = []
        for x in data:
            self.rows.append(MODEL.predict(x))  # <- predicted

    def __getitem__(self, i):
        return self.rows[i]


class Given:
    def __init__(self, model, data):
        self.rows = []
        for x in data:
            self.rows.append(model(x))  # <- given

    def __getitem__(self, i):
        return self.rows[i]


class Plain:
    def __init__(self, data):
        self.rows = []
        for x in data:
            self.rows.append(decode(x))  # <- plain


class Timed:
    def __init__(self):
        self.rows = []
        self._sample()

    def __iter__(self):
        return iter(self.rows)

    def _sample(self):
        for sensor in (1, 2):
            self.rows.append(decode(sensor))  # <- timed
        threading.Timer(1, self._sample).start()


class Hooked:
    def __init__(self, net):
        self.seen = []

        def hook(module, inputs, output):
            self.seen.append(output.detach())  # <- hooked

        net.register_forward_hook(hook)

    def __getitem__(self, i):
        return self.seen[i]


class Lambdas:
    def __init__(self, net):
        self.seen = []
        net.register_forward_hook(lambda m, i, o: self.seen.append(o))  # <- lambdas

    def __iter__(self):
        return iter(self.seen)


class Classwide:
    rows = []

    def __init__(self, paths):
        for path in paths:
            self.rows.append(decode(path))  # <- classwide

    def __getitem__(self, i):
        return self.rows[i]


class Other:
    def __init__(self, rows, paths):
        self.rows = rows
        for path in paths:
            self.rows.append(decode(path))  # <- other

    def __getitem__(self, i):
        return self.rows[i]


class Listening:
    def __init__(self, source):
        self.rows = []
        for event in source.listen():
            self.rows.append(decode(event))  # <- listening

    def __getitem__(self, i):
        return self.rows[i]


class Training:
    def __init__(self, net, data):
        self.rows = []
        for x in data:
            self.rows.append(train_step(net, x))  # <- training

    def __getitem__(self, i):
        return self.rows[i]


class Again:
    def __init__(self, data):
        self.rows = []
        for x in data:
            self.rows.append(decode(x))  # <- again bounded

    def __setstate__(self, state):
        for x in state:
            self.rows.append(decode(x))  # <- again

    def __getitem__(self, i):
        return self.rows[i]


class Shared:
    def __init__(self, data):
        for x in data:
            SHARED.append(decode(x))  # <- shared

    def __getitem__(self, i):
        return SHARED[i]


def main():
    images = Images(range(100))
    Helped(["a", "b"]), Polled(None), Streamed(), Drained(None), Plain(images), Timed(), Shared(images)
    Embedded(None, images), Predicted(images), Given(None, images)
    used = Used(9)
    Hooked(None), Lambdas(None), Classwide(images), Other([], images), Listening(None), Training(None, images), Again(images)
    for epoch in range(10):
        Rounds(epoch)
        used[epoch]
    load(images)


main()
