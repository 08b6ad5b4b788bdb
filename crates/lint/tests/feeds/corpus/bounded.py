#? ring: module:train.py ring = deque
#? cleared: instance:train.py:Loop .outputs = list
#? reset: instance:train.py:Loop .scores = list
#? lru: instance:train.py:Loop .cache = OrderedDict
#? guard: instance:train.py:Loop .buffer = list
#? cut: instance:train.py:Loop .recent = list
#? mod: instance:train.py:Loop .slots = dict
#? sometimes: instance:train.py:Loop .maybe = list
#? fixed: instance:train.py:Loop .last = dict
#? deleted: instance:train.py:Loop .gone = list
#? trimmed: instance:train.py:Loop .trimmed = list
#? flagged: instance:train.py:Loop .flagged = list
#? nested: instance:train.py:Loop .nested = list
#? optional: instance:train.py:Loop .optional = list
#? chosen: instance:train.py:Loop .chosen = list
#? parts: instance:train.py:Loop .parts = dict
#? texts: instance:train.py:Loop .texts = dict
#? named: instance:train.py:Loop .named = dict
#? unbounded: module:train.py endless = deque
from collections import OrderedDict, deque

ring = deque(maxlen=100)
endless = deque(maxlen=None)
LIMIT = 10


class Loop:
    def __init__(self):
        self.outputs = []
        self.scores = []
        self.cache = OrderedDict()
        self.buffer = []
        self.recent = []
        self.slots = {}
        self.maybe = []
        self.last = {}
        self.gone = []
        self.trimmed = []
        self.flagged, self.nested, self.optional, self.chosen = [], [], [], []
        self.parts, self.texts, self.named = {}, {}, {}

    def step(self, i, x):
        ring.append(x)  # <- ring bounded
        endless.append(x)  # <- unbounded
        self.outputs.append(x)  # <- cleared bounded
        self.scores.append(x)  # <- reset bounded
        self.cache[i] = x  # <- lru bounded
        if len(self.cache) > 10:
            self.cache.popitem(last=False)
        if len(self.buffer) < 50:
            self.buffer.append(x)  # <- guard bounded
        self.recent.append(x)  # <- cut bounded
        self.recent = self.recent[-10:]
        self.slots[i % 5] = x  # <- mod bounded
        self.maybe.append(x)  # <- sometimes maybe
        self.last["x"] = x  # <- fixed bounded
        for part in ("encoder", "head"):
            self.parts[part + "_loss"] = x  # <- parts bounded
            self.texts[f"{part}/loss"] = x  # <- texts bounded
            self.named[f"{part}/{i}"] = x  # <- named
        self.gone.append(x)  # <- deleted bounded
        self.trimmed.append(x)  # <- trimmed bounded
        while len(self.trimmed) > 3:
            self.trimmed.pop(0)

        self.flagged.append(x)  # <- flagged maybe
        if self.last and len(self.flagged) > 3:
            self.flagged.pop(0)
        self.nested.append(x)  # <- nested maybe
        if self.last:
            if len(self.nested) > 3:
                self.nested.pop(0)
        self.optional.append(x)  # <- optional bounded
        if LIMIT is not None and len(self.optional) > LIMIT:
            self.optional.pop(0)
        if self.last:
            self.chosen.append(x)  # <- chosen bounded
            if len(self.chosen) > 3:
                self.chosen.pop(0)

    def epoch_end(self, verbose):
        self.outputs.clear()
        self.scores = []
        del self.gone[:]
        if verbose:
            self.maybe.clear()


loop = Loop()
for epoch in range(3):
    for i in range(10):
        loop.step(i, i)
    loop.epoch_end(False)
