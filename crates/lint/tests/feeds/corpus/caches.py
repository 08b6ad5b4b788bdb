#? method: lru:train.py:Model.embed = dict
#? limited: lru:train.py:tokenize = dict
#? plain: lru:train.py:load = dict
#? settings: lru:train.py:settings = dict
#? wrapped: lru:train.py:slow = dict
#? hand: instance:train.py:Store .cache = dict
#? memo: module:train.py _memo = dict
#? table: lru:train.py:table = dict
#? mixed: lru:train.py:mixed = dict
import functools
from functools import cache, lru_cache

_memo = {}


class Model:
    @lru_cache(maxsize=None)  # <- method
    def embed(self, x):
        return x


@functools.lru_cache(maxsize=1000)  # <- limited bounded
def tokenize(text):
    return text.split()


@cache  # <- plain
def load(path):
    return open(path).read()


@cache  # <- settings bounded
def settings():
    return dict(open("settings"))


def slow(x):
    return x


fast = lru_cache(None)(slow)  # <- wrapped


class Store:
    def __init__(self):
        self.cache = {}

    def get(self, key):
        try:
            return self.cache[key]
        except KeyError:
            self.cache[key] = value = load(key)  # <- hand
            return value


def memoized(x):
    if x in _memo:
        return _memo[x]
    return _memo.setdefault(x, slow(x))  # <- memo


@cache  # <- table bounded
def table(length, kind):
    return [length] * 10


@cache  # <- mixed
def mixed(length):
    return [length] * 10


def forward(x, step):
    return table(x.shape[1], "sin"), table(x.size(0), kind="cos"), mixed(x.shape[1]), mixed(step)


model, store = Model(), Store()
for i in range(10):
    model.embed(i)
    tokenize(str(i))
    store.get(i)
    memoized(i)
    fast(i)
