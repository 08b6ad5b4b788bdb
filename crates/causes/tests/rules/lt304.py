# Hooks. A line that must be found ends in its id; nothing else may be.
import torch
from torch import nn


def tap(module, inputs, output):
    pass


def probe(net: nn.Module, stream):
    for item in stream:
        net.register_forward_hook(tap)  # LT304
        net(item)


def probe_part(net, stream):
    tail = net.blocks[-1]
    for item in stream:
        tail.register_forward_pre_hook(tap)  # LT304
        net(item)


def probe_all(net: nn.Module, rounds):
    for _ in range(rounds):
        for part in net.modules():
            part.register_full_backward_hook(tap)  # LT304
        net(rounds)


# Harmless: hooks of several kinds, once each.
def several(net: nn.Module, kinds):
    for kind in kinds:
        net.register_forward_hook(kind)


class Watcher(nn.Module):
    def __init__(self, core):
        super().__init__()
        self.core = core
        self.core.register_forward_hook(tap)
        self.marks = []

    def forward(self, x):
        self.core.register_forward_hook(tap)  # LT304
        return self.core(x)

    def mark(self):
        for part in self.core.children():
            part.register_forward_hook(tap)


def attach(net):
    net.register_full_backward_hook(tap)  # LT304


def session(net, days):
    for day in days:
        attach(net)
        net(day)


def kept_handles(net, days):
    mine = []
    while days:
        mine.append(net.head.register_forward_hook(tap))
    return mine


# Harmless: once for each module.
def once(net):
    for part in net.modules():
        part.register_forward_hook(tap)
    for name in ["a", "b"]:
        getattr(net, name).register_forward_hook(tap)
    for at in range(4):
        net.blocks[at].register_forward_hook(tap)
    net.apply(attach_leaf)


def attach_leaf(leaf):
    leaf.register_forward_hook(tap)


# Harmless: the handle is removed.
def with_handle(net, stream):
    for item in stream:
        handle = net.register_forward_hook(tap)
        net(item)
        handle.remove()


# Harmless: a new model each time.
def fresh(widths, stream):
    for width in widths:
        net = nn.Linear(width, 1)
        net.register_forward_hook(tap)
        net(stream)


# Harmless: hooks of tensors go with them.
def on_tensors(net, stream):
    for item in stream:
        out = net(item)
        out.register_hook(print)
        out.sum().backward()


# Harmless: a flag guards it.
class Lazy(nn.Module):
    def __init__(self, core):
        super().__init__()
        self.core = core
        self.hooked = False

    def forward(self, x):
        if not self.hooked:
            self.core.register_forward_hook(tap)
            self.hooked = True
        return self.core(x)


class Tally:
    def __init__(self, body):
        self.body = body
        self.seen = {}
        self.attach()

    def attach(self):
        for name, part in self.body.named_modules():
            if isinstance(part, nn.Linear):
                part.register_forward_hook(self.counting(name))  # LT304

    def counting(self, name):
        def count(module, inputs, output):
            self.seen[name] = self.seen.get(name, 0) + 1

        return count


def tallies(net, rounds):
    for part in range(rounds):
        tally = Tally(net)
        print(tally.seen, part)


class Grabber:
    def __init__(self, net, names):
        parts = dict(net.named_modules())
        for name in names:
            parts[name].register_forward_hook(tap)  # LT304


class OfItsOwn:
    def __init__(self, width):
        self.net = nn.Linear(width, width)
        self.net.register_forward_hook(tap)


def grab(net, image):
    Grabber(net, ["a"])
    return net(image)


def all_images(net, images):
    for image in images:
        grab(net, image)
        OfItsOwn(3)
        Once(net, image)


class Once:
    def __init__(self, net, image):
        if not hasattr(net, "tapped"):
            net.register_forward_hook(tap)
            net.tapped = True


def bounded_gradient(gradient):
    return gradient.clamp(-1, 1)


def on_parameters(net: nn.Module, stream, sgd):
    for weight in net.parameters():
        weight.register_hook(bounded_gradient)
    for item in stream:
        for weight in net.parameters():
            weight.register_hook(bounded_gradient)  # LT304
        out = net(item)
        out.register_hook(bounded_gradient)
        out.sum().backward()
        sgd.step()


def on_everything(net: nn.Module, stream):
    for item in stream:
        torch.nn.modules.module.register_module_forward_hook(tap)  # LT304
        net(item)


def symmetric(net: nn.Module, stream, sgd):
    nn.utils.parametrize.register_parametrization(net, "weight", nn.Identity())
    for item in stream:
        nn.utils.parametrize.register_parametrization(net, "weight", nn.Identity())  # LT304
        net(item).sum().backward()
        sgd.step()
