"""Many modules that know the same objects: each imports from the one before it what that has."""
import json
import sys
import types


class Big:
    __slots__ = ("marker",)

    def __init__(self, marker):
        self.marker = marker


MODULES = 700
each = [[Big(f"{n} {k}") for k in range(4)] for n in range(MODULES)]
for n in range(MODULES):
    module = types.ModuleType(f"part{n:04}")
    for known in each[max(n - 20, 0) : n + 1]:
        for big in known:
            setattr(module, "big_" + big.marker.replace(" ", "_"), big)
    sys.modules[module.__name__] = module
# The same objects in lists of two of them, in another order.
lists = [Big(f"1 in a list {k}") for k in range(20_000)]
sys.modules["part0001"].items = lists
sys.modules["part0600"].items = lists[::-1]
del lists
del each, known, big, module

print(json.dumps({"version": sys.version.split()[0], "objects": 4 * MODULES + 20_000}), flush=True)
sys.stdin.read()
