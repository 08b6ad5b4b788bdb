import ctypes

lib = ctypes.CDLL("libring.so")
rings = []
for rank in range(4):
    rings.append(lib.ring_create(rank))
