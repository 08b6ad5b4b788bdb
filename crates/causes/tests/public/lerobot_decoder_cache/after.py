import threading
from collections import OrderedDict

import torch
from torch.utils.data import DataLoader, Dataset
from torchcodec.decoders import VideoDecoder


class DecoderCache:
    def __init__(self, max_size=100):
        self.max_size = max_size
        self._decoders = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path):
        with self._lock:
            if path not in self._decoders:
                self._decoders[path] = VideoDecoder(path, seek_mode="approximate")
                while len(self._decoders) > self.max_size:
                    self._decoders.popitem(last=False)
            self._decoders.move_to_end(path)
            return self._decoders[path]


_cache = DecoderCache()


def frames_at(path, seconds):
    decoder = _cache.get(path)
    fps = decoder.metadata.average_fps
    batch = decoder.get_frames_at([round(second * fps) for second in seconds])
    return batch.data.float() / 255


class Episodes(Dataset):
    def __init__(self, table, cameras):
        self.paths = table["path"]
        self.stamps = torch.tensor(table["timestamp"])
        self.actions = torch.tensor(table["action"])
        self.cameras = cameras

    def __len__(self):
        return len(self.stamps)

    def __getitem__(self, index):
        second = float(self.stamps[index])
        views = [frames_at(self.paths[index].format(camera=camera), [second]) for camera in self.cameras]
        return torch.cat(views), self.actions[index]


def loader(table, cameras):
    return DataLoader(Episodes(table, cameras), batch_size=16, shuffle=True, num_workers=8)
