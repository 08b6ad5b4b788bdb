#? m: instance:train.py:Meter .samples = list
#? other: instance:train.py:Gauge .samples = list
#? opt: instance:train.py:Meter .extra = list
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional


class Meter:
    def __init__(self):
        self.samples = []
        self.extra = []


@dataclass
class Gauge:
    samples: list = field(default_factory=list)


def build() -> Meter:
    return make()


def record(meter: Meter, gauge: "Gauge", either: Optional[Meter], x):
    meter.samples.append(x)  # <- m
    gauge.samples.append(x)  # <- other
    either.extra.append(x)  # <- opt
    build().extra.append(x)  # <- opt


class Owner:
    def __init__(self):
        self.meters = [Meter() for _ in range(3)]

    def step(self, x):
        self.meters[0].samples.append(x)  # <- m
        for meter in self.meters:
            meter.samples.append(x)  # <- m


owner = Owner()
while True:
    owner.step(1)
    record(1, 2, 3, 4)
