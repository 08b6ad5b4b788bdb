#? h: instance:train.py:Recorder .history = list
#? chosen: instance:train.py:Recorder .by_kind [] = list
#? both: module:train.py left = list
#? copied: module:train.py source = list
#? bound: module:train.py rows = list
#? walrus: module:train.py wal = list
class Recorder:
    def __init__(self):
        self.history = []
        self.by_kind = {"a": [], "b": []}

    def write(self, x):
        h = self.history
        g = h
        g.append(x)  # <- h

    def write_kind(self, kind, x):
        chosen = self.by_kind.get(kind)
        chosen.extend([x])  # <- chosen
        for items in self.by_kind.values():
            items.append(x)  # <- chosen
        for name, items in self.by_kind.items():
            items.insert(0, name)  # <- chosen
        self.by_kind.setdefault(kind, []).append(x)  # <- chosen


left = right = []
source = []
rows = []
wal = None
recorder = Recorder()
add = rows.append
for i in range(10):
    recorder.write(i)
    recorder.write_kind("a", i)
    right.append(i)  # <- both
    copy = list(source)
    copy.append(i)
    source.extend(copy[:1])  # <- copied
    add(i)  # <- bound
    if (w := wal) is not None:
        w.append(i)  # <- walrus
