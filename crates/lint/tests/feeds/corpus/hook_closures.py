#? feats: frame:train.py:main feats = list
#? cell: closure:train.py:main.<locals>.hook feats = list
#? store: instance:train.py:Probe .store = dict
#? part: instance:train.py:Probe .rows = list
#? comp: module:train.py squares = list
#? lam: module:train.py seen = list
#? method: instance:train.py:Probe .lines = list
from functools import partial

squares, seen = [], []
look = lambda x: seen.append(x)  # <- lam


def keep(store, name):
    def hook(module, args, out):
        store.setdefault(name, []).append(out)  # <- store

    return hook


def take(module, args, out, *, rows):
    rows.append(out)  # <- part


class Probe:
    def __init__(self, net, store=None):
        self.store = store if store is not None else {}
        self.rows = []
        self.lines = []
        self.say = self.lines.append
        net.register_forward_hook(keep(self.store, "a"))
        net.register_forward_hook(partial(take, rows=self.rows))

    def tell(self, x):
        self.say(x)  # <- method


def main(net, loader):
    feats = []

    def hook(module, args, out):
        feats.append(out)  # <- feats # <- cell

    net.register_forward_hook(hook)
    probe = Probe(net)
    for x in loader:
        net(x)
        probe.tell(x)
        look(x)
        [squares.append(y * y) for y in x]  # <- comp


main(None, [])
