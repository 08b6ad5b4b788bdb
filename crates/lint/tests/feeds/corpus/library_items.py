#? plans: module:train.py plans .data@lib/python3.11/weakdict.py:WeakKeyDictionary = dict
#? other: module:train.py other .data@lib/python3.11/weakdict.py:WeakKeyDictionary = dict
#? boxes: instance:lib/python3.11/mailing.py:Box .letters = list
#? posts: instance:lib/python3.11/mailing.py:Post .letters = list
import mailing
import weakdict

plans = weakdict.WeakKeyDictionary()
other = weakdict.WeakKeyDictionary()


def plan(graph):
    if graph not in plans:
        plans[graph] = Plan(graph)
    return plans[graph]


def look(graph):
    other.setdefault(graph, Plan(graph))


mailing.deliver_to(mailing.Box(10**9))
post = mailing.Post()
for graph in graphs():
    post.send(graph)
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
# file: lib/python3.11/mailing.py
class Box:
    def __init__(self, room):
        self.letters = []

    def emit(self, letter):
        self.letters.append(letter)  # <- boxes


class Post:
    def __init__(self):
        self.letters = []

    def send(self, letter):
        self.letters.append(letter)  # <- posts
