import ctypes

cuda = ctypes.CDLL("libcudart.so")


def rounds(steps):
    while steps > 0:
        pointer = ctypes.c_void_p()
        cuda.cudaMalloc(ctypes.byref(pointer), 1 << 20)  # LT604
        steps -= 1
