import ctypes

lib = ctypes.CDLL("libmesh.so")


def faces(points):
    mesh = lib.mesh_create(points)
    try:
        return lib.mesh_faces(mesh)
    finally:
        lib.mesh_destroy(mesh)


for _ in range(1000):
    faces([])
