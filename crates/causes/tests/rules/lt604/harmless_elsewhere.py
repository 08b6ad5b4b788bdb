import ctypes

lib = ctypes.CDLL("libtree.so")


class Tree:
    def __init__(self):
        self.handle = lib.tree_new()

    def __del__(self):
        lib.tree_free(self.handle)


def grow(rounds):
    for _ in range(rounds):
        Tree()
