#? ns: module:train.py ns .losses@types.py:SimpleNamespace = list
#? net: frame:train.py:main net .history@lib/python3.11/site-packages/torchvision/models.py:ResNet = list
#? items: frame:train.py:main net .by_name@lib/python3.11/site-packages/torchvision/models.py:ResNet [] = list
#? other: module:train.py other .losses@types.py:SimpleNamespace = list
from types import SimpleNamespace

import torchvision

ns = SimpleNamespace(losses=[], best=None)
other = SimpleNamespace(losses=[], best=None)


def main(loader):
    net = torchvision.models.resnet18()
    net.history = []
    net.by_name = {"a": []}
    for x in loader:
        out = net(x)
        net.history.append(out)  # <- net
        net.by_name["a"].append(out)  # <- items
        ns.losses.append(out)  # <- ns
        ns.best = out
        step(net)


def step(module):
    module.history.append(module)  # <- net
    other.losses.extend([1])  # <- other


main([])
