from collections import defaultdict, deque


class Smoothed:
    """The last values and the mean of all."""

    def __init__(self, window=20):
        self.recent = deque(maxlen=window)
        self.total = 0.0
        self.count = 0

    def update(self, value):
        self.recent.append(value)
        self.count += 1
        self.total += value

    @property
    def mean(self):
        return self.total / max(self.count, 1)


class Meter:
    def __init__(self):
        self.meters = defaultdict(Smoothed)

    def update(self, figures):
        for key, value in figures.items():
            self.meters[key].update(value)

    def text(self):
        return ", ".join(f"{key}: {float(meter.mean):.4f}" for key, meter in self.meters.items())
