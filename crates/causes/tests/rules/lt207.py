# Exceptions.
import sys

from torch import nn

FAILED = []


def guarded(net: nn.Module, x):
    try:
        return net(x)
    except RuntimeError as error:
        FAILED.append(error)  # LT207
        FAILED.append(str(error))
        FAILED.append(type(error))


def again(net: nn.Module, xs):
    for x in xs:
        guarded(net, x)
        by_type(net, x)


def by_type(net: nn.Module, x):
    try:
        net(x)
    except (ValueError, KeyError) as problem:
        BY_TYPE.setdefault(x, problem)  # LT207


BY_TYPE = {}


class Trainer:
    def __init__(self, net: nn.Module):
        self.net = net
        self.errors = []
        self.by_step = {}
        self.last = None
        self.drained = []

    def fit(self, xs):
        for at, x in enumerate(xs):
            self.step(at, x)

    def step(self, at, x):
        try:
            self.net(x).sum().backward()
        except RuntimeError as e:
            self.errors.append((at, e))  # LT207
            self.by_step[at] = e  # LT207
            self.last = e  # LT207
            self.drained.append(e)
            self.errors.append(repr(e))

    def careful(self, xs):
        for x in xs:
            try:
                self.net(x)
            except RuntimeError as e:
                self.word = str(e)
                self.bare = e.with_traceback(None)

    def shown(self, xs):
        for x in xs:
            self.current = None
            try:
                self.net(x)
            except RuntimeError as e:
                self.current = e
            print(self.current)

    def stopped(self, xs):
        for x in xs:
            try:
                self.net(x)
            except RuntimeError as e:
                self.fatal = e
                break

    def report(self):
        while self.drained:
            print(self.drained.pop())


def train(net: nn.Module, xs, epochs):
    bad = []
    for _ in range(epochs):
        for x in xs:
            try:
                net(x).sum().backward()
            except RuntimeError as oom:
                bad.append({"x": 1, "why": oom})  # LT207
    return bad


def first_that_works(ways):
    problems = []
    for way in ways:
        try:
            return way()
        except OSError as error:
            problems.append(error)
    raise ExceptionGroup("none works", problems)


def one_epoch(net: nn.Module, loader, optimizer):
    problems, texts, last = [], [], None
    for x in loader:
        try:
            net(x).sum().backward()
        except RuntimeError as error:
            problems.append(error)  # LT207
            texts.append(repr(error))
            last = error  # LT207
        optimizer.step()
    return problems, texts, last


def until_it_works(net: nn.Module, loader, optimizer):
    for x in loader:
        last = None
        try:
            net(x).sum().backward()
        except RuntimeError as error:
            last = error
        print(last)
        optimizer.step()


class Patient:
    last_problem = None

    def __init__(self):
        self.problems = {}

    def attempt(self, net: nn.Module, number, x):
        try:
            return net(x)
        except RuntimeError as error:
            self.last_problem = error  # LT207
            self.problems[number] = sys.exc_info()  # LT207


def patiently(net: nn.Module, loader):
    patient = Patient()
    for number, x in enumerate(loader):
        patient.attempt(net, number, x)
