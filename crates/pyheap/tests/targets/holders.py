"""Lists held in every way there is, each with a marker of its own in it: writes the markers and where each is held."""

import asyncio
import collections
import contextvars
import functools
import json
import sys
import threading


class Big:
    """What is held: easy to find by its type."""

    __slots__ = ("marker",)

    def __init__(self, marker):
        self.marker = marker


EXPECT = {}


def plant(marker, *words):
    EXPECT[marker] = words
    return Big(marker)


module_global = plant("module global", "module __main__", "module_global")


class Trainer:
    class_attribute = plant("class attribute", "module __main__", "Trainer", ".class_attribute")

    def __init__(self):
        self.attribute = plant("instance attribute", "module __main__", "trainer", ".attribute")
        self.hooks = collections.OrderedDict()

    def method(self):
        return self


trainer = Trainer()
trainer.hooks[7] = lambda value, kept=plant("registered hook", "module __main__", "trainer", ".hooks", "[7]", "default kept"): kept


class Slots:
    __slots__ = ("slot",)


slots = Slots()
slots.slot = plant("slots", "module __main__", "slots", ".slot")

a_list = [None, plant("list", "module __main__", "a_list", "[1]")]
a_tuple = (plant("tuple", "module __main__", "a_tuple", "[0]"),)
a_set = {plant("set", "module __main__", "a_set", "item")}
a_dict = {"key": plant("dict value", "module __main__", "a_dict", "['key']")}
a_default = collections.defaultdict(list)
a_default[3].append(plant("defaultdict", "module __main__", "a_default", "[3]", "[0]"))
an_ordered = collections.OrderedDict(a=plant("OrderedDict", "module __main__", "an_ordered", "['a']"))


class Dict(dict):
    pass


class List(list):
    pass


class Int(int):
    pass


class Tuple(tuple):
    pass


sub_dict = Dict()
sub_dict.extra = plant("dict subclass", "module __main__", "sub_dict", ".extra")
sub_list = List()
sub_list.extra = plant("list subclass", "module __main__", "sub_list", ".extra")
sub_int = Int(10**20)
sub_int.extra = plant("int subclass", "module __main__", "sub_int", ".extra")
sub_tuple = Tuple((1, 2, 3))
sub_tuple.extra = plant("tuple subclass", "module __main__", "sub_tuple", ".extra")

a_deque = collections.deque(range(200))
a_deque.append(plant("deque", "module __main__", "a_deque", "[200]"))


def make_closure():
    captured = plant("closure", "module __main__", "closure", "closure captured")
    return lambda: captured


closure = make_closure()


def with_default(first, second=plant("default argument", "module __main__", "with_default", "default second")):
    return second


def with_keyword(*, third=plant("keyword default", "module __main__", "with_keyword", "default third")):
    return third


def produce():
    local = plant("generator local", "module __main__", "generator", "local: Big")
    yield 1
    yield local


generator = produce()
next(generator)


class Wait:
    def __await__(self):
        yield self


async def work():
    waiting = plant("coroutine local", "module __main__", "coroutine", "waiting: Big")
    await Wait()
    return waiting


coroutine = work()
coroutine.send(None)

ready = threading.Event()
never = threading.Event()


def other_thread():
    in_thread = plant("thread local", "frame other_thread()", "in_thread")
    ready.set()
    never.wait()
    return in_thread


threading.Thread(target=other_thread, daemon=True).start()
ready.wait()


def fail():
    in_traceback = plant("traceback", "module __main__", "error", "in_traceback")
    raise ValueError(in_traceback.marker)


try:
    fail()
except ValueError as caught:
    error = caught

partial = functools.partial(with_default, plant("partial", "module __main__", "partial"))


class Bound:
    def method(self):
        return self


bound_owner = Bound()
bound_owner.inner = plant("bound method", "module __main__", "bound", ".inner")
bound = bound_owner.method
del bound_owner

iterated = [plant("iterator", "module __main__", "iterator")]
iterator = iter(iterated)
del iterated


@functools.lru_cache(maxsize=None)
def remember(n):
    return plant("lru_cache", "module __main__", "remember")


remember(1)


context = contextvars.ContextVar("context")
context.set(plant("context variable", "module __main__", "context", "get()"))


class Locals(threading.local):
    pass


thread_local = threading.local()
thread_local.buffer = plant("thread local", "module __main__", "thread_local", ".buffer")
derived_local = Locals()
derived_local.buffer = plant("thread local of a class", "module __main__", "derived_local", ".buffer")


registry = {"rows": [[plant("in a frame of our marks", "module __main__", "registry")]]}
marks = {}
exec(compile("def wait(held, read):\n    read()\n", "/elsewhere/_lowtide/hooks.py", "exec"), marks)


def main():
    frame_local = plant("frame local", "frame main()", "frame_local")
    in_loop = None
    for in_loop in [plant("list in use", "frame main()")]:
        sys.stdout.write(json.dumps({"expect": EXPECT, "version": sys.version.split()[0]}) + "\n")
        sys.stdout.flush()
        in_loop = None
        marks["wait"](registry["rows"][0][0], sys.stdin.read)
    return frame_local, in_loop


main()
