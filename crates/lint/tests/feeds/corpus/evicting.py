#? helper: instance:train.py:Cache .entries = dict
#? sized: instance:train.py:Sized .blobs = dict
#? summed: instance:train.py:Summed .parts = list
#? loose: instance:train.py:Loose .entries = dict
#? kept: instance:train.py:Ring .rows = list
#? oldest: instance:train.py:Oldest .known = dict
#? ordered: instance:train.py:Oldest .order = list


class Cache:
    """What there is too much of is taken out by a helper."""

    def __init__(self, room):
        self.entries, self.room = {}, room

    def put(self, key, value):
        if len(self.entries) >= self.room:
            self._evict()
        self.entries[key] = value  # <- helper bounded

    def _evict(self):
        self.entries.pop(next(iter(self.entries)))


class Sized:
    def __init__(self, room):
        self.blobs, self.held, self.room = {}, 0, room

    def put(self, key, blob):
        self.blobs[key] = blob  # <- sized bounded
        self.held += len(blob)
        while self.held > self.room:
            self._drop_one()

    def _drop_one(self):
        key = next(iter(self.blobs))
        blob = self.blobs.pop(key)
        self.held -= len(blob)


class Summed:
    def __init__(self, room):
        self.parts, self.room = [], room

    def put(self, part):
        self.parts.append(part)  # <- summed bounded
        while sum(len(part) for part in self.parts) > self.room:
            self.parts.pop(0)


class Loose:
    """The helper is called when somebody asks for it, too: that empties nothing by itself."""

    def __init__(self):
        self.entries, self.verbose = {}, False

    def put(self, key, value):
        self.entries[key] = value  # <- loose maybe
        if self.verbose:
            self._evict()

    def _evict(self):
        self.entries.pop(next(iter(self.entries)))


class Ring:
    def __init__(self, room):
        self.rows, self.room, self.at = [], room, 0

    def put(self, row):
        if len(self.rows) < self.room:
            self.rows.append(row)  # <- kept bounded
        else:
            self.rows[self.at] = row
        self.at = (self.at + 1) % self.room


class Oldest:
    """Two containers that go together: the length of one is that of the other."""

    def __init__(self, room):
        self.known, self.order, self.room = {}, [], room

    def put(self, key, value):
        self.known[key] = value  # <- oldest bounded
        self.order.append(key)  # <- ordered bounded
        if len(self.order) > self.room:
            old = self.order.pop(0)
            del self.known[old]


cache, sized, summed, loose, ring, oldest = Cache(9), Sized(9), Summed(9), Loose(), Ring(9), Oldest(9)
for step in range(1000):
    cache.put(step, step)
    sized.put(step, b"x")
    summed.put([step])
    loose.put(step, step)
    ring.put(step)
    oldest.put(step, step)
