import ctypes

lib = ctypes.CDLL("libmesh.so")
pool = lib.pool_create(1024)


def work(points):
    return lib.pool_work(pool, points)


for _ in range(1000):
    work([])
