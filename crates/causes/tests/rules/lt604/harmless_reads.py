import ctypes

lib = ctypes.CDLL("libsensor.so")


def newest(count):
    for _ in range(count):
        lib.sensor_newest()
        lib.allocator_size()
        lib.created_at()
