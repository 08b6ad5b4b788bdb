# Memory of C libraries. Each library stands in a file of its own mostly; here those that free come last.
import ctypes
from ctypes import cdll

images = ctypes.CDLL("libimages.so")
audio = cdll.LoadLibrary("libaudio.so")


def decode(path):
    handle = images.image_create(path.encode())  # LT604
    return images.image_width(handle)


class Tracks:
    def __init__(self):
        self.library = ctypes.CDLL("libtracks.so")

    def __getitem__(self, at):
        return self.library.track_new(at)

    def __len__(self):
        return self.library.track_count()


def scratch(paths):
    for path in paths:
        block = audio.malloc(4096)  # LT604
        copy = audio.strdup(path)  # LT604
        audio.resample(block, copy)


def main(paths):
    context = images.context_create()
    for path in paths:
        decode(path)
        buffer = images.bufferAlloc(context, 100)  # LT604
        images.fill(buffer)


def python_only(paths, pool):
    for path in paths:
        pool.alloc(path)
        path.clone()
        dict.create(path)


if __name__ == "__main__":
    main([])
    scratch([])
