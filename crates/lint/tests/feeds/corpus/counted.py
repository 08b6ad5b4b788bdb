#? episodes: instance:train.py:Replay .episodes = deque
#? forgetful: instance:train.py:Replay .forgetful = list
#? images: instance:train.py:Images .images = dict
#? lately: instance:train.py:Images .lately = dict
#? evicted: instance:train.py:Bytes .blobs = OrderedDict
#? each: instance:train.py:Grids .grids = list
#? other: instance:train.py:Grids .other = list
from collections import OrderedDict, deque


class Replay:
    """Limited by transitions in all, which the length does not tell."""

    def __init__(self, room):
        self.room = room
        self.episodes, self.forgetful = deque(), []
        self.total = self.seen = 0

    def add(self, episode):
        self.episodes.append(episode)  # <- episodes bounded
        self.total += len(episode)
        while self.total > self.room:
            self.total -= len(self.episodes.popleft())
        # What is compared is not counted down: it is met at times, or never.
        self.forgetful.append(episode)  # <- forgetful maybe
        self.seen += 1
        if self.seen > self.room * self.room:
            self.forgetful.pop()


class Images:
    def __init__(self, room):
        self.room, self.held, self.new = room, 0, 0
        self.images, self.lately = {}, {}

    def __getitem__(self, name):
        image = open(name, "rb").read()
        if self.held + len(image) <= self.room:
            self.images[name] = image  # <- images bounded
            self.held += len(image)
        # Counted anew, and nothing is let go of then.
        if self.new < 10:
            self.lately[name] = image  # <- lately
            self.new += 1
        return image

    def begin(self):
        self.new = 0


class Bytes:
    def __init__(self, room):
        self.blobs, self.size, self.room = OrderedDict(), 0, room

    def put(self, key, blob):
        self.blobs[key] = blob  # <- evicted bounded
        self.size += len(blob)
        self._evict()

    def _evict(self):
        while self.blobs and self.size > self.room:
            _, blob = self.blobs.popitem(last=False)
            self.size -= len(blob)


class Grids:
    def __init__(self):
        self.grids, self.other = [], []

    def validate(self, batches):
        # A few of each validation, and of all of them more and more.
        shown = 0
        for batch in batches:
            if shown < 8:
                self.grids.append(batch)  # <- each
                shown += 1

    def test(self, batches, limit):
        shown = 0
        for batch in batches:
            if limit < shown:
                self.other.append(batch)  # <- other
                shown += 1


replay, images, blobs, grids = Replay(100), Images(100), Bytes(100), Grids()
for epoch in range(100):
    images.begin()
    grids.validate(range(100))
    grids.test(range(100), 3)
    for step in range(100):
        replay.add([step])
        images[str(step)]
        blobs.put(str(step), b"1")
