import ctypes


class Arena:
    def alloc(self, size):
        return bytearray(size)


arena = Arena()
for size in range(10_000):
    arena.alloc(size)
    ctypes.create_string_buffer(size)
