from ctypes import CDLL

native = CDLL(None)


def per_batch(loader, model):
    for x in loader:
        block = native.calloc(1, 1 << 16)  # LT604
        native.memcpy(block, x)
        model(x)
