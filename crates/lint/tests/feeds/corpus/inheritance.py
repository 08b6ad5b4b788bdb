#? left: instance:train.py:Left .kept = list
#? right: instance:train.py:Right .kept = list
#? up: instance:train.py:Top .kept = list
#? prop: instance:train.py:Left ._rows = list
class Top:
    def __init__(self):
        self.kept = []

    def base_step(self, x):
        self.kept.append(x)  # <- left # <- right # <- up


class Left(Top):
    def __init__(self):
        super().__init__()
        self._rows = []

    @property
    def rows(self):
        return self._rows

    def step(self, x):
        self.kept.extend(x)  # <- left
        self.rows.append(x)  # <- prop


class Right(Top):
    def step(self, x):
        super().base_step(x)
        self.kept.insert(0, x)  # <- right


a, b = Left(), Right()
while True:
    a.step(1)
    a.base_step(1)
    b.step(2)
