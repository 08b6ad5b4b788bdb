# Default arguments that are changed.
from collections import defaultdict


def collect(item, into=[]):
    into.append(item)  # LT308
    return into


def tally(name, counts=defaultdict(int)):
    counts[name] += 1
    return counts


def remember(key, value, seen={}):
    seen[key] = value  # LT308
    return len(seen)


class Log:
    def write(self, line, lines=list()):
        lines.extend([line])  # LT308

    def visit(self, node, path=set()):
        path.add(node)  # LT308
        return node in path


def chain(x, *, history=[]):
    history += [x]  # LT308
    return history


# Harmless: read only, replaced before, or few keys.
def read(x, options=[]):
    return x in options


def copied(x, into=[]):
    into = list(into)
    into.append(x)
    return into


def fixed(x, settings={}):
    settings["width"] = x
    settings.update(depth=1)
    return settings


def none(x, into=None):
    into = into or []
    into.append(x)
    return into


def window(x, last=[]):
    last.append(x)
    if len(last) > 10:
        last.pop(0)


def plain(x, y=(), z=3):
    return x, y, z


def options(x, settings=dict()):
    settings.update(dict(depth=1, width=x))
    return settings


# A hint: it is looked up, so it is meant as a cache.
def filter_of(rate, wanted, made={}):
    try:
        return made[rate]
    except KeyError:
        made[rate] = (rate, wanted)  # LT308 hint
        return made[rate]
