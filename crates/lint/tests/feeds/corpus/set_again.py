#? spans: module:train.py spans [] = value
#? trail: module:train.py trail [] = value
#? state: module:train.py state [] = value
#? table: frame:train.py:main table .columns@train.py:Table ['out'] = value
#? last: frame:train.py:main table .last@train.py:Table ['out'] = value
import contextvars

import numpy as np

spans = contextvars.ContextVar("spans", default=())
trail = contextvars.ContextVar("trail")
state = contextvars.ContextVar("state")


class Table:
    def __init__(self):
        self.columns = {}
        self.last = {}

    def append(self, **rows):
        for name, values in rows.items():
            old = self.columns.get(name)
            self.columns[name] = values if old is None else np.concatenate([old, values])  # <- table
            before = self.last.get(name)
            before = values[:0]
            self.last[name] = np.concatenate([before, values])  # <- last


def main():
    table = Table()
    for x in data():
        spans.set(spans.get() + (x,))  # <- spans
        past = trail.get()
        trail.set([*past, x])  # <- trail
        state.set((x, 1))
        table.append(out=x)


main()
