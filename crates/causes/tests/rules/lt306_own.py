# Decorators that remember, of one's own and of cachetools.
import functools
import weakref

import cachetools
from cachetools import LRUCache, cached


def remember(function):
    results = {}

    @functools.wraps(function)
    def inner(*args):
        if args not in results:
            results[args] = function(*args)
        return results[args]

    return inner


def remember_all(limit=None):
    def decorate(function):
        store = {}

        def inner(*args, **kwargs):
            key = (args, frozenset(kwargs.items()))
            if key in store:
                return store[key]
            store[key] = function(*args, **kwargs)
            return store[key]

        return inner

    return decorate


class Once:
    def __init__(self, function):
        self.function = function
        self.known = {}

    def __get__(self, instance, owner):
        return functools.partial(self, instance)

    def __call__(self, *args):
        if args not in self.known:
            self.known[args] = self.function(*args)
        return self.known[args]


def by_instance(function):
    made = {}

    def inner(self, size):
        if (self, size) not in made:
            made[self, size] = function(self, size)
        return made[self, size]

    return inner


def by_text(function):
    made = {}

    def inner(*args):
        key = str(args[1:])
        if key not in made:
            made[key] = function(*args)
        return made[key]

    return inner


def few(function):
    made = {}

    def inner(*args):
        if len(made) > 100:
            made.clear()
        made[args] = function(*args)
        return made[args]

    return inner


def weak(function):
    made = weakref.WeakKeyDictionary()

    def inner(self):
        if self not in made:
            made[self] = function(self)
        return made[self]

    return inner


def timed(function):
    times = {}

    def inner(*args):
        times[function.__name__] = 1
        return function(*args)

    return inner


def by_device(function):
    versions = {}

    def version(device):
        if device not in versions:
            versions[device] = functools.partial(function, device=device)
        return versions[device]

    def inner(*args):
        return version("cpu")(*args)

    return inner


class Encoder:
    @remember  # LT306
    def mask(self, length):
        return [0] * length

    @remember_all(limit=None)  # LT306
    def positions(self, length, scale=1):
        return [scale] * length

    @Once  # LT306
    def table(self, length):
        return list(range(length))

    @by_instance  # LT306
    def grid(self, size):
        return [[0] * size] * size

    @cachetools.cached(cache={})  # LT306
    def words(self, language):
        return [language]

    @cached({}, key=lambda self, name: name)
    def by_name(self, name):
        return name

    @cached(LRUCache(maxsize=8))
    def last(self, name):
        return name

    @by_text
    def texts(self, name):
        return name

    @few
    def some(self, name):
        return name

    @weak
    def own(self):
        return []

    @by_device
    def placed(self, device):
        return device

    @timed
    def slow(self):
        return []

    @staticmethod
    @remember
    def fixed(length):
        return [1] * length


@remember
def plain(length):
    return [2] * length
