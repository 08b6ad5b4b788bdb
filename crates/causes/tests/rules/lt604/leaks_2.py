import ctypes

lib = ctypes.cdll.LoadLibrary("./libmesh.so")


def faces(points):
    return lib.mesh_create(points)  # LT604


for _ in range(1000):
    faces([])
