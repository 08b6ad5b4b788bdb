# Caches on methods.
import enum
import functools
from functools import cache, lru_cache

from torch import nn


class Corpus:
    def __init__(self, rows):
        self.rows = rows

    @lru_cache(maxsize=None)  # LT306
    def vector(self, at):
        return self.rows[at] * 2

    @functools.cache  # LT306
    def total(self):
        return sum(self.rows)

    @property
    @cache  # LT306
    def mean(self):
        return self.total() / len(self.rows)

    @functools.lru_cache(None)  # LT306
    def span(self, start, stop):
        return self.rows[start:stop]

    @staticmethod
    @lru_cache(maxsize=None)
    def table(n):
        return list(range(n))

    @classmethod
    @functools.cache
    def known(cls):
        return 3

    @functools.cached_property
    def spread(self):
        return max(self.rows) - min(self.rows)

    @lru_cache(maxsize=8)
    def short(self, at):
        return self.rows[at]


class Encoder(nn.Module):
    @lru_cache  # LT306
    def mask(self, n):
        return n


class Colour(enum.Enum):
    RED = 1

    @cache
    def hex(self):
        return "#f00"


@lru_cache(maxsize=None)
def free(n):
    return n * n
