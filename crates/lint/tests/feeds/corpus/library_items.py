#? plans: module:train.py plans .data@lib/python3.11/weakdict.py:WeakKeyDictionary = dict
#? other: module:train.py other .data@lib/python3.11/weakdict.py:WeakKeyDictionary = dict
import weakdict

plans = weakdict.WeakKeyDictionary()
other = weakdict.WeakKeyDictionary()


def plan(graph):
    if graph not in plans:
        plans[graph] = Plan(graph)
    return plans[graph]


def look(graph):
    other.setdefault(graph, Plan(graph))


for graph in graphs():
    plan(graph)
    look(graph)
# file: lib/python3.11/weakdict.py
class WeakKeyDictionary:
    def __init__(self):
        self.data = {}

    def __setitem__(self, key, value):
        self.data[ref(key)] = value  # <- plans # <- other

    def setdefault(self, key, default=None):
        return self.data.setdefault(ref(key), default)  # <- plans # <- other
