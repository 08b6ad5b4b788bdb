# Readers of videos.
import collections
import functools

import av
import cv2
import decord
import h5py
import imageio
import soundfile
import zarr
from torch.utils.data import DataLoader, Dataset
from torchcodec.decoders import VideoDecoder


class Clips(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.readers = {path: decord.VideoReader(path) for path in paths}  # LT402

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        return self.readers[self.paths[at]][0].asnumpy()


class Lazy(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.open = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        path = self.paths[at]
        if path not in self.open:
            self.open[path] = cv2.VideoCapture(path)  # LT402
        return self.open[path].read()[1]


class Decoders:
    def __init__(self):
        self.known = {}

    def get(self, path):
        if path not in self.known:
            decoder = VideoDecoder(path)
            self.known[path] = decoder  # LT402
        return self.known[path]


OPENED = []


def first_frame(path):
    reader = decord.VideoReader(path)
    OPENED.append(reader)  # LT402
    return reader[0]


def first_frames(paths):
    return [first_frame(path) for path in paths] + collect(paths)


def collect(paths):
    found = []
    for path in paths:
        box = av.open(path)  # LT402
        found.append(next(box.decode(video=0)).to_ndarray())
    for path in paths:
        found.append(first_frame(path))
        reader = imageio.get_reader(path)  # LT402
        found.append(reader.get_data(0))
    return found


# Harmless.


def with_context(paths):
    found = []
    for path in paths:
        with av.open(path) as box:
            found.append(next(box.decode(video=0)).to_ndarray())
    return found


def closed(paths):
    found = []
    for path in paths:
        box = av.open(path)
        try:
            found.append(next(box.decode(video=0)).to_ndarray())
        finally:
            box.close()
    return found


class Few(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.open = collections.OrderedDict()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        path = self.paths[at]
        self.open[path] = VideoDecoder(path)
        if len(self.open) > 4:
            self.open.popitem(last=False)
        return self.open[path][0]


class Fresh(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        reader = cv2.VideoCapture(self.paths[at])
        frame = reader.read()[1]
        reader.release()
        return decord.VideoReader(self.paths[at])[0], frame


def one(path):
    box = av.open(path)
    return next(box.decode(video=0))


def texts(paths):
    opened = {}
    for path in paths:
        opened[path] = open(path)
    return opened


class Cameras:
    def __init__(self):
        self.eyes = [cv2.VideoCapture(number) for number in range(2)]


def loader(paths):
    return DataLoader(Clips(paths), num_workers=2), DataLoader(Lazy(paths), num_workers=2)


class Tables(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.opened = {}
        self.slots = [None] * len(paths)
        self.sounds = {path: soundfile.SoundFile(path) for path in paths}  # LT402
        self.stores = [zarr.open(zarr.LRUStoreCache(zarr.DirectoryStore(path), max_size=2**28)) for path in paths]  # LT402
        self.plain = [zarr.open(zarr.DirectoryStore(path)) for path in paths]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        path = self.paths[at]
        if path not in self.opened:
            self.opened[path] = h5py.File(path, "r")  # LT404
        if self.slots[at] is None:
            self.slots[at] = decord.VideoReader(path)  # LT402
        with h5py.File(path) as again:
            return self.opened[path]["x"][0], self.slots[at][0], again["x"][0]


@functools.cache  # LT402
def decoder(path):
    return VideoDecoder(path)


@functools.lru_cache(maxsize=2)
def one_of_two(path):
    return VideoDecoder(path)
