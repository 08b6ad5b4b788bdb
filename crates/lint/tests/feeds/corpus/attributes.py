#? losses: instance:train.py:Trainer .losses = list
#? shared: class:train.py:Trainer shared = dict
#? frames: module:train.py t .frames@train.py:Trainer = list
#? slots: instance:train.py:Packed .rows = list
#? scores: instance:train.py:Trainer .scores = dict
class Packed:
    __slots__ = ("rows",)

    def __init__(self):
        self.rows = []

    def put(self, row):
        self.rows.insert(0, row)  # <- slots


class Trainer:
    shared = {}

    def __init__(self, packed):
        self.losses: list = []
        self.frames, self.scores = [], {"train": [], "val": []}
        self.packed = packed

    def step(self, loss, batch):
        self.losses.append(loss)  # <- losses
        self.shared[loss] = batch  # <- shared
        Trainer.shared.update({loss: batch})  # <- shared
        self.frames += batch  # <- frames
        self.scores.setdefault(loss, [])  # <- scores
        self.packed.put(batch)

    def other(self):
        losses = []
        losses.append(1)
        return losses


class Unrelated:
    def __init__(self):
        self.losses = []
        self.losses.append(2)


t = Trainer(Packed())
for i in range(10):
    t.step(i, [i])
    t.other()
